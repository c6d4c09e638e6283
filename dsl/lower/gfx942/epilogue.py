"""Accumulators to global memory.

Element (i, j) of an atom lies in register r of lane l with i = 8 (r // 4) + 4 (l // N) + r % 4 and j = l % N: four
registers hold four consecutive rows. Where rows of the accumulator are contiguous in memory these are one store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argus.dsl.ir import Store
from argus.dsl.layout import Accumulator, Const, Expr, Op
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import global_memory as memory
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.context import Context, Fragment, accumulator_atoms
from argus.dsl.lower.gfx942.index import product
from argus.dsl.lower.gfx942.operands import wave_place
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import is_shared
from argus.dsl.targets.atoms import ATOMS

ROWS = 4  # consecutive rows in consecutive registers


@dataclass(frozen=True, slots=True)
class Register:
    """One accumulator register: its slot and the constant part of its row and column."""

    slot: int
    row: int
    column: int


def registers(acc: Accumulator) -> Iterator[Register]:
    """The registers of an accumulator, with row and column of each for lane 0."""
    atom = ATOMS[acc.atom]
    rows, columns = accumulator_atoms(acc)
    for p in range(rows):
        for r in range(atom.d_regs):
            for q in range(columns):
                slot = (p * columns + q) * atom.d_regs + r
                yield Register(slot, p * atom.m + 8 * (r // ROWS) + r % ROWS, q * atom.n)


def store_accumulator(ctx: Context, fragment: Fragment, node: Store) -> None:
    """`store(view, acc)`."""
    if is_shared(node.view, ctx.types):
        raise unsupported(node, "accumulators are stored to global memory only, yet")
    acc = fragment.type.map
    assert isinstance(acc, Accumulator)
    tile = memory.tile(ctx, node.view)
    if tile.view.param.dtype != fragment.type.dtype:
        raise unsupported(
            node, f"{fragment.type.dtype} registers are not {tile.view.param.dtype}", "convert them with .to(dtype)"
        )
    out = _Stores(ctx, tile, fragment, _lane_place(ctx, acc))
    if tile.minor == 0 and out.whole_vectors():
        for register in registers(acc):
            if register.row % ROWS == 0:
                out.vector(register, ROWS)
    elif tile.bytes == memory.LANE_BYTES:
        for register in registers(acc):
            out.vector(register, 1)
    else:
        for register in registers(acc):
            out.single(register)


def _lane_place(ctx: Context, acc: Accumulator) -> tuple[Tir, Tir]:
    """Row and column of the lane's register 0 in the block's tile, kept in registers from here on."""
    atom = ATOMS[acc.atom]
    rows, columns = accumulator_atoms(acc)
    grid_row, grid_column = wave_place(ctx, acc)
    row = grid_row * (rows * atom.m) + ctx.lane // atom.n * ROWS
    column = grid_column * (columns * atom.n) + ctx.lane % atom.n
    return ctx.emit.keep("row", row), ctx.emit.keep("column", column)


class _Stores:
    def __init__(self, ctx: Context, tile: memory.Tile, fragment: Fragment, place: tuple[Tir, Tir]) -> None:
        self.ctx, self.tile, self.fragment, self.place = ctx, tile, fragment, place
        self.voff = ctx.emit.keep("voff", memory.lane_offset(ctx, tile, place))

    def whole_vectors(self) -> bool:
        tile, facts = self.tile, self.ctx.facts
        minor, major = tile.axes[0], tile.axes[1]
        return all(facts.divides(ROWS, e) for e in (*minor.limits, minor.start, major.stride, tile.view.offset))

    def vector(self, register: Register, lanes: int) -> None:
        """Registers of one lane that lie side by side in memory. The constant part of the place is scalar."""
        moved = [
            Op("*", (Const(c), a.stride)) for c, a in zip((register.row, register.column), self.tile.axes, strict=True)
        ]
        soff = memory.scalar_offset(self.ctx, self.tile, Op("+", (moved[0], moved[1])))
        voff = memory.masked(self.voff, self._inside(register))
        value = self.fragment.load(register.slot, lanes)
        memory.write(self.ctx, self.tile, value, (voff, soff), lanes * self.tile.bytes)

    def single(self, register: Register) -> None:
        """Elements narrower than what buffer stores here move: one by one, behind a branch."""
        row, column = (p + c for p, c in zip(self.place, (register.row, register.column), strict=True))
        ctx, axes = self.ctx, self.tile.axes
        base: Expr = self.tile.view.offset
        for axis in axes:
            base = Op("+", (base, product([axis.start, axis.stride])))
        index = ctx.indices.wide(base)
        for coordinate, axis in zip((row, column), axes, strict=True):
            index = index + tir.cast("int64", coordinate) * ctx.indices.wide(axis.stride)
        value = self.fragment.load(register.slot)
        if self.tile.view.param.dtype == "bf16":
            value = tir.reinterpret("bfloat16", value)
        statement = tir.store(ctx.tensors[self.tile.view.param.name], value, index)
        condition = tir.both(self._inside(register))
        ctx.emit.add(statement if condition is None else tir.branch(condition, statement))

    def _inside(self, register: Register) -> list[Tir]:
        found: list[Tir] = []
        for axis, place, constant in zip(self.tile.axes, self.place, (register.row, register.column), strict=True):
            found += memory.inside(self.ctx, axis, place, Const(constant))
        return found
