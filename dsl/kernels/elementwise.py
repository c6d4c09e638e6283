"""Chains of pointwise operations on both targets: memory is read once, written once, and nothing else matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from argus.dsl.kernels.library_schedule import LANES, LibrarySchedule, indent, kernel_text, multiple, wide
from argus.dsl.kernels.task import Array, Sizes, Target


class ElementwiseSchedule(LibrarySchedule):
    """One kernel. The first three fields choose what is computed, the others how.

    Attributes:
        op: `swiglu`: silu(X) * Z. `bias_relu`: relu(X + B), B a row. `axpy`: alpha * X + Y. `gelu`: its tanh form.
        dtype: Of all tensors.
        rows: Of a block.
        columns: Of a tile.
        vector: Elements a lane moves at a time.
        waves: Of a block.
        walk: Blocks take one tile, or walk along their rows.
    """

    op: Literal["swiglu", "bias_relu", "axpy", "gelu"] = "swiglu"
    dtype: Literal["bf16", "f16", "f32"] = "bf16"
    target: Target = "gfx942"
    rows: int = 4
    columns: int = 256
    vector: Literal[1, 2, 4, 8] = 8
    waves: int = 2
    walk: bool = False

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        found: list[str] = []
        if not 1 <= self.waves <= 16:
            found.append(f"a block has 1 to 16 waves, not {self.waves}")
        if self.rows < 1 or self.columns < 1 or self.columns % self.vector:
            found.append(f"rows of {self.columns} elements are not made of {self.vector} at a time")
        elif self.rows * self.columns > 64 * LANES[self.target] * self.waves:
            found.append("more than 64 elements a lane")
        if self.vector * (4 if self.dtype == "f32" else 2) > 16:
            found.append(f"{self.vector} elements of {self.dtype} exceed the 16 bytes that a lane moves")
        return found


# Parameters before the output, other inputs by name with their axes, the value.
_OPS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "swiglu": ("Z: {t}[r:R, c:C], ", ("z",), "silu(x) * z"),
    "bias_relu": ("B: {t}[c:C], ", ("b",), "relu(x + b)"),
    "axpy": ("Z: {t}[r:R, c:C], ", ("z",), "alpha * x + z"),
    "gelu": ("", (), "0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))"),
}


def text(s: ElementwiseSchedule) -> str:
    """Kernel text of a schedule."""
    parameters, others, value = _OPS[s.op]
    convert, back = ("", value) if s.dtype == "f32" else (".to(f32)", f"({value}).to({s.dtype})")
    shape = f"{s.rows}, {s.columns}"
    loads = [f"x = load(X.tile({shape})[br, ct], map=linear({s.vector})){convert}"]
    for name in others:
        tile = f"B.tile({s.columns})[ct]" if name == "b" else f"Z.tile({shape})[br, ct]"
        loads += [f"{name} = load({tile}, like=x){convert}", f"assert_match(x.c, {name}.c)"]
    step = [*loads, f"store(Y.tile({shape})[br, ct], {back})"]
    tiles = f"cdiv(R, {s.rows})", f"cdiv(C, {s.columns})"
    if s.walk:
        body = [f"br = block({tiles[0]})", f"for ct in range({tiles[1]}):", *indent(step)]
    else:
        body = [f"br, ct = block({tiles[0]}, {tiles[1]})", *step]
    uses = {"swiglu": "(X, Z)", "axpy": "(X, Z)", "bias_relu": "(X, B)", "gelu": "X"}[s.op]
    alpha = ", alpha: f32" if s.op == "axpy" else ""
    contract = (
        f"def {s.op}(X: {s.dtype}[r:R, c:C], {parameters.format(t=s.dtype)}Y: {s.dtype}[r:R, c:C]{alpha}):\n"
        f"    where(C % {wide(s.dtype)} == 0)\n    ensures(Y[r, c], uses={uses})\n"
    )
    return kernel_text(s.target, s.waves, contract, body)


def reference(s: ElementwiseSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    del sizes
    x = inputs["X"]
    match s.op:
        case "swiglu":
            return {"Y": x / (1 + np.exp(-x)) * inputs["Z"]}
        case "bias_relu":
            return {"Y": np.maximum(x + inputs["B"], 0.0)}
        case "axpy":
            return {"Y": inputs["alpha"] * x + inputs["Z"]}
        case "gelu":
            return {"Y": 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))}


def sizes(s: ElementwiseSchedule) -> tuple[Sizes, ...]:
    """Less than a tile, one, two and three of them, ragged and whole."""
    r, c, a = s.rows, s.columns, wide(s.dtype)
    return (
        {"R": max(1, r - 1), "C": multiple(c - c // 3, a)},
        {"R": 2 * r, "C": multiple(2 * c, a)},
        {"R": r + 1, "C": multiple(2 * c, a) + a},
    )


EXAMPLES = {
    "swiglu": ElementwiseSchedule(),
    "swiglu-hopper": ElementwiseSchedule(target="sm_90a", waves=4, vector=4),
    "bias-relu": ElementwiseSchedule(op="bias_relu", rows=3, columns=96, vector=4, walk=True),
    "axpy": ElementwiseSchedule(op="axpy", dtype="f32", vector=4, rows=1, columns=512),
    "gelu-hopper": ElementwiseSchedule(op="gelu", target="sm_90a", waves=4, walk=True, dtype="f16"),
}
