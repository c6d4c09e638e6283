"""Normalisations along rows: RMSNorm, LayerNorm, softmax. One text serves both targets.

A row lies in one wave, so that its sums are a wave's business, or across the whole block. Either way it is read twice:
once for its statistics, once for the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from argus.dsl.kernels.library_schedule import LANES, LibrarySchedule, indent, kernel_text, multiple, wide
from argus.dsl.kernels.task import Array, Sizes, Target


class NormSchedule(LibrarySchedule):
    """One kernel. The first three fields choose what is computed, the others how.

    Attributes:
        op: What is done with each row. `layernorm` sums squares of deviations in a pass of its own.
        dtype: Of all tensors but the statistics.
        rows: `wave`: each wave has a row; `block`: all waves share one.
        waves: Of a block.
        vector: Elements a lane moves at a time.
        turns: How often a lane does so for a tile of a row; more than one only where the block shares it.
    """

    op: Literal["rmsnorm", "layernorm", "softmax"] = "rmsnorm"
    dtype: Literal["bf16", "f16", "f32"] = "bf16"
    target: Target = "gfx942"
    rows: Literal["wave", "block"] = "block"
    waves: int = 4
    vector: Literal[1, 2, 4, 8] = 8
    turns: int = 1

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        found: list[str] = []
        if not 1 <= self.waves <= 16:
            found.append(f"a block has 1 to 16 waves, not {self.waves}")
        if self.turns < 1 or (self.turns > 1 and self.rows == "wave"):
            found.append("a lane takes one turn at a wave's row, one or more at a block's")
        if self.vector * (4 if self.dtype == "f32" else 2) > 16:
            found.append(f"{self.vector} elements of {self.dtype} exceed the 16 bytes that a lane moves")
        return found

    @property
    def tile(self) -> tuple[int, int]:
        """Rows of a block; columns that are in registers together."""
        columns = LANES[self.target] * self.vector
        return (self.waves, columns) if self.rows == "wave" else (1, self.waves * columns * self.turns)


def text(s: NormSchedule) -> str:
    """Kernel text of a schedule."""
    rows, columns = s.tile
    passes = {"rmsnorm": _rmsnorm, "layernorm": _layernorm, "softmax": _softmax}[s.op](s)
    lines: list[str] = []
    for step in passes:
        lines += [f"for ct in range(cdiv(C, {columns})):", *indent(step)] if isinstance(step, list) else [step]
    body = [f"br = block({'R' if rows == 1 else f'cdiv(R, {rows})'})", *lines]
    return kernel_text(s.target, s.waves, _contract(s), body)


def _contract(s: NormSchedule) -> str:
    weights = {"rmsnorm": f"W: {s.dtype}[c:C], ", "layernorm": f"W: {s.dtype}[c:C], B: {s.dtype}[c:C], ", "softmax": ""}
    eps = "" if s.op == "softmax" else ", eps: f32"
    uses = {"rmsnorm": "(X, W)", "layernorm": "(X, W, B)", "softmax": "X"}[s.op]
    return (
        f"def {s.op}(X: {s.dtype}[r:R, c:C], {weights[s.op]}Y: {s.dtype}[r:R, c:C]{eps}):\n"
        f"    where(C % {wide(s.dtype)} == 0)\n    ensures(Y[r, c], over(c, C), uses={uses})\n"
    )


# Each returns statements; a list of statements is repeated for every tile of the row.
Passes = list[str | list[str]]


def _load(s: NormSchedule, pad: str = "") -> str:
    rows, columns = s.tile
    convert = "" if s.dtype == "f32" else ".to(f32)"
    return f"x = load(X.tile({rows}, {columns}{pad})[br, ct], map=linear({s.vector})){convert}"


def _vector(s: NormSchedule, tensor: str) -> str:
    convert = "" if s.dtype == "f32" else ".to(f32)"
    return f"{tensor.lower()} = load({tensor}.tile({s.tile[1]})[ct], like=x){convert}"


def _store(s: NormSchedule, value: str) -> str:
    rows, columns = s.tile
    return f"store(Y.tile({rows}, {columns})[br, ct], {value if s.dtype == 'f32' else f'({value}).to({s.dtype})'})"


def _across(s: NormSchedule) -> str:
    return "" if s.rows == "wave" else ', across="block"'


def _rmsnorm(s: NormSchedule) -> Passes:
    return [
        "ss = 0.0",
        [_load(s), f'ss += reduce("sum", x * x, "c"{_across(s)})'],
        "assert_complete(ss, c=range(C))",
        "f = rsqrt(ss / C + eps)",
        [_load(s), _vector(s, "W"), "assert_match(x.c, w.c)", _store(s, "x * f * w")],
    ]


def _layernorm(s: NormSchedule) -> Passes:
    return [
        "sx, ss = 0.0, 0.0",
        [_load(s), f'sx += reduce("sum", x, "c"{_across(s)})'],
        "assert_complete(sx, c=range(C))",
        "mean = sx / C",
        # Outside the row the deviation is not zero: it must not count.
        [_load(s), "d = mask(x - mean, x.c < C, 0.0)", f'ss += reduce("sum", d * d, "c"{_across(s)})'],
        "assert_complete(ss, c=range(C))",
        "f = rsqrt(ss / C + eps)",
        [
            _load(s),
            _vector(s, "W"),
            _vector(s, "B"),
            "assert_match(x.c, w.c)",
            "assert_match(x.c, b.c)",
            _store(s, "(x - mean) * f * w + b"),
        ],
    ]


def _softmax(s: NormSchedule) -> Passes:
    load = _load(s, ", pad=-inf")
    online = ['p, f, mx, l = online_softmax(x, mx, l, "c")']
    if s.rows == "block":
        online = [
            'm = max(mx, reduce("max", x, "c", across="block"))',
            'l = l * exp(mx - m) + reduce("sum", exp(x - m), "c", across="block")',
            "mx = m",
        ]
    return [
        "mx, l = -inf, 0.0",
        [load, *online],
        "assert_complete(l, c=range(C))",
        [load, _store(s, "exp(x - mx) / l")],
    ]


def reference(s: NormSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    del sizes
    x = inputs["X"]
    match s.op:
        case "rmsnorm":
            return {"Y": x / np.sqrt((x * x).mean(axis=1, keepdims=True) + inputs["eps"]) * inputs["W"]}
        case "layernorm":
            d = x - x.mean(axis=1, keepdims=True)
            return {"Y": d / np.sqrt((d * d).mean(axis=1, keepdims=True) + inputs["eps"]) * inputs["W"] + inputs["B"]}
        case "softmax":
            p = np.exp(x - x.max(axis=1, keepdims=True))
            return {"Y": p / p.sum(axis=1, keepdims=True)}


def sizes(s: NormSchedule) -> tuple[Sizes, ...]:
    """Rows of less than a tile, of one, two and three tiles."""
    (rows, columns), a = s.tile, wide(s.dtype)
    return (
        {"R": rows + 1, "C": multiple(columns - columns // 3, a)},
        {"R": 2 * rows, "C": 2 * columns},
        {"R": 1, "C": 2 * columns + a},
    )


EXAMPLES = {
    "rmsnorm-block": NormSchedule(),
    "rmsnorm-wave": NormSchedule(rows="wave", dtype="f16"),
    "rmsnorm-three-waves": NormSchedule(waves=3, vector=4, turns=2),
    "rmsnorm-wave-hopper": NormSchedule(target="sm_90a", rows="wave"),
    "layernorm-block": NormSchedule(op="layernorm", waves=2),
    "layernorm-wave": NormSchedule(op="layernorm", rows="wave", vector=4, dtype="f32"),
    "layernorm-block-hopper": NormSchedule(op="layernorm", target="sm_90a", vector=4),
    "softmax-block": NormSchedule(op="softmax", vector=4),
    "softmax-wave": NormSchedule(op="softmax", rows="wave", waves=3, dtype="f16"),
    "softmax-wave-hopper": NormSchedule(op="softmax", target="sm_90a", rows="wave", dtype="f32", vector=4),
}
