"""Places in LDS: rows with padding and swizzle, as one register and a constant wherever the layout allows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import gcd

from argus.dsl.ir import Node, View
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Swizzle
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.context import Context
from argus.dsl.lower.gfx942.errors import unsupported
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import SharedView, shared_view


@dataclass(frozen=True, slots=True)
class Rows:
    """Layout of the rows of an LDS object.

    Attributes:
        pitch: Elements from row to row.
        period: Rows after which the swizzle repeats; 1 without one.
    """

    pitch: int
    swizzle: Swizzle | None
    bytes: int
    columns: int

    @classmethod
    def of(cls, view: SharedView, node: Node) -> Rows:
        columns = view.buffer.shape[-1]
        size = DTYPE_BYTES[view.buffer.dtype]
        swizzle = view.buffer.swizzle
        if swizzle is not None:
            if swizzle.hardware is not None:
                raise unsupported(node, f"the {swizzle.hardware} swizzle belongs to sm_90a", "use xor(chunks, unit=)")
            if columns % (swizzle.chunks * swizzle.unit):
                raise unsupported(
                    node, f"{swizzle.chunks} chunks of {swizzle.unit} elements do not tile rows of {columns}"
                )
        return cls(columns + view.buffer.pad, swizzle, size, columns)

    @property
    def repeat(self) -> int:
        """Consecutive rows that share one permutation."""
        assert self.swizzle is not None
        return self.swizzle.rows_for(self.columns * self.bytes)

    @property
    def period(self) -> int:
        return 1 if self.swizzle is None else self.repeat * self.swizzle.chunks

    def vector(self, wanted: int) -> int:
        """The longest run of up to `wanted` elements that stays together and aligned."""
        unit = wanted if self.swizzle is None else self.swizzle.unit
        return gcd(wanted, unit, self.pitch, 16 // self.bytes)

    def place(self, row: Tir, column: Tir, vector: int) -> Tir:
        """Offset in vectors of `vector` elements; `column` counts vectors too."""
        at = row * (self.pitch // vector)
        if self.swizzle is None:
            return at + column
        unit = self.swizzle.unit // vector
        turn = row // self.repeat % self.swizzle.chunks
        return at + tir.xor(column // unit, turn) * unit + column % unit

    def logical_column(self, row: Tir, column: Tir, vector: int) -> Tir:
        """The column that lies at place `column` of a row, in vectors: XOR is its own inverse."""
        if self.swizzle is None:
            return column
        unit = self.swizzle.unit // vector
        turn = row // self.repeat % self.swizzle.chunks
        return tir.xor(column // unit, turn) * unit + column % unit


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a vector lies: `register` (in vectors, per thread) and `constant` (in vectors)."""

    register: Tir
    constant: int

    def index(self, vector: int) -> Tir:
        """In elements; the factor shows the alignment."""
        return self.register * vector + self.constant * vector


def shared(ctx: Context, view: View) -> tuple[SharedView, Tir, Rows]:
    """A shared view, the LDS object of its stage, and the layout of its rows."""
    resolved = shared_view(view, ctx.types, ctx.indices)
    return resolved, ctx.lds(resolved, view), Rows.of(resolved, view)


def cell(
    ctx: Context,
    rows: Rows,
    vector: int,
    row: tuple[Tir, int],
    column: tuple[Tir, int],
    key: Hashable,
    name: str,
) -> Cell:
    """The place of a vector at row + constant, column + constant (in vectors); `key` identifies the variable parts.

    Rows that a whole number of swizzle periods separates differ by a constant, and so do all columns of an unswizzled
    row: those share a register.
    """
    (base, steps), (first, across) = row, column
    rest = steps % rows.period
    constant = (steps - rest) * (rows.pitch // vector)
    if rows.swizzle is None:
        constant, across = constant + across, 0
    register = ctx.emit.hoist(
        (key, rows, vector, rest, across), name, lambda: rows.place(base + rest, first + across, vector)
    )
    return Cell(register, constant)
