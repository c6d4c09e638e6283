"""Flash attention, forward, on sm_90a: one warpgroup loads by TMA, the others multiply 64 queries each.

The weights leave the first product in registers that are the second one's operand as they are. Keys and values travel
through a ring; heads of 128 elements lie in two buffers of 64, whose rows the 128-byte swizzle permutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from argus.dsl.kernels import attention
from argus.dsl.kernels.library_schedule import LibrarySchedule, indent, kernel_text
from argus.dsl.kernels.task import Array, Sizes
from argus.dsl.targets.limits import LIMITS

HALF = 64  # elements in a row of the 128-byte swizzle
STEP = 16  # k of one wgmma
ROWS = 64  # of a warpgroup


class HopperAttentionSchedule(LibrarySchedule):
    """One attention kernel. The first three fields choose what is computed, the others how.

    Attributes:
        head: Elements of a head of Q, K and V.
        causal: A query sees the keys up to its own position; otherwise keys have a length of their own.
        dtype: Of all tensors.
        groups: Warpgroups that multiply; a block has 64 queries for each.
        keys: Of a stage.
        stages: Of the ring of keys and values.
        leave: Results are stored from registers, or pass through shared memory to a TMA store.
        registers: Of a thread of the loading and of the multiplying warpgroups; a lone group needs no budget.
    """

    head: Literal[64, 128] = 128
    causal: bool = True
    dtype: Literal["bf16", "f16"] = "bf16"
    groups: Literal[1, 2] = 2
    keys: int = 64
    stages: int = 2
    leave: Literal["registers", "tma"] = "registers"
    registers: tuple[int, int] = (40, 232)

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        found: list[str] = []
        if not 0 < self.keys <= 256 or self.keys % STEP:
            found.append(f"keys are a multiple of {STEP} up to 256, not {self.keys}")
        if not 2 <= self.stages <= 8:
            found.append(f"2 to 8 stages, not {self.stages}")
        rows = ROWS * self.groups
        size = 2 * self.head * (rows + 2 * self.keys * self.stages + (rows if self.leave == "tma" else 0))
        if size > 220 << 10:
            found.append(f"{size:,} bytes of shared memory, at most {220 << 10:,}")
        if any(r % 8 or not 24 <= r <= 240 for r in self.registers):
            found.append("registers: multiples of 8 from 24 to 240")
        loads, multiplies = self.registers
        if self.groups > 1 and 128 * (loads + self.groups * multiplies) > LIMITS["sm_90a"].registers:
            found.append(f"{loads} and {self.groups} times {multiplies} registers exceed 512 a lane")
        return found


def text(s: HopperAttentionSchedule) -> str:
    """Kernel text of a schedule."""
    rows, keys = ROWS * s.groups, s.keys
    tiles = attention.key_tiles("bq", rows, keys) if s.causal else f"cdiv(T, {keys})"
    order = ", order=longest_first" if s.causal else ""
    budget = [f", regs={r}" for r in s.registers] if s.groups > 1 else ["", ""]
    fill = ["with kv.fill() as st:", *indent(copies(s, {"K": ("bg", "jt", keys), "V": ("bg", "jt", keys)}))]
    load = [
        "with qr.fill() as st:",
        *indent(copies(s, {"Q": ("bg, br", "bq", rows)})),
        f"for jt in range({tiles}):",
        *indent(fill),
    ]
    acc = f'mma_acc("m64n{HALF}k{STEP}", {ROWS}, {HALF})'
    multiply = [
        f"{', '.join(f'o{h}' for h in halves(s))}, mx, l = {', '.join(acc for _ in halves(s))}, -inf, 0.0",
        "with qr.use() as qs:",
        f"    for jt in range({tiles}):",
        "        with kv.use() as st:",
        *indent(indent(indent(step(s)))),
        *_leave(s),
    ]
    group = ", groups=2) as g" if s.groups > 1 else ")"
    body = [
        f"bq, bg, br = block(cdiv(S, {rows}), G, R{order})",
        f"qr = ring(1, Q={buffer(s, rows)})",
        f"kv = ring({s.stages}, K={buffer(s, keys)}, V={buffer(s, keys)})",
        *([f"out = shared({s.dtype}, {s.groups}, {ROWS}, {HALF}, swizzle=b128)"] if s.leave == "tma" else []),
        f'with role("load", waves=4{budget[0]}):',
        *indent(load),
        f'with role("mma", waves={4 * s.groups}{budget[1]}{group}:',
        *indent(multiply),
    ]
    shape = attention.AttentionSchedule(head=s.head, causal=s.causal, dtype=s.dtype)
    return kernel_text("sm_90a", 4 + 4 * s.groups, attention.contract(shape), body)


def halves(s: HopperAttentionSchedule) -> range:
    """Parts of a head that fill a row of the swizzle."""
    return range(s.head // HALF)


def buffer(s: HopperAttentionSchedule, rows: int) -> str:
    """Shared memory for so many rows of a head."""
    parts = "" if s.head == HALF else f"{s.head // HALF}, "
    return f"shared({s.dtype}, {parts}{rows}, {HALF}, swizzle=b128)"


def copies(s: HopperAttentionSchedule, parts: Mapping[str, tuple[str, str, int]]) -> list[str]:
    """TMA copies of whole heads; `parts`: of which tensor, from which head and tile, how many rows."""
    at, half = ("", "0") if s.head == HALF else ("[i]", "i")
    lines = [
        f'copy_async(st.{x}{at}, {x}[{head}].tile({rows}, {HALF})[{tile}, {half}], via="tma")'
        for x, (head, tile, rows) in parts.items()
    ]
    return lines if s.head == HALF else [f"for i in unroll({s.head // HALF}):", *indent(lines)]


def step(s: HopperAttentionSchedule) -> list[str]:
    """Scores of one tile of keys, weights, and what they add to the output."""
    rows = f".rows(g * {ROWS}, {ROWS})" if s.groups > 1 else ""
    steps = HALF // STEP
    at, ks = ("", "ks") if s.head == HALF else (f"[ks // {steps}]", f"ks % {steps}")
    products: list[str] = []
    for h in halves(s):
        v = "st.V" if s.head == HALF else f"st.V[{h}]"
        products += [
            f'w, v = y.as_operand("a", o{h}, js), {v}.T.operand("b", o{h}, js)',
            "assert_match(w.j, v.j)",
            f"o{h} += mma(w, v)",
        ]
    return [
        f's = mma_acc("m64n{s.keys}k{STEP}", {ROWS}, {s.keys})',
        f"for ks in unroll({s.head // STEP}):",
        f'    s += mma(qs.Q{at}{rows}.operand("a", s, {ks}), st.K{at}.operand("b", s, {ks}))',
        "mma_wait(0)",
        f"s = mask(s * scale, {'s.j <= s.q' if s.causal else 's.j < T'}, -inf)",
        'p, c, mx, l = online_softmax(s, mx, l, "j")',
        *[f"o{h} *= c" for h in halves(s)],
        f"y = p.to({s.dtype})",
        f"for js in unroll({s.keys // STEP}):",
        *indent(products),
    ]


def _leave(s: HopperAttentionSchedule) -> list[str]:
    """Results to global memory."""
    row, slot = (f"{s.groups} * bq + g", "g") if s.groups > 1 else ("bq", "0")
    via = f', via="tma", stage=out[{slot}]' if s.leave == "tma" else ""
    return [f"store(O[bg, br].tile({ROWS}, {HALF})[{row}, {h}], (o{h} / l).to({s.dtype}){via})" for h in halves(s)]


def reference(s: HopperAttentionSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    same = attention.AttentionSchedule(head=s.head, causal=s.causal, dtype=s.dtype)
    return attention.reference(same, inputs, sizes)


def sizes(s: HopperAttentionSchedule) -> tuple[Sizes, ...]:
    """Key tiles 1, 2, S and 2 S + 1 times; ragged and whole."""
    out: list[Sizes] = []
    for turn, n in enumerate(sorted({1, 2, s.stages, 2 * s.stages + 1})):
        length = n * s.keys - (0 if turn % 2 else s.keys // 3)
        heads = {"G": 1, "R": 2 - min(turn, 1)}
        out.append({**heads, "S": length} if s.causal else {**heads, "S": 20 + 7 * turn, "T": length})
    return tuple(out)


EXAMPLES = {
    "causal-128": HopperAttentionSchedule(keys=32),
    "full-64": HopperAttentionSchedule(head=64, causal=False, groups=1, keys=32),
    "keys-48": HopperAttentionSchedule(head=64, groups=1, keys=48, stages=3),
    "tma-store": HopperAttentionSchedule(head=64, causal=False, keys=32, leave="tma", dtype="f16"),
}
