"""Attention for decoding on gfx942: few queries, many keys, which blocks therefore share out.

`attention_split` works on one part of the keys and leaves a normalised output with the logarithm of its weight;
`attention_combine` weighs the parts. Heads of a group are rows: they read the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from argus.dsl.kernels.library_schedule import (
    LANES,
    LibrarySchedule,
    grid_text,
    indent,
    kernel_text,
    shared_rows,
    swizzle_problems,
)
from argus.dsl.kernels.task import Array, Sizes, Target

LN_2 = 0.6931471805599453


class SplitSchedule(LibrarySchedule):
    """One kernel that attends to parts of the keys. The first three fields choose what is computed, the others how.

    Attributes:
        head: Elements of a head of Q, K and V.
        part: Keys of a part.
        dtype: Of Q, K and V.
        keys: Of a stage.
        waves: Each takes the rows of one MFMA atom.
        atom: The MFMA shape.
        stages: Of the ring of keys and values.
        swizzle: Chunks of 16 bytes that `xor` permutes in a row of keys or values; 0: none.
    """

    head: Literal[64, 128] = 128
    part: int = 256
    dtype: Literal["bf16", "f16"] = "bf16"
    keys: int = 32
    waves: int = 1
    atom: Literal["32x32x8", "16x16x16"] = "16x16x16"
    stages: int = 2
    swizzle: Literal[0, 2, 4, 8] = 8

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        edge = int(self.atom.split("x")[0])
        found: list[str] = []
        if not 1 <= self.waves <= 16:
            found.append(f"a block has 1 to 16 waves, not {self.waves}")
        if self.keys <= 0 or self.keys % edge:
            found.append(f"{self.keys} keys are no multiple of {edge}")
        elif self.part <= 0 or self.part % self.keys:
            found.append(f"a part of {self.part} keys is no multiple of a stage's {self.keys}")
        if not 2 <= self.stages <= 4:
            found.append(f"2 to 4 stages, not {self.stages}")
        found += swizzle_problems(self.swizzle, self.keys, self.head * 2)
        size = 4 * self.head * self.keys * self.stages
        if size > 64 << 10:
            found.append(f"{size:,} bytes of LDS, at most {64 << 10:,}")
        return found


def split_text(s: SplitSchedule) -> str:
    """Kernel text of a schedule."""
    edge, _, depth = (int(x) for x in s.atom.split("x"))
    d, keys, rows, t = s.head, s.keys, s.waves * edge, s.dtype
    ahead, per_part = s.stages - 1, s.part // s.keys

    def copies(stage: str, tile: str) -> list[str]:
        return [f"copy_async({stage}.{x}, {x}[bg].tile({keys}, {d})[{tile}, 0])" for x in "KV"]

    buffers = ", ".join(f"{x}={shared_rows(t, keys, d, s.swizzle)}" for x in "KV")
    step = [
        "with kv.fill() as nx:",
        *indent(copies("nx", f"first + jt + {ahead}")),
        f's = mma_acc("{s.atom}", {keys}, {rows}{grid_text(1, s.waves)})',
        f"for ks in unroll({d // depth}):",
        f'    s += mma(st.K.operand("a", s, ks), Q[bg].tile({rows}, {d})[br, 0].operand("b", s, ks))',
        "s = mask(s * scale, s.j < T, -inf)",
        'p, c, mx, l = online_softmax(s, mx, l, "j")',
        "o *= c",
        f"for js in unroll({keys // depth}):",
        f'    v, w = st.V.T.operand("a", o, js), p.to({t}).as_operand("b", o, js)',
        "    assert_match(v.j, w.j)",
        "    o += mma(v, w)",
    ]
    fill = ["with kv.fill() as st:", *indent(copies("st", "first" if ahead == 1 else "first + jt"))]
    prologue = fill if ahead == 1 else [f"for jt in unroll({ahead}):", *indent(fill)]
    body = [
        f"bp, bg, br = block(cdiv(T, {s.part}), G, cdiv(R, {rows}))",
        f"first = bp * {per_part}",
        f"kv = ring({s.stages}, {buffers})",
        f'o, mx, l = mma_acc("{s.atom}", {d}, {rows}{grid_text(1, s.waves)}), -inf, 0.0',
        *prologue,
        f"for jt in range(min({per_part}, cdiv(T, {keys}) - first)):",
        *indent(["with kv.use() as st:", *indent(step)]),
        "wait(0)",
        f"store(O[bp, bg].tile({rows}, {d})[br, 0].T, o / l)",
        f"store(L[bp, bg].tile({rows})[br], mx + log2(l) * {LN_2})",
    ]
    return kernel_text("gfx942", s.waves, split_contract(d, s.part, t), body)


def split_contract(head: int, part: int, dtype: str) -> str:
    """Signature and postconditions."""
    parts = f"p:cdiv(T, {part})"
    inputs = f"Q: {dtype}[g:G, r:R, d:{head}], K: {dtype}[g:G, j:T, d:{head}], V: {dtype}[g:G, j:T, e:{head}]"
    outputs = f"O: f32[{parts}, g:G, r:R, e:{head}], L: f32[{parts}, g:G, r:R]"
    keys = f"over(j, T, pred=j // {part} == p), over(d, {head})"
    return (
        f"def attention_split({inputs}, {outputs}, scale: f32):\n"
        f"    ensures(O[p, g, r, e], {keys}, uses=(Q, K, V))\n"
        f"    ensures(L[p, g, r], {keys}, uses=(Q, K))\n"
    )


def split_reference(s: SplitSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    return attention_of_parts(s.part, inputs, sizes)


def attention_of_parts(part: int, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64, part by part."""
    scores = np.einsum("grd,gjd->grj", inputs["Q"], inputs["K"]) * inputs["scale"]
    outputs: list[Array] = []
    logs: list[Array] = []
    for start in range(0, sizes["T"], part):
        x, v = scores[..., start : start + part], inputs["V"][:, start : start + part]
        top = x.max(axis=2, keepdims=True)
        p = np.exp(x - top)
        total = p.sum(axis=2, keepdims=True)
        outputs.append(np.einsum("grj,gje->gre", p / total, v))
        logs.append((top + np.log(total))[..., 0])
    return {"O": np.stack(outputs), "L": np.stack(logs)}


