"""What happens in registers: kernels that are proved as they are, and refuted at the right line with one slip."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport
from argus.dsl.frontend import parse
from argus.dsl.ir import AssertComplete, AssertMatch
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.smt.claims import falsified
from argus.dsl.transform import to_core

FOLDER = Path(__file__).parents[1] / "kernels" / "fragments"
KERNELS = {p.stem: p.read_text("utf-8") for p in sorted(FOLDER.glob("*.py"))}

# S = Q K^T keeps queries along the rows: its registers are no operand of the next product.
UNTURNED = """@kernel(target="gfx942", waves=1)
def attention(Q: bf16[q:S, d:32], K: bf16[j:T, d:32], V: bf16[j:T, e:32], O: f32[q:S, e:32]):
    ensures(O[q, e], over(j, T), over(d, 32), uses=(Q, K, V))
    bq = block(cdiv(S, 32))
    s, o = mma_acc("32x32x8", 32, 32), mma_acc("32x32x8", 32, 32)
    for ks in unroll(4):
        s += mma(Q.tile(32, 32)[bq, 0].operand("a", s, ks), K.tile(32, 32)[0, 0].operand("b", s, ks))
    for js in unroll(4):
        o += mma(s.to(bf16).as_operand("a", o, js), V.tile(32, 32)[0, 0].T.operand("b", o, js))
    store(O.tile(32, 32)[bq, 0], o)
