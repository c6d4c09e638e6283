"""Every rule of the checker that finds something: taken out, a wrong kernel passes that was not proved before.

Rules whose work others repeat are told by the kind of obligation that is no longer violated. Transfer rules are told by
right kernels that are no longer proved.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import argus.dsl.tags
from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport
from argus.dsl.layout.affine import FALSE
from argus.dsl.tags.domain import Top
from argus.evals.planted_hopper import BUGS
from argus.evals.race_suite import CASES
from argus.evals.subjects import hand_written, subjects

REFERENCE = Path(__file__).parents[1] / "kernels" / "reference"

# Right kernels and what is put wrong in each; assertions that would see it as well are taken out.
EDITS: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "another matrix of the batch": ("batched", (("A[bz]", "A[0]"),)),
    "the matrix after": ("batched", (("A[bz]", "A[bz + 1]"),)),
    "another accumulator": ("two_accumulators", (("low += mma", "top += mma"),)),
    "rows hidden": (
        "gemm_single", (("A.tile(64, 32)", "A.rows(0, 64).tile(64, 32)"), ("N % 4 == 0", "N % 4 == 0, M >= 64")),
    ),
    "padding summed": (
        "gemm_single",
        (("A.tile(64, 32)", "A.tile(64, 32, pad=1.0)"), ("B.tile(64, 32)", "B.tile(64, 32, pad=1.0)")),
    ),
    "output turned": ("gemm_single", (("[bm, bn], acc", "[bm, bn].T, acc"),)),
    "k-step left out": ("gemm_single", (("unroll(4)", "unroll(3)"),)),
    "k-step beyond the tile": ("gemm_single", ((", ks)", ", ks + (2 * kt + 1) % 2)"),)),
    "groups at different barriers": (
        "hopper_gemm/two-consumers",
        (
            (
                "            y = acc",
                "            if g == 0:\n                barrier(waves=8)\n"
                "            if g == 1:\n                barrier(waves=8)\n            y = acc",
            ),
        ),
    ),
    "assertion of different axes": ("gemm_single", (("assert_match(x.k, y.k)", "assert_match(x.k, y.n)"),)),
    "assertion that never holds": ("gemm_single", (("assert_match(x.k, y.k)", "assert_differ(x.k, y.k)"),)),
    "set of half the size": (
        "attention/full-64", (("assert_complete(s, d=range(64))", "assert_complete(s, d=range(32))"),),
    ),
    "rescaling left out": ("attention/full-64", (("            o *= c\n", ""),)),
    "weights of other keys": (
        "attention/full-64",
        (('.as_operand("b", o, js)', '.as_operand("b", o, 3 - js)'), ("                assert_match(v.j, w.j)\n", "")),
    ),
    "first key head for all": ("attention_gfx942", (("bg = bh // (H // G)", "bg = 0"),)),
    "stored masked": (
        "elementwise/bias-relu", (("(relu(x + b)).to(bf16)", "mask(relu(x + b), x.c < 5, 0.0).to(bf16)"),),
    ),
    "bias left out": ("elementwise/bias-relu", (("relu(x + b)", "relu(x)"),)),
    "bias of other columns": (
        "elementwise/bias-relu", (("B.tile(96)[ct]", "B.tile(96)[ct + 1]"), ("        assert_match(x.c, b.c)\n", "")),
    ),
    "first expert for all": (
        "moe_up/registers",
        (
            ("expert[bs]\n", "expert[0]\n"),
            ("            assert_match(expert_of(a.s), b.e)\n", ""),
            ("            assert_match(expert_of(a.s), c.e)\n", ""),
        ),
    ),
    "rows scattered by other slots": (
        "moe_down/scatter-registers", (("slot.tile(32)[bs])).tile", "slot.tile(32)[0])).tile"),),
    ),
    "rows scattered, not added": ("moe_down/scatter-registers", (("atomic_add(", "store("),)),
    "weights of other rows": (
        "moe_down/scatter-registers",
        (("weight.tile(32)[bs]", "weight.tile(32)[0]"), ("    assert_match(acc.s, f.s)\n", "")),
    ),
    "pads that count": (
        "norm/rmsnorm-block", (("load(X.tile(1, 2048)[br, ct], map=linear(8)).to(f32)\n        ss",
                                "load(X.tile(1, 2048, pad=1.0)[br, ct], map=linear(8)).to(f32)\n        ss"),),
    ),
    "rows after the last": ("hopper_gemm/two-consumers", (("rows(g * 64, 64)", "rows(g * 64 + 64, 64)"),)),
    "elements of other waves": (
        "hand-over: every wave reads its own",
        (
            ("    s = shared(f32, 16, 64)\n    store(s, load(A.tile(16, 64)[bm, 0], map=linear(4)))\n", ""),
            ("load(s, map=linear(4))", "relayout(load(A.tile(16, 64)[bm, 0], map=linear(4)), linear(1))"),
        ),
    ),
    "nothing stored": (
        "named barrier: as it should be",
        (("        store(s[g], load(A.tile(16, 64)[2 * bm + g, 0], map=linear(4)))\n", ""),),
    ),
}  # fmt: skip


@cache
def right_kernels() -> dict[str, str]:
    """All that is right, by name."""
    found = {p.stem: p.read_text("utf-8") for p in REFERENCE.glob("*.py")}
    found |= {c.name: c.text for c in CASES if c.right}
    return found | {s.name: s.text for s in (*subjects(), *hand_written())}


@cache
def wrong_kernels() -> dict[str, str]:
    """Right kernels with edits, wrong kernels of the race suite, bugs planted in Hopper kernels."""
    made: dict[str, str] = {}
    for name, (origin, edits) in EDITS.items():
        text = right_kernels()[origin]
        for old, new in edits:
            assert old in text, f"{origin} holds no {old!r}"
            text = text.replace(old, new, 1)
        made[name] = text
    return made | {c.name: c.text for c in CASES if not c.right} | {b.name: b.text for b in BUGS}


# ------------------------------------------------------------------------------------------------- deletions


def nothing(*_: Any, **__: Any) -> None:  # noqa: ANN401
    return None


def yes(*_: Any, **__: Any) -> bool:  # noqa: ANN401
    return True


def blank(*_: Any, **__: Any) -> str:  # noqa: ANN401
    return ""


def empty(*_: Any, **__: Any) -> list[Any]:  # noqa: ANN401
    return []


def no_clash(*_: Any, **__: Any) -> frozenset[int]:  # noqa: ANN401
    return frozenset()


def never(*_: Any, **__: Any) -> list[Any]:  # noqa: ANN401
    return [FALSE]


def none_of_them(_: object, cells: np.ndarray[Any, Any], *__: Any, **___: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    return np.zeros(np.shape(cells), np.bool_)


def neither(_: object, cells: np.ndarray[Any, Any], *__: Any) -> tuple[np.ndarray[Any, Any], ...]:  # noqa: ANN401
    return (np.zeros(np.shape(cells), np.bool_),) * 2


def unknown(*args: Any, **more: Any) -> Top:  # noqa: ANN401
    del args, more
    return Top(None, "taken out")


@dataclass(frozen=True)
class Rule:
    """A deletion and the kernel that shows it.

    Attributes:
        without: Stands in the rule's place.
        kernel: Wrong, and proved without the rule.
        kind: Other rules see the same mistake: an obligation of this kind is no longer violated.
    """

    without: Callable[..., Any]
    kernel: str
    kind: str = ""


TAGS, ROLES, SMT = "argus.dsl.tags", "argus.dsl.tags.roles", "argus.dsl.smt"
RULES: dict[str, Rule] = {
    f"{TAGS}.memory.Buffer.unread_pending": Rule(none_of_them, "direct copy: no wait"),
    f"{TAGS}.memory.Buffer.reads_unseen_copy": Rule(none_of_them, "direct copy: wait after the barrier"),
    f"{TAGS}.memory.Buffer.reads_unseen_write": Rule(none_of_them, "hand-over: no barrier"),
    f"{TAGS}.memory.Buffer.overwrites_read": Rule(none_of_them, "reuse: no barrier before the next trip"),
    f"{TAGS}.memory.Buffer.still_wanted": Rule(neither, "copy over a store: no barrier before the copy"),
    f"{TAGS}.memory.Buffer.shift": Rule(nothing, "ping-pong: one barrier fewer"),
    f"{TAGS}.memory.Buffer.same": Rule(yes, "persistent: no barrier before the next tile"),
    f"{TAGS}.access._hazard": Rule(nothing, "hand-over: no barrier"),
    f"{TAGS}.access._check_overwrite": Rule(nothing, "reuse: no barrier before the next trip"),
    f"{TAGS}.transfer._out_of_bounds": Rule(nothing, "the matrix after", "bounds"),
    f"{TAGS}.coverage._cover": Rule(nothing, "tiled copy: tail without a block"),
    f"{TAGS}.coverage._all_different": Rule(nothing, "rows scattered, not added", "coverage"),
    f"{TAGS}.asserts._differ": Rule(nothing, "assertion that never holds"),
    f"{TAGS}.analysis.assert_match": Rule(nothing, "assertion of different axes", "written"),
    f"{TAGS}.epilogue._Store._check_coordinates": Rule(nothing, "output turned"),
    f"{TAGS}.epilogue._Store._misplaced": Rule(nothing, "output turned"),
    f"{TAGS}.epilogue._Store._check_windows": Rule(nothing, "rows hidden"),
    f"{TAGS}.epilogue._Store._check_origins": Rule(nothing, "bias left out"),
    f"{TAGS}.epilogue._Store._check_group": Rule(nothing, "first key head for all"),
    f"{TAGS}.epilogue._Store._check_masks": Rule(nothing, "stored masked"),
    f"{TAGS}.epilogue._Store._check_lookup": Rule(yes, "first expert for all"),
    f"{TAGS}.epilogue._Store._check_extra": Rule(nothing, "first expert for all"),
    f"{TAGS}.epilogue._Store._check_scatter": Rule(nothing, "rows scattered by other slots", "epilogue"),
    f"{TAGS}.epilogue._Store._check_clashes": Rule(nothing, "rescaling left out"),
    f"{TAGS}.epilogue._Store._check_sums": Rule(nothing, "k-step left out"),
    f"{TAGS}.epilogue.complete": Rule(nothing, "k-step left out"),
    f"{TAGS}.combine.Combine._clash": Rule(no_clash, "bias of other columns"),
    f"{TAGS}.pointwise.Pointwise._clashes": Rule(no_clash, "weights of other rows"),
    f"{TAGS}.mma._Mma._check_k": Rule(nothing, "weights of other keys"),
    f"{TAGS}.mma._Mma._check_kept": Rule(nothing, "another accumulator", "conformity"),
    f"{TAGS}.moves._scattered": Rule(unknown, "elements of other waves", "conformity"),
    f"{TAGS}.transfer._fits": Rule(nothing, "k-step beyond the tile", "bounds"),
    f"{SMT}.discharge.padding_summed": Rule(empty, "padding summed"),
    f"{SMT}.discharge.beyond_summed": Rule(empty, "set of half the size"),
    f"{SMT}.discharge.reduction_violated": Rule(never, "k-step left out"),
    f"{SMT}.discharge.output_violated": Rule(never, "tiled copy: tail without a block"),
    f"{ROLES}.locate.Locator.outside": Rule(nothing, "rows after the last", "bounds"),
    f"{ROLES}.memory_rules.MemoryRules._violated": Rule(nothing, "named barrier: no barrier"),
    f"{ROLES}.memory_rules.MemoryRules._conflict": Rule(nothing, "named barrier: no barrier"),
    f"{ROLES}.memory_rules.MemoryRules._initialised": Rule(blank, "nothing stored", "init"),
    f"{ROLES}.memory_rules.MemoryRules._unfenced": Rule(nothing, "stores before wgmma: no fence"),
    f"{ROLES}.order.Order.knows": Rule(yes, "named barrier: no barrier"),
    f"{ROLES}.order.Order.may_copy": Rule(yes, "ring by hand: freed before the products ended"),
    f"{ROLES}.order.Order.visible": Rule(yes, "stores before wgmma: no fence"),
    f"{ROLES}.phases.Slot.unseen": Rule(empty, "all waves wait for what one lane fills"),
    f"{ROLES}.arrivals.Arrivals._aliased": Rule(nothing, "all waves wait for what one lane fills"),
    f"{ROLES}.arrivals.Arrivals._wrong_phase": Rule(nothing, "ring by hand: stage filled a phase early", "deadlock"),
    f"{ROLES}.arrivals.Arrivals._early": Rule(nothing, "ring by hand: stage filled before it is free", "deadlock"),
    f"{ROLES}.copies.Copies.ended": Rule(nothing, "out by TMA: exit while the store reads"),
    f"{ROLES}.walker.RoleWalker._diverged": Rule(nothing, "groups at different barriers"),
    f"{ROLES}.statements.Statements.registers_read": Rule(nothing, "two products: no wait at the end"),
    f"{ROLES}.arrivals.Arrivals.count_bytes": Rule(nothing, "one tile by TMA: bytes that never come"),
}

# What finds something and is in no row above, and why.
ELSEWHERE: dict[str, str] = {
    "context.Context.violated": "records what the rules find",
    "context.Context.must": "records what the rules find",
    "epilogue._Store._violated": "words what `_check_coordinates` and `_check_sums` find",
    "mma._Mma._fail": "words what `_check_k`, `_check_kept` and the registers' rule find, and ends the rule",
    "mma._Mma._differ": "words what `_check_k` and `_check_kept` find",
    "roles.walker.RoleWalker._stuck": "without it the walk of a kernel that waits for ever does not end",
    "sums.complete": "a row of its own under the name by which `epilogue` calls it",
    "asserts.assert_match": "a row of its own under the name by which `analysis` calls it",
}


@pytest.mark.slow
@pytest.mark.parametrize("path", RULES)
def test_a_mistake_passes_without_the_rule(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    rule = RULES[path]
    text = wrong_kernels()[rule.kernel]
    before = _checked(text)
    assert not before.ok
    monkeypatch.setattr(path, rule.without)
    after = _checked(text)
    if rule.kind:
        assert rule.kind in {kind for kind, _ in _violated(before) - _violated(after)}
    else:
        assert after.ok, after.render(text)


def _checked(text: str) -> CheckReport:
    return check(text, replay=False, fixes=False)


def _violated(report: CheckReport) -> set[tuple[str, int]]:
    """Kinds and lines with a goal that does not hold; what cannot be decided does not count."""
    return {(o.kind, o.line) for o in report.obligations if o.verdict != "proved" and "violated" in (o.reason or "")}


# ------------------------------------------------------------------------------------------- transfer rules


TRANSFER: dict[str, tuple[Callable[..., Any], str]] = {
    f"{TAGS}.{rule}": (without, kernel)
    for without, kernel, rules in (
        (nothing, "hand-over: as it should be", ("memory.Buffer.barrier", "transfer.write_shared", "analysis.store")),
        (nothing, "direct copy: as it should be", (
            "memory.Buffer.commit", "memory.Buffer.wait", "transfer.copy_shared", "analysis.copy_async",
        )),
        (nothing, "gemm_single", ("analysis.mma_into",)),
        (nothing, "reuse: no barrier after the last trip", ("state.State.assume",)),
        (nothing, "split sum: as it should be", ("analysis.atomic_add", "analysis.split_range")),
        (unknown, "gemm_single", ("analysis.load", "analysis.operand")),
        (unknown, "attention/full-64", (
            "registers.reduce", "registers.mask", "registers.coordinate", "registers.as_operand",
            "pointwise.Pointwise.unary", "pointwise.Pointwise.binary", "pointwise.Pointwise._rescaled",
        )),
        (nothing, "attention/full-64", ("reduce.mark_of",)),
        (empty, "uniform condition: as it should be", ("analysis.branch",)),
        (empty, "reuse: as it should be", ("analysis.repeat",)),
        (nothing, "ring by hand: as it should be", (
            "roles.order.Order.release", "roles.order.Order.acquire", "roles.order.Order.learn",
            "roles.phases.Slot.completed", "roles.copies.Copies.copy", "roles.statements.Statements.multiply",
            "roles.statements.Statements.mma_wait", "roles.arrivals.Arrivals.arrive",
        )),
        (nothing, "out by TMA: as it should be", (
            "roles.order.Order.meet", "roles.order.Order.fence", "roles.copies.Copies.commit",
            "roles.copies.Copies.wait", "roles.statements.Statements.store",
        )),
    )
    for rule in rules
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", TRANSFER)
def test_a_right_kernel_needs_the_transfer_rule(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    without, kernel = TRANSFER[path]
    text = right_kernels()[kernel]
    assert _proved(text)
    monkeypatch.setattr(path, without)
    assert not _proved(text)


def _proved(text: str) -> bool:
    try:
        return _checked(text).ok
    except Exception:  # what the rule should have left behind is missing
        return False


# --------------------------------------------------------------------------------------------- completeness

FINDS = frozenset({"violated", "must", "need"})


def finders() -> Iterator[str]:
    """Functions of the analysis that record a violation, or what remains to be proved."""
    root = Path(argus.dsl.tags.__file__ or "").parent
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        yield from (f"{module}.{name}" for name in _finders(ast.parse(path.read_text("utf-8")), ""))


def _finders(tree: ast.AST, prefix: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _finders(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and any(_finds(n) for n in ast.walk(node)):
            yield prefix + node.name


def _finds(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FINDS


def test_every_rule_that_finds_something_has_a_row() -> None:
    rows = {path.removeprefix(f"{TAGS}.") for path in RULES}
    assert [name for name in finders() if name not in rows and name not in ELSEWHERE] == []


@pytest.mark.parametrize("path", [*RULES, *TRANSFER])
def test_rows_name_what_exists(path: str) -> None:
    parts = path.split(".")
    at = max(i for i in range(2, len(parts)) if _is_module(".".join(parts[:i])))
    found: Any = importlib.import_module(".".join(parts[:at]))
    for name in parts[at:]:
        found = getattr(found, name)
    assert callable(found)


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
