"""What happens in registers: kernels that are proved as they are, and refuted at the right line with one slip."""

from __future__ import annotations

import pytest

from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport
from argus.dsl.frontend import parse
from argus.dsl.ir import AssertComplete, AssertMatch
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.smt.claims import falsified
from argus.dsl.transform import to_core

from .slips import KERNELS, SLIPS, TURNED, UNTURNED, edited

QUICK = frozenset({"rmsnorm", "layernorm", "column_maxima", "centred_columns", "gated"})


def explained(report: CheckReport) -> str:
    return "\n".join(f"{o.kind} {o.line}: {o.verdict} {o.reason or (o.counterexample and o.counterexample.text)}"
                     for o in report.obligations if o.verdict != "proved")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_every_obligation_is_proved(name: str) -> None:
    report = check(KERNELS[name])
    assert report.ok, explained(report)
    assert not report.widened
    assert not report.assumed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slip", "name"), [pytest.param(s, n, marks=() if n in QUICK else pytest.mark.slow) for s, (n, *_) in SLIPS.items()]
)
def test_a_slip_is_refuted_where_it_shows(slip: str, name: str) -> None:
    _, edits, kind, line = SLIPS[slip]
    text = edited(name, edits)
    report = check(text)
    found = [c for o in report.obligations if o.kind == kind and (c := o.counterexample) is not None]
    assert found, explained(report)
    assert all(c.replayed for c in found)
    places = [text.splitlines()[c.consumer.line - 1].strip() for c in found]
    assert any(line in place for place in places), places


def test_registers_of_scores_are_an_operand_only_transposed() -> None:
    assert check(TURNED).ok
    (found,) = [c for c in check(UNTURNED).counterexamples if c.kind == "conformity"]
    assert found.component == "j"
    assert (found.wrong_count, found.total_count) == (248, 256)  # of one k-step of 8: 992 of 1024 in all


# False claims that no output depends on: kernel, what is written behind what, and a piece of what registers show.
CLAIMS: dict[str, tuple[str, str, str, str]] = {
    "another tile": (
        "rmsnorm", "assert_match(x.c, w.c)\n",
        "        v = load(W.tile(512)[ct + 1], like=x)\n        assert_match(x.c, v.c)\n", "hold c = 0 and c = 512",
    ),
    "equal where it should differ": (
        "rmsnorm", "assert_match(x.c, w.c)\n", "        assert_differ(x.c, w.c)\n", "hold c = 0 and c = 0",
    ),
    "one more column": (
        "rmsnorm", 'across="block")\n', "    assert_complete(ss, c=range(C + 1))\n", "c = 1 adds nothing",
    ),
    "the sum of one tile": (
        "rmsnorm", 'across="block")\n',
        '        t = reduce("sum", x, "c", across="block")\n        assert_complete(t, c=range(C))\n', "c = 512 adds",
    ),
    "an unused sum": (
        "attention_causal", "assert_complete(s, d=range(64))\n",
        """\
        u = mma_acc("32x32x8", 64, 64, grid=(1, 2))
        for ks in unroll(7):
            u += mma(Ks.operand("a", u, ks), Q[bh].tile(64, 64)[bq, 0].operand("b", u, ks))
        assert_complete(u, d=range(64))
""", "adds nothing to u",
    ),
    "a query sees all keys": (
        "attention_causal", "mma(v, w)\n        barrier()\n", "    assert_complete(l, j=range(S))\n", "weighs",
    ),
    "a query sees one key too many": (
        "attention_causal", "mma(v, w)\n        barrier()\n", "    assert_complete(l, j=range(q + 2))\n",
        "no difference to l",
    ),
    "a query does not see itself": (
        "attention_causal", "mma(v, w)\n        barrier()\n", "    assert_complete(l, j=range(q))\n",
        "a difference to l",
    ),
    "operands of different steps": (
        "attention_causal", "assert_match(v.j, w.j)\n",
        '            y = Vs.T.operand("a", o, 0)\n            assert_match(y.j, w.j)\n', "hold j = 0 and j = 8",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "claim", [pytest.param(c, marks=() if n in QUICK else pytest.mark.slow) for c, (n, *_) in CLAIMS.items()]
)
def test_a_false_claim_is_refuted_by_what_registers_hold(claim: str) -> None:
    name, after, written, shown = CLAIMS[claim]
    report = check(edited(name, ((after, after + written),)))
    (found,) = [o for o in report.obligations if o.verdict != "proved"]
    assert found.origin == "written"
    assert found.counterexample is not None, found.reason
    assert shown in found.counterexample.replayed


@pytest.mark.slow
def test_a_claimed_set_may_depend_on_free_coordinates() -> None:
    after = "mma(v, w)\n        barrier()\n"
    for extent in ("q + 1", "min(q + 1, S)"):
        written = f"    assert_complete(l, j=range({extent}), d=range(64))\n"
        assert check(edited("attention_causal", ((after, after + written),))).ok


RUNNING = """@kernel(target="gfx942", waves=1)
def sums(X: f32[r:R, c:C], Y: f32[r:R], Z: f32[t:T]):
    where(C <= 256)
    ensures(Y[r], over(c, C), uses=X)
    br = block(cdiv(R, 4))
    ss = 0.0
    for t in range(T):
        ss += reduce("sum", load(X.tile(4, 256)[br, 0], map=linear(4)), "c")
"""


@pytest.mark.parametrize(
    "last",
    [
        "        assert_complete(ss, c=range(C))\n    store(Y.tile(4)[br], ss)\n",
        "        store(Y.tile(4)[br], ss * 2.0)\n",
    ],
)
def test_what_earlier_rounds_added_is_part_of_a_sum(last: str) -> None:
    # Each round adds a whole row: the sum is right in the first round alone.
    report = check(RUNNING + last, replay=False)
    assert any(o.verdict != "proved" for o in report.obligations if o.kind in ("written", "completeness"))
    inside = [o for o in report.obligations if o.line == 9 and o.kind in ("written", "completeness")]
    assert inside
    assert all(o.verdict != "proved" for o in inside)


def test_registers_do_not_falsify_what_is_true() -> None:
    core = to_core(parse(KERNELS["attention_causal"]))
    sizes = {"H": 2, "G": 1, "S": 70}
    for stmt in walk_body(core.body):
        if isinstance(stmt, AssertMatch | AssertComplete):
            assert falsified(core, stmt.span, sizes, None, 3) == ""
