"""Sums and maxima of a matrix along its rows or its columns, on both targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from argus.dsl.kernels.library_schedule import LibrarySchedule, indent, kernel_text, multiple, wide
from argus.dsl.kernels.task import Array, Sizes, Target


class ReductionSchedule(LibrarySchedule):
    """One kernel. The first four fields choose what is computed, the others how.

    Attributes:
        op: What becomes of the elements.
        axis: Which axis is reduced: `columns` leaves a value for each row, `rows` one for each column.
        dtype: Of the input; results are f32.
        tile: Rows and columns that are in registers together.
        vector: Elements a lane loads at a time.
        waves: Of a block.
        parts: Blocks that share one reduction and add up their sums.
    """

    op: Literal["sum", "max"] = "sum"
    axis: Literal["rows", "columns"] = "columns"
    dtype: Literal["bf16", "f16", "f32"] = "bf16"
    target: Target = "gfx942"
    tile: tuple[int, int] = (4, 512)
    vector: Literal[1, 2, 4, 8] = 8
    waves: int = 4
    parts: int = 1

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        rows, columns = self.tile
        found: list[str] = []
        if not 1 <= self.waves <= 16:
            found.append(f"a block has 1 to 16 waves, not {self.waves}")
        if rows < 1 or columns < 1 or columns % self.vector:
            found.append(f"rows of {columns} elements are not made of {self.vector} at a time")
        if self.parts < 1 or (self.parts > 1 and self.op != "sum"):
            found.append("only sums are added up by several blocks")
        if self.vector * (4 if self.dtype == "f32" else 2) > 16:
            found.append(f"{self.vector} elements of {self.dtype} exceed the 16 bytes that a lane moves")
        return found


def text(s: ReductionSchedule) -> str:
    """Kernel text of a schedule."""
    rows, columns = s.tile
    kept, kept_size, gone, gone_size = ("r", "R", "c", "C") if s.axis == "columns" else ("c", "C", "r", "R")
    step, reduced = (rows, columns) if s.axis == "columns" else (columns, rows)
    at = "b0, t" if s.axis == "columns" else "t, b0"
    pad = "" if s.op == "sum" else ", pad=-inf"
    convert = "" if s.dtype == "f32" else ".to(f32)"
    one = f'reduce("{s.op}", x, "{gone}", across="block")'
    tiles = f"cdiv({gone_size}, {reduced})"
    bounds = tiles if s.parts == 1 else "begin, end"
    out = f"Y.tile({step})[b0], y"
    body = [
        f"b0 = block(cdiv({kept_size}, {step}))",
        *([f"begin, end = split({tiles}, {s.parts})"] if s.parts > 1 else []),
        f"y = {'0.0' if s.op == 'sum' else '-inf'}",
        f"for t in range({bounds}):",
        *indent(
            [
                f"x = load(X.tile({rows}, {columns}{pad})[{at}], map=linear({s.vector})){convert}",
                f"y += {one}" if s.op == "sum" else f"y = max(y, {one})",
            ]
        ),
        *([f"assert_complete(y, {gone}=range({gone_size}))"] if s.parts == 1 else []),
        f"atomic_add({out})" if s.parts > 1 else f"store({out})",
    ]
    contract = (
        f"def {s.op}_of_{s.axis}(X: {s.dtype}[r:R, c:C], Y: f32[{kept}:{kept_size}]):\n"
        f"    where(C % {wide(s.dtype)} == 0)\n    ensures(Y[{kept}], over({gone}, {gone_size}), uses=X)\n"
    )
    return kernel_text(s.target, s.waves, contract, body)


def reference(s: ReductionSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    del sizes
    axis = 1 if s.axis == "columns" else 0
    return {"Y": inputs["X"].sum(axis=axis) if s.op == "sum" else inputs["X"].max(axis=axis)}


def sizes(s: ReductionSchedule) -> tuple[Sizes, ...]:
    """The reduced axis of less than a tile, of one, two and three; ragged and whole."""
    (rows, columns), a, p = s.tile, wide(s.dtype), s.parts
    return (
        {"R": rows + 1, "C": multiple(columns - columns // 3, a)},
        {"R": 2 * rows * p, "C": multiple(2 * columns * p, a)},
        {"R": 2 * rows * p + 1, "C": multiple(columns, a) + a},
        {"R": max(1, rows - 1), "C": multiple(2 * columns * p, a) + a},
    )


def make_inputs(s: ReductionSchedule, given: Sizes, rng: np.random.Generator) -> dict[str, Any]:
    """Negative numbers for maxima, which padding by zero would exceed."""
    return {"X": rng.standard_normal((given["R"], given["C"])) - (9.0 if s.op == "max" else 0.0)}


EXAMPLES = {
    "sum-of-columns": ReductionSchedule(),
    "max-of-columns": ReductionSchedule(op="max", tile=(1, 768), waves=3, vector=4),
    "sum-of-rows": ReductionSchedule(axis="rows", tile=(16, 64), vector=4),
    "max-of-rows-hopper": ReductionSchedule(op="max", axis="rows", target="sm_90a", tile=(8, 96), dtype="f16"),
    "sum-in-parts": ReductionSchedule(axis="rows", tile=(12, 64), waves=2, parts=3, dtype="f32", vector=4),
    "sum-of-columns-hopper": ReductionSchedule(target="sm_90a", tile=(2, 256), waves=2),
}
