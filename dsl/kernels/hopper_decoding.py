"""Attention for decoding on sm_90a: a warpgroup multiplies 64 rows by one part of the keys, another loads by TMA.

The contract is that of `attention_split` on gfx942, the steps are those of `hopper_attention`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from argus.dsl.kernels import decoding
from argus.dsl.kernels.hopper_attention import HALF, ROWS, STEP, HopperAttentionSchedule, buffer, copies, halves, step
from argus.dsl.kernels.library_schedule import LibrarySchedule, indent, kernel_text
from argus.dsl.kernels.task import Array, Sizes


class HopperSplitSchedule(LibrarySchedule):
    """One kernel that attends to parts of the keys. The first three fields choose what is computed, the others how.

    Attributes:
        head: Elements of a head of Q, K and V.
        part: Keys of a part.
        dtype: Of Q, K and V.
        keys: Of a stage.
        stages: Of the ring of keys and values.
    """

    head: Literal[64, 128] = 128
    part: int = 256
    dtype: Literal["bf16", "f16"] = "bf16"
    keys: int = 64
    stages: int = 2

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        if self.part < 1 or self.part % self.keys:
            return [f"a part of {self.part} keys is no multiple of a stage's {self.keys}"]
        whole = HopperAttentionSchedule.model_construct(
            head=self.head, causal=False, dtype=self.dtype, groups=1, keys=self.keys, stages=self.stages
        )
        return whole.problems()

    @property
    def whole(self) -> HopperAttentionSchedule:
        """The kernel for all keys with the same steps."""
        return HopperAttentionSchedule(
            head=self.head, causal=False, dtype=self.dtype, groups=1, keys=self.keys, stages=self.stages
        )


def text(s: HopperSplitSchedule) -> str:
    """Kernel text of a schedule."""
    whole, keys, per_part = s.whole, s.keys, s.part // s.keys
    loop = f"for jt in range(min({per_part}, cdiv(T, {keys}) - first)):"
    parts = {"K": ("bg", "first + jt", keys), "V": ("bg", "first + jt", keys)}
    load = [
        "with qr.fill() as st:",
        *indent(copies(whole, {"Q": ("bg", "br", ROWS)})),
        loop,
        *indent(["with kv.fill() as st:", *indent(copies(whole, parts))]),
    ]
    acc = f'mma_acc("m64n{HALF}k{STEP}", {ROWS}, {HALF})'
    outputs = halves(whole)
    multiply = [
        f"{', '.join(f'o{h}' for h in outputs)}, mx, l = {', '.join(acc for _ in outputs)}, -inf, 0.0",
        "with qr.use() as qs:",
        *indent([loop, *indent(["with kv.use() as st:", *indent(step(whole))])]),
        *[f"store(O[bp, bg].tile({ROWS}, {HALF})[br, {h}], o{h} / l)" for h in outputs],
        f"store(L[bp, bg].tile({ROWS})[br], mx + log2(l) * {decoding.LN_2})",
    ]
    body = [
        f"bp, bg, br = block(cdiv(T, {s.part}), G, cdiv(R, {ROWS}))",
        f"first = bp * {per_part}",
        f"qr = ring(1, Q={buffer(whole, ROWS)})",
        f"kv = ring({s.stages}, K={buffer(whole, keys)}, V={buffer(whole, keys)})",
        'with role("load", waves=4):',
        *indent(load),
        'with role("mma", waves=4):',
        *indent(multiply),
    ]
    return kernel_text("sm_90a", 8, decoding.split_contract(s.head, s.part, s.dtype), body)


def reference(s: HopperSplitSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    return decoding.attention_of_parts(s.part, inputs, sizes)


def sizes(s: HopperSplitSchedule) -> tuple[Sizes, ...]:
    """Key tiles of the last part 1, 2, S and 2 S + 1 times where a part has as many; ragged and whole."""
    out: list[Sizes] = []
    for turn, n in enumerate(sorted({1, 2, s.stages, 2 * s.stages + 1})):
        parts, last = divmod(n, s.part // s.keys)
        keys = parts * s.part + last * s.keys - (0 if turn % 2 else s.keys // 3)
        out.append({"G": 1, "R": 5 + 61 * (turn % 2), "T": keys})
    return tuple(out)


EXAMPLES = {
    "parts-of-64": HopperSplitSchedule(head=64, part=64, keys=32),
    "parts-of-144": HopperSplitSchedule(head=64, part=144, keys=48, stages=3, dtype="f16"),
    "parts-of-96": HopperSplitSchedule(part=96, keys=32),
}