def split_sizes(s: SplitSchedule) -> tuple[Sizes, ...]:
    """Key tiles of the last part 1, 2, S and 2 S + 1 times where a part has as many; ragged and whole."""
    out: list[Sizes] = []
    for turn, n in enumerate(sorted({1, 2, s.stages, 2 * s.stages + 1})):
        parts, last = divmod(n, s.part // s.keys)
        keys = parts * s.part + last * s.keys - (0 if turn % 2 else s.keys // 3)
        out.append({"G": 1 + turn % 2, "R": 5 + 12 * (turn % 2), "T": keys})
    return tuple(out)


SPLIT_EXAMPLES = {
    "parts-of-64": SplitSchedule(head=64, part=64),
    "parts-of-144": SplitSchedule(head=64, part=144, keys=48, swizzle=2, stages=3),
    "two-waves": SplitSchedule(head=128, part=128, atom="32x32x8", waves=2),
    "no-swizzle": SplitSchedule(head=64, part=96, swizzle=0, dtype="f16"),
}


class CombineSchedule(LibrarySchedule):
    """One kernel that combines parts. The first two fields choose what is computed, the others how.

    Attributes:
        head: Elements of an output row.
        dtype: Of the output.
        tile: Parts that are in registers together, rows of a block.
        waves: Of a block.
    """

    head: Literal[64, 128] = 128
    dtype: Literal["bf16", "f16", "f32"] = "bf16"
    target: Target = "gfx942"
    tile: tuple[int, int] = (4, 4)
    waves: int = 2

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        parts, rows = self.tile
        found: list[str] = []
        if parts < 1 or rows < 1 or not 1 <= self.waves <= 16:
            found.append("at least one part, one row and 1 to 16 waves")
        elif rows * self.head % (turn := self.waves * 4 * LANES[self.target]):
            # Else the parts of one element lie in different waves, whose sum needs shared memory.
            found.append(f"{rows} rows of {self.head} are no multiple of the {turn} elements of a turn")
        elif parts * rows > 4 * LANES[self.target]:
            found.append(f"at most {4 * LANES[self.target]} weights are in registers together, not {parts}x{rows}")
        return found


def combine_text(s: CombineSchedule) -> str:
    """Kernel text of a schedule."""
    parts, rows = s.tile
    d = s.head
    return f"""\
@kernel(target="{s.target}", waves={s.waves})
def attention_combine(X: f32[p:P, h:H, e:{d}], L: f32[p:P, h:H], O: {s.dtype}[h:H, e:{d}]):
    ensures(O[h, e], over(p, P), uses=(X, L))
    bh = block(cdiv(H, {rows}))
    o, mx, l = 0.0, -inf, 0.0
    for pt in range(cdiv(P, {parts})):
        x = load(X.tile({parts}, {rows}, {d})[pt, bh, 0], map=linear(4))
        z = load(L.tile({parts}, {rows}, pad=-inf)[pt, bh], like=x)
        assert_match(x.p, z.p)
        w, c, mx, l = online_softmax(z, mx, l, "p")
        o = o * c + reduce("sum", w * x, "p")
    y = o / l
    store(O.tile({rows}, {d})[bh, 0], {"y" if s.dtype == "f32" else f"y.to({s.dtype})"})
"""


def combine_reference(s: CombineSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    del s, sizes
    w = np.exp(inputs["L"] - inputs["L"].max(axis=0))
    return {"O": np.einsum("ph,phe->he", w / w.sum(axis=0), inputs["X"])}


def combine_sizes(s: CombineSchedule) -> tuple[Sizes, ...]:
    """Tiles of parts 1, 2 and 3 times, ragged and whole."""
    parts, rows = s.tile
    return {"P": max(1, parts - 1), "H": rows + 1}, {"P": 2 * parts, "H": 2 * rows}, {"P": 2 * parts + 1, "H": 1}


COMBINE_EXAMPLES = {
    "four-parts": CombineSchedule(),
    "three-parts": CombineSchedule(head=64, tile=(3, 12), waves=3),
    "hopper": CombineSchedule(target="sm_90a", tile=(2, 4), waves=4),
    "one-part": CombineSchedule(head=64, tile=(1, 4), waves=1, dtype="f32"),
}
