"""Places in LDS: rows with padding and swizzle, as one register and a constant wherever the layout allows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import gcd

from argus.dsl.ir import Node, View
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Swizzle
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.context import Context
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
        return self.swizzle.rows_for(self.pitch * self.bytes)

    @property
    def period(self) -> int:
        return 1 if self.swizzle is None else self.repeat * self.swizzle.chunks

    def vector(self, wanted: int, start: int = 0) -> int:
        """The longest run of up to `wanted` elements, from column `start` on, that stays together and aligned."""
        unit = wanted if self.swizzle is None else self.swizzle.unit
        return gcd(wanted, unit, self.pitch, 16 // self.bytes, start)

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
class Place:
    """A vector's row and column, each a value per thread and a constant; columns count vectors."""

    row: Tir
    rows_down: int
    column: Tir
    columns_across: int


def shared(ctx: Context, view: View) -> tuple[SharedView, Tir, Rows]:
    """A shared view, the LDS object of its stage, and the layout of its rows."""
    resolved = shared_view(view, ctx.types, ctx.indices)
    return resolved, ctx.lds(resolved, view), Rows.of(resolved, view)


def index(ctx: Context, rows: Rows, vector: int, place: Place, key: Hashable, *, name: str = "lds_at") -> Tir:
    """Where a vector lies, in elements; a factor shows the alignment. `key` identifies the values per thread.

    Rows that a whole number of swizzle periods separates differ by a constant, and so do all columns of an unswizzled
    row: those share a register.
    """
    rest, across = place.rows_down % rows.period, place.columns_across
    constant = (place.rows_down - rest) * (rows.pitch // vector)
    if rows.swizzle is None:
        constant, across = constant + across, 0
    register = ctx.emit.hoist(
        (key, rows, vector, rest, across), name, lambda: rows.place(place.row + rest, place.column + across, vector)
    )
    return register * vector + constant * vector
