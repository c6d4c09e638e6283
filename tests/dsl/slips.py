"""Kernels whose work happens in registers, and single slips in them."""

from __future__ import annotations

from pathlib import Path

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
    "first key tile skipped": ("attention_diagonal", (("range(bq)", "range(1, bq)"),), "completeness", "store(O"),
    "diagonal not masked": (
        "attention_diagonal", (("mask(z * scale, z.j <= z.q, -inf)", "z * scale"),), "completeness", "store(O",
    ),
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


def edited(name: str, edits: Edits) -> str:
    text = KERNELS[name]
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text