"""
TURNED = (
    UNTURNED.replace(
        's += mma(Q.tile(32, 32)[bq, 0].operand("a", s, ks), K.tile(32, 32)[0, 0].operand("b", s, ks))',
        's += mma(K.tile(32, 32)[0, 0].operand("a", s, ks), Q.tile(32, 32)[bq, 0].operand("b", s, ks))',
    )
    .replace(
        'o += mma(s.to(bf16).as_operand("a", o, js), V.tile(32, 32)[0, 0].T.operand("b", o, js))',
        'o += mma(V.tile(32, 32)[0, 0].T.operand("a", o, js), s.to(bf16).as_operand("b", o, js))',
    )
    .replace("[bq, 0], o)", "[bq, 0].T, o)")
    .replace("    ensures", "    where(T <= 32)\n    ensures")
)

Edits = tuple[tuple[str, str], ...]
CAUSAL, FULL, SUM = "attention_causal", "attention_full", 'reduce("sum", '
LAST_KEYS = "cdiv(min((bq + 1) * 64, S), 64)"
SQUARES = f'        ss += {SUM}x * x, "c", across="block")\n'
# Kernel, edits, kind of what is refuted, a piece of the line that consumes it.
SLIPS: dict[str, tuple[str, Edits, str, str]] = {
    "values not transposed": (CAUSAL, (("Vs.T.operand", "Vs.operand"),), "conformity", "o += mma"),
    "a query does not see itself": (CAUSAL, (("s.j <= s.q", "s.j < s.q"),), "completeness", "store(O"),
    "mask the other way round": (CAUSAL, (("s.j <= s.q", "s.j >= s.q"),), "completeness", "store(O"),
    "no causal mask": (CAUSAL, (("mask(s * scale, s.j <= s.q, -inf)", "s * scale"),), "completeness", "store(O"),
    "masked scores are zero": (CAUSAL, (("s.j <= s.q, -inf", "s.j <= s.q, 0.0"),), "completeness", "store(O"),
    "no tail mask": (FULL, (("mask(s * scale, s.j < T, -inf)", "s * scale"),), "completeness", "store(O"),
    "tail mask one too far": (FULL, (("s.j < T", "s.j <= T"),), "completeness", "store(O"),
    "tail of the queries": (FULL, (("s.j < T", "s.j < S"),), "completeness", "store(O"),
    "values of the next step": (
        FULL, (("nx.Vs, V[bh].tile(32, 64)[jt + 1", "nx.Vs, V[bh].tile(32, 64)[jt + 2"),), "conformity", "o += mma",
    ),
    "keys of the next step": (
        CAUSAL, (("K[bg].tile(64, 64)[jt, 0]", "K[bg].tile(64, 64)[jt + 1, 0]"),), "conformity", "o += mma",
    ),
    "keys of the query's head": (CAUSAL, (("load(K[bg]", "load(K[bh]"),), "bounds", "store(Ks, load(K[bh]"),
    "heads grouped in turns": (CAUSAL, (("bh // (H // G)", "bh % G"),), "epilogue", "store(O"),
    "values of another head": (CAUSAL, (("load(V[bg]", "load(V[0]"),), "conformity", "o += mma"),
    "one key tile too few": (
        CAUSAL, ((LAST_KEYS, f"{LAST_KEYS} - 1"),), "completeness", "store(O",
    ),
    "loop to the diagonal's start": (CAUSAL, (("(bq + 1) * 64", "bq * 64"),), "completeness", "store(O"),
    "every second key tile is skipped": (FULL, (("[jt + 1, 0]", "[2 * jt + 2, 0]"),) * 2, "completeness", "store(O"),
    "output not transposed": (CAUSAL, (("[bq, 0].T, (o / l)", "[bq, 0], (o / l)"),), "epilogue", "store(O"),
    "accumulator not rescaled": (CAUSAL, (("        o *= c\n", ""),), "epilogue", "o += mma"),
    "sum not rescaled": (FULL, (("l * f + ", "l + "),), "epilogue", "l = l + "),
    "no barrier before the next tile": (CAUSAL, (("mma(v, w)\n        barrier()", "mma(v, w)"),), "race", "store(Ks"),
    "depth incomplete": (CAUSAL, (("unroll(8)", "unroll(7)"),), "written", "assert_complete(s"),
    "keys of a tile left out": (FULL, (("for js in unroll(4)", "for js in unroll(3)"),), "completeness", "store(O"),
    "weights of the next tile": (
        "rmsnorm", (("W.tile(512)[ct]", "W.tile(512)[ct + 1]"),), "epilogue", "store(Y",
    ),
    "last tile left out": ("rmsnorm", (("range(cdiv(C, 512))", "range(C // 512)"),), "completeness", "store(Y"),
    "squares summed twice": (
        "rmsnorm", ((SQUARES, SQUARES * 2),),
        "completeness", "store(Y",
    ),
    "sum along the rows": ("layernorm", ((f'sx += {SUM}x, "c")', f'sx += {SUM}x, "r")'),), "epilogue", "store(Y"),
    "padding is not centred": ("layernorm", (("mask(x - mean, x.c < C, 0.0)", "x - mean"),), "completeness", "store(Y"),
    "a non-neutral pad in a sum": ("layernorm", (("x.c < C, 0.0", "x.c < C, 1.0"),), "completeness", "store(Y"),
    "zeros for maxima": (
        "column_maxima", (("pad=-inf", "pad=0.0"),), "completeness", "store(Y",
    ),
    "rescaled by the wrong factor": ("softmax", (("exp(mx - m)", "exp(m)"),), "epilogue", "l = l *"),
    "statistics without a barrier": (
        "centred_columns", (("    barrier()\n", ""),), "race", "load(T.T",
    ),
    "statistics of other lanes": ("centred_columns", (("load(T.T, ", "load(T, "),), "epilogue", "store(Y"),
    "gate and value of different rows": (
        "gated", (("B.tile(4, 64)[br, ct]", "B.tile(4, 64)[br, 0]"),), "epilogue", "store(Y",
    ),
}  # fmt: skip
QUICK = frozenset({"rmsnorm", "layernorm", "column_maxima", "centred_columns", "gated"})


def edited(name: str, edits: Edits) -> str:
    text = KERNELS[name]
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def explained(report: CheckReport) -> str:
    return "\n".join(f"{o.kind} {o.line}: {o.verdict} {o.reason or (o.counterexample and o.counterexample.text)}"
                     for o in report.obligations if o.verdict != "proved")  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_every_obligation_is_proved(name: str) -> None:
    report = check(KERNELS[name])
    assert report.ok, explained(report)
    assert not report.widened
    assert not report.assumed


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


def test_registers_do_not_falsify_what_is_true() -> None:
    core = to_core(parse(KERNELS["attention_causal"]))
    sizes = {"H": 2, "G": 1, "S": 70}
    for stmt in walk_body(core.body):
        if isinstance(stmt, AssertMatch | AssertComplete):
            assert falsified(core, stmt.span, sizes, None, 3) == ""
