"""Each rule of registers earns its keep: without it, a mistake that it alone sees is not refuted, or even proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from argus.dsl.check import check
from argus.dsl.layout.affine import Formula
from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import Acc, Fragment, Ident, Stat, Tile, Top
from argus.dsl.tags.state import State
from argus.dsl.tags.values import as_tile

from .slips import KERNELS, SLIPS, UNTURNED, edited

TAGS, SMT = "argus.dsl.tags", "argus.dsl.smt"


def nothing(*_: Any, **__: Any) -> None:  # noqa: ANN401
    return None


def none_found(*_: Any, **__: Any) -> frozenset[int]:  # noqa: ANN401
    return frozenset()


def no_reason(*_: Any, **__: Any) -> str:  # noqa: ANN401
    return ""


def no_terms(_: object) -> list[list[Formula]]:
    return []


def always(*_: Any, **__: Any) -> bool:  # noqa: ANN401
    return True


def never(*_: Any, **__: Any) -> bool:  # noqa: ANN401
    return False


def ageless(_: Context, __: State, site: int, frag: Fragment) -> Fragment:
    """A statement's results are all the same one."""
    if isinstance(frag, Tile | Acc | Stat):
        return replace(frag, mark=replace(frag.mark, ident=Ident(site, 0)))
    return frag


def unsaid(*args: Any) -> Top:  # noqa: ANN401
    return Top(args[3], "nobody says why")


def slip(name: str) -> str:
    kernel, edits, *_ = SLIPS[name]
    return edited(kernel, edits)


MASKED_STORE = """@kernel(target="gfx942", waves=1)
def copy(X: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=X)
    br = block(cdiv(R, 4))
    for ct in range(cdiv(C, 64)):
        x = load(X.tile(4, 64)[br, ct], map=linear(4))
        store(Y.tile(4, 64)[br, ct], mask(x, x.c < 7, 0.0))
"""
OTHER_WAVES = """@kernel(target="gfx942", waves=2)
def copy(X: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=X)
    br, bc = block(cdiv(R, 4), cdiv(C, 128))
    x = load(X.tile(4, 128)[br, bc], map=linear(4))
    store(Y.tile(4, 128)[br, bc], relayout(x, linear(1)))
"""
CAUSAL = KERNELS["attention_causal"]
ONLINE = '        p, c, mx, l = online_softmax(s, mx, l, "j")\n'
FULL_ROWS = """\
        m = max(mx, reduce("max", s, "j"))
        c, p = exp(mx - m), exp(s - m)
        l = l * c + reduce("sum", p, "j")
        mx = m
"""
UNBOUNDED = """\
        m = max(mx, reduce("max", s * 0.5, "j"))
        z = select(m == -inf, 0.0, m)
        c, p = exp(mx - z), exp(s - z)
        l = l * c + reduce("sum", p, "j")
        mx = m
"""
NEVER_RESCALED = edited("attention_full", (("            o *= f\n", ""), ("l * f + ", "l + ")))
# The rule, what takes its place, a mistake that it sees, and the kind that is refuted only with it.
RULES: dict[str, tuple[str, Callable[..., Any], str, str]] = {
    "elements that meet have equal coordinates": (
        f"{TAGS}.combine.Combine.compared", none_found, slip("weights of the next tile"), "epilogue",
    ),
    "accumulators are rescaled": (
        f"{TAGS}.mma._Mma._apart", none_found, slip("accumulator not rescaled"), "epilogue",
    ),
    "statistics are rescaled": (f"{TAGS}.combine.apart", no_reason, slip("sum not rescaled"), "epilogue"),
    "sums that were changed take nothing more": (
        f"{TAGS}.combine.apart", no_reason,
        KERNELS["rmsnorm"].replace("        ss += reduce", "        ss = ss * 0.5 + reduce"), "epilogue",
    ),
    "one maximum is not the next": (f"{TAGS}.analysis.born", ageless, NEVER_RESCALED, "epilogue"),
    "masked elements are no data": (f"{TAGS}.epilogue._Store._check_masks", nothing, MASKED_STORE, "epilogue"),
    "groups follow the contract": (
        f"{TAGS}.epilogue._Store._check_group", nothing, slip("heads grouped in turns"), "epilogue",
    ),
    "a wave gives only what it has": (f"{TAGS}.moves._scattered", unsaid, OTHER_WAVES, "conformity"),
    "padding that is reduced is neutral": (
        f"{SMT}.discharge.padding_summed", no_terms, slip("a non-neutral pad in a sum"), "completeness",
    ),
    "members are the contract's": (
        f"{TAGS}.epilogue.complete", nothing, slip("a query does not see itself"), "completeness",
    ),
    "claims are evaluated": (
        f"{SMT}.replay.falsified", no_reason,
        KERNELS["rmsnorm"].replace("ss, c=range(C)", "ss, c=range(C + 1)"), "written",
    ),
}  # fmt: skip


def refuted(text: str, kind: str) -> bool:
    return any(o.kind == kind and o.verdict == "refuted" for o in check(text).obligations)


@pytest.mark.slow
@pytest.mark.parametrize("case", RULES.values(), ids=RULES)
def test_the_mistake_is_seen_by_this_rule(
    monkeypatch: pytest.MonkeyPatch, case: tuple[str, Callable[..., Any], str, str]
) -> None:
    rule, without, text, kind = case
    assert refuted(text, kind)
    monkeypatch.setattr(rule, without)
    assert not refuted(text, kind)


# The rule, what takes its place, and a kernel that is proved only without it.
GUARDS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "a maximum of nothing is -inf": (
        f"{TAGS}.reduce._Reduction._holds_data", always, CAUSAL.replace(ONLINE, FULL_ROWS),
    ),
    "what is stored is relative to nothing": (
        f"{TAGS}.epilogue._Store._relative", never, CAUSAL.replace("(o / l)", "(o / mx)"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", GUARDS.values(), ids=GUARDS)
def test_the_kernel_is_not_proved_with_this_rule(
    monkeypatch: pytest.MonkeyPatch, case: tuple[str, Callable[..., Any], str]
) -> None:
    rule, without, text = case
    assert not check(text, replay=False).ok
    monkeypatch.setattr(rule, without)
    assert check(text, replay=False).ok


def test_a_stand_in_for_a_maximum_must_bound_what_it_is_subtracted_from() -> None:
    assert not check(CAUSAL.replace(ONLINE, UNBOUNDED), replay=False).ok
    assert check(CAUSAL.replace(ONLINE, UNBOUNDED.replace("s * 0.5", "s")), replay=False).ok


def test_lanes_of_scores_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refuted(UNTURNED, "conformity")

    def as_if_moved(*args: Any, frag: Fragment) -> Fragment:  # noqa: ANN401
        made, (cx, state, *_, node, _made) = args[-1], args
        assert isinstance(frag, Acc | Tile)
        tile = as_tile(cx, frag)
        assert isinstance(tile, Tile)
        step = state.reduce(cx.evaluate(node.ks)).const
        depth = made.shape[1]
        return Tile(tile.codes[:, step * depth : (step + 1) * depth], made)

    monkeypatch.setattr(f"{TAGS}.registers.as_operand", as_if_moved)
    assert not refuted(UNTURNED, "conformity")
