"""Flash attention, forward, on gfx942: O[g, r, q] = sum over j of softmax(scale * Q[g, r, q] . K[g, j]) * V[g, j].

Heads that share keys are an axis of their own: head r of group g. (Of one batch; batches are more groups.)

Scores are computed transposed, keys by queries, so that a query stays on its lane: its maximum and its sum are
reductions over registers and two lanes, and the weights are the next product's operand without a move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from argus.dsl.kernels.library_schedule import (
    LibrarySchedule,
    grid_text,
    indent,
    kernel_text,
    shared_rows,
    swizzle_problems,
)
from argus.dsl.kernels.task import Array, Sizes

BYTES = 2


class AttentionSchedule(LibrarySchedule):
    """One attention kernel. The first three fields choose what is computed, the others how.

    Attributes:
        head: Elements of a head of Q, K and V.
        causal: A query sees the keys up to its own position; otherwise keys have a length of their own.
        dtype: Of all tensors.
        tile: Queries of a block, keys of a stage.
        waves: Each takes as many of the block's queries.
        atom: The MFMA shape.
        stages: Of the ring of keys and values; 1 passes them through registers and has no ring.
        queries: Where the block's queries are read from in every step.
        swizzle: Chunks of 16 bytes that `xor` permutes in a row of keys or values; 0: none.
        order: Of the blocks. Late queries see more keys, so `longest_first` balances causal grids.
    """

    head: Literal[64, 128] = 128
    causal: bool = True
    dtype: Literal["bf16", "f16"] = "bf16"
    tile: tuple[int, int] = (128, 32)
    waves: int = 4
    atom: Literal["32x32x8", "16x16x16"] = "32x32x8"
    stages: int = 2
    queries: Literal["global", "shared"] = "global"
    swizzle: Literal[0, 2, 4, 8] = 8
    order: Literal["rows", "longest_first"] = "longest_first"

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        (queries, keys), (edge, _, depth) = self.tile, self.atom_shape
        found: list[str] = []
        if not 1 <= self.waves <= 16:
            found.append(f"a block has 1 to 16 waves, not {self.waves}")
        elif queries <= 0 or queries % (self.waves * edge):
            found.append(f"{queries} queries do not split into {self.waves} waves of {edge}")
        if keys <= 0 or keys % max(edge, depth):
            found.append(f"{keys} keys are no multiple of {max(edge, depth)}")
        if not 1 <= self.stages <= 4:
            found.append(f"1 to 4 stages, not {self.stages}")
        found += swizzle_problems(self.swizzle, keys, self.head * BYTES)
        size = BYTES * self.head * (2 * keys * self.stages + (queries if self.queries == "shared" else 0))
        if size > 64 << 10:
            found.append(f"{size:,} bytes of LDS, at most {64 << 10:,}")
        return found

    @property
    def atom_shape(self) -> tuple[int, int, int]:
        m, n, k = (int(x) for x in self.atom.split("x"))
        return m, n, k


def contract(s: AttentionSchedule) -> str:
    """Signature, preconditions and postcondition."""
    keys, pred = ("S", ", pred=j <= q") if s.causal else ("T", "")
    d, t = s.head, s.dtype
    return (
        f"def attention(Q: {t}[g:G, r:R, q:S, d:{d}], K: {t}[g:G, j:{keys}, d:{d}], V: {t}[g:G, j:{keys}, e:{d}],"
        f" O: {t}[g:G, r:R, q:S, e:{d}], scale: f32):\n"
        f"    ensures(O[g, r, q, e], over(j, {keys}{pred}), over(d, {d}), uses=(Q, K, V))\n"
    )


def text(s: AttentionSchedule) -> str:
    """Kernel text of a schedule."""
    (queries, keys), d = s.tile, s.head
    tiles = key_tiles("bq", queries, keys) if s.causal else f"cdiv(T, {keys})"
    order = "" if s.order == "rows" else f", order={s.order}"
    setup = [f"bq, bg, br = block(cdiv(S, {queries}), G, R{order})"]
    q_tile = f"Q[bg, br].tile({queries}, {d})[bq, 0]"
    q = q_tile
    if s.queries == "shared":
        q = "Qs"
        setup += [f"Qs = {shared_rows(s.dtype, queries, d, s.swizzle)}"]
    setup += _staging(s)
    setup += [
        f'o, mx, l = mma_acc("{s.atom}", {d}, {queries}{grid_text(1, s.waves)}), -inf, 0.0',
        *([f"copy(Qs, {q_tile})"] if s.queries == "shared" else []),
    ]
    loop = [f"for jt in range({tiles}):"]
    body = _softmax_step(s, q)
    if s.stages == 1:
        loads = [*(f"{x.lower()}t = load({x}[bg].tile({keys}, {d})[jt, 0])" for x in "KV")]
        puts = [*(f"store({x}s, {x.lower()}t)" for x in "KV")]
        loop += indent([*loads, *puts, "barrier()", *body, "barrier()"])
    else:
        setup += [*(["barrier()"] if s.queries == "shared" else []), *_prologue(s)]
        refill = ["with kv.fill() as nx:", *indent(_copies(s, "nx", f"jt + {s.stages - 1}"))]
        loop += indent(["with kv.use() as st:", *indent([*refill, *body])])
    # Copies that ran ahead must not land in the LDS of the next block.
    end = [] if s.stages == 1 else ["wait(0)"]
    end += [f"store(O[bg, br].tile({queries}, {d})[bq, 0].T, (o / l).to({s.dtype}))"]
    lines = [*setup, *loop, *end]
    return kernel_text("gfx942", s.waves, contract(s), lines)


def key_tiles(block: str, queries: int, keys: int) -> str:
    """How many tiles of keys the queries of a block see, where a query sees keys up to its own place."""
    whole, rest = divmod(queries, keys)
    if rest:
        return f"cdiv(min(({block} + 1) * {queries}, S), {keys})"
    factor = "" if whole == 1 else f"{whole} * "
    return f"min({factor}{block} + {whole}, cdiv(S, {keys}))"


def _staging(s: AttentionSchedule) -> list[str]:
    buffers = [f"{x}{'s' * (s.stages == 1)}={shared_rows(s.dtype, s.tile[1], s.head, s.swizzle)}" for x in "KV"]
    if s.stages == 1:
        return [b.replace("=", " = ", 1) for b in buffers]
    return [f"kv = ring({s.stages}, {', '.join(buffers)})"]


def _copies(s: AttentionSchedule, stage: str, tile: str) -> list[str]:
    shape = f"tile({s.tile[1]}, {s.head})[{tile}, 0]"
    return [f"copy_async({stage}.{x}, {x}[bg].{shape})" for x in "KV"]


def _prologue(s: AttentionSchedule) -> list[str]:
    fill = ["with kv.fill() as st:"]
    if s.stages == 2:
        return [*fill, *indent(_copies(s, "st", "0"))]
    return [f"for jt in unroll({s.stages - 1}):", *indent([*fill, *indent(_copies(s, "st", "jt"))])]


def _softmax_step(s: AttentionSchedule, q: str) -> list[str]:
    """Scores of one tile of keys, weights, and what they add to the output."""
    (queries, keys), depth = s.tile, s.atom_shape[2]
    k, v = ("Ks", "Vs") if s.stages == 1 else ("st.K", "st.V")
    seen = "s.j <= s.q" if s.causal else "s.j < T"
    return [
        f's = mma_acc("{s.atom}", {keys}, {queries}{grid_text(1, s.waves)})',
        f"for ks in unroll({s.head // depth}):",
        f'    s += mma({k}.operand("a", s, ks), {q}.operand("b", s, ks))',
        f"assert_complete(s, d=range({s.head}))",
        f"s = mask(s * scale, {seen}, -inf)",
        'p, c, mx, l = online_softmax(s, mx, l, "j")',
        "o *= c",
        f"for js in unroll({keys // depth}):",
        f'    v, w = {v}.T.operand("a", o, js), p.to({s.dtype}).as_operand("b", o, js)',
        "    assert_match(v.j, w.j)",
        "    o += mma(v, w)",
    ]


def reference(s: AttentionSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    del sizes
    scores = np.einsum("grqd,gjd->grqj", inputs["Q"], inputs["K"]) * inputs["scale"]
    if s.causal:
        scores = np.where(np.tril(np.ones(scores.shape[2:])) > 0, scores, -np.inf)
    p = np.exp(scores - scores.max(axis=3, keepdims=True))
    return {"O": np.einsum("grqj,gje->grqe", p / p.sum(axis=3, keepdims=True), inputs["V"])}


def sizes(s: AttentionSchedule) -> tuple[dict[str, int], ...]:
    """Key tiles 1, 2, S and 2 S + 1 times; ragged and whole."""
    keys = s.tile[1]
    trips = sorted({1, 2, s.stages, 2 * s.stages + 1})
    out: list[dict[str, int]] = []
    for turn, n in enumerate(trips):
        length = n * keys - (0 if turn % 2 else keys // 3)
        heads = {"G": 2, "R": 2} if turn == 0 else {"G": 1, "R": 2}
        out.append({**heads, "S": length} if s.causal else {**heads, "S": 20 + 7 * turn, "T": length})
    return tuple(out)


EXAMPLES = {
    "causal-128": AttentionSchedule(),
    "causal-64": AttentionSchedule(head=64, tile=(64, 32), waves=2),
    "full-64": AttentionSchedule(head=64, causal=False, tile=(64, 32), waves=2, order="rows"),
    "keys-48": AttentionSchedule(head=64, tile=(48, 48), waves=3, atom="16x16x16", swizzle=2),
    "three-stages": AttentionSchedule(
        head=64, causal=False, tile=(32, 32), waves=1, stages=3, dtype="f16", order="rows"
    ),
    "registers": AttentionSchedule(head=64, tile=(64, 64), waves=4, atom="16x16x16", stages=1, queries="shared"),
    "no-swizzle": AttentionSchedule(head=128, causal=False, tile=(32, 32), waves=1, swizzle=0, order="rows"),
}
