"""Which thread and slot holds which element of a fragment: the checker's own tables of the hardware maps.

The formulas are those of AMD's matrix instruction calculator for CDNA3 (16-bit operands, 32-bit accumulators):

    A, B:     row or column = lane % M, k = k_lane * (lane // M) + slot
    D 16x16:  row = 4 * (lane // 16) + r % 4,                       column = lane % 16
    D 32x32:  row = 8 * (r // 4) + 4 * (lane // 32) + r % 4,        column = lane % 32

The interpreter computes the same maps from the same specification, in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from argus.dsl.layout import Accumulator, FragMap, Linear, OperandMap, Uniform, WithoutAxis
from argus.dsl.tags.domain import Ints
from argus.dsl.targets.atoms import ATOMS

LANES = 64


class NoTable(Exception):
    """A map that this slice of the checker has no table for; the message names it."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where a fragment's elements live.

    Attributes:
        element: Flat logical element that (thread, slot) holds, -1 for none; threads x slots.
        waves: For each element the set of waves that hold it, as bits.
    """

    element: Ints
    waves: Ints

    def thread_of(self, element: int) -> tuple[int, int]:
        """The first thread, and its slot, that holds an element."""
        thread, slot = np.argwhere(self.element == element)[0]
        return int(thread), int(slot)


@cache
def _atom_operand(atom: str, pack: int) -> tuple[Ints, Ints]:
    """(row, k) of each (lane, slot) of an operand of `pack` merged k-steps."""
    a = ATOMS[atom]
    if a.target != "gfx942" or a.blocks != 1:
        raise NoTable(f"operands of the {atom} instruction")
    lane, slot = np.arange(LANES)[:, None], np.arange(a.k_lane * pack)[None, :]
    return lane % a.m + 0 * slot, a.k_lane * pack * (lane // a.m) + slot


@cache
def _atom_accumulator(atom: str) -> tuple[Ints, Ints]:
    """(row, column) of each (lane, register) of the accumulator."""
    a = ATOMS[atom]
    lane, r = np.arange(LANES)[:, None], np.arange(a.d_regs)[None, :]
    if a.target != "gfx942" or a.blocks != 1 or (a.m, a.n) not in ((16, 16), (32, 32)):
        raise NoTable(f"accumulators of the {atom} instruction")
    row = 4 * (lane // 16) + r % 4 if a.m == 16 else 8 * (r // 4) + 4 * (lane // 32) + r % 4
    return row, lane % a.n + 0 * r


def places(
    hardware: FragMap, shape: tuple[int, ...], threads: int, lost: tuple[int, ...] = (), *, owned: bool = False
) -> Places:
    """The table of a map for a fragment of this shape in a block of `threads` threads.

    Args:
        hardware: The map.
        shape: Of the fragment.
        threads: Of the block.
        lost: Extents of the axes that `hardware` is without, in the order in which they went.
        owned: Of threads that hold equal values only those that write them: the first along each such axis.

    Raises:
        NoTable: If the map is not one of this slice.
    """
    match hardware:
        case Linear(vector):
            element = _linear(vector, shape, threads)
        case Accumulator():
            element = _accumulator(hardware, threads)
        case OperandMap():
            element = _operand(hardware, threads)
        case WithoutAxis(of, axis) if lost:
            full = (*shape[:axis], lost[-1], *shape[axis:])
            element = _without(places(of, full, threads, lost[:-1], owned=owned).element, full, axis, owned=owned)
        case Uniform():
            element = np.zeros((threads, 1), np.int64)
        case _:
            raise NoTable(f"the register map {type(hardware).__name__}")
    return Places(element, _wave_sets(element, int(np.prod(shape, dtype=np.int64))))


def _without(element: Ints, full: tuple[int, ...], axis: int, *, owned: bool) -> Ints:
    """Elements of a reduced fragment: whatever of the axis a slot held, it now holds what is left."""
    at = np.array(np.unravel_index(np.maximum(element, 0), full))
    left = tuple(np.delete(at, axis, 0))
    shape = full[:axis] + full[axis + 1 :]
    flat = np.ravel_multi_index(left, shape) if shape else np.zeros(element.shape, np.int64)
    held = (element >= 0) & (at[axis] == 0) if owned else element >= 0
    return np.where(held, flat, -1)


def _linear(vector: int, shape: tuple[int, ...], threads: int) -> Ints:
    size = int(np.prod(shape, dtype=np.int64))
    rounds = -(-size // (vector * threads))
    chunk = np.arange(rounds)[None, :, None] * threads + np.arange(threads)[:, None, None]
    element = (chunk * vector + np.arange(vector)[None, None, :]).reshape(threads, rounds * vector)
    return np.where(element < size, element, -1)


def _wave_grid(acc: Accumulator, threads: int) -> tuple[Ints, Ints]:
    rows, columns = acc.grid
    waves = threads // LANES
    if rows * columns != waves:
        raise NoTable(f"a {rows}x{columns} grid of waves in a block of {waves}")
    wave = np.arange(waves)
    return wave // columns, wave % columns


def _accumulator(acc: Accumulator, threads: int) -> Ints:
    atom = ATOMS[acc.atom]
    row, column = _atom_accumulator(acc.atom)
    wave_row, wave_column = _wave_grid(acc, threads)
    rows, columns = acc.m // acc.grid[0], acc.n // acc.grid[1]
    p, q = np.arange(rows // atom.m), np.arange(columns // atom.n)
    # axes: wave, lane, atom row, atom column, register
    i = wave_row[:, None, None, None, None] * rows + p[:, None, None] * atom.m + row[:, None, None, :]
    j = wave_column[:, None, None, None, None] * columns + q[None, :, None] * atom.n + column[:, None, None, :]
    return (i * acc.n + j).reshape(threads, -1)


def _operand(operand: OperandMap, threads: int) -> Ints:
    acc = operand.acc
    atom = ATOMS[acc.atom]
    row, k = _atom_operand(acc.atom, operand.pack)
    wave_row, wave_column = _wave_grid(acc, threads)
    wave, extent, parts, size = (
        (wave_row, acc.m, acc.grid[0], atom.m) if operand.side == "a" else (wave_column, acc.n, acc.grid[1], atom.n)
    )
    own = extent // parts
    p = np.arange(own // size)
    # axes: wave, lane, atom, slot
    i = wave[:, None, None, None] * own + p[:, None] * size + row[:, None, :]
    return (i * (atom.k * operand.pack) + k[:, None, :]).reshape(threads, -1)


def _wave_sets(element: Ints, size: int) -> Ints:
    """For each element the waves that hold it, as bits."""
    waves = element.shape[0] // LANES
    sets = np.zeros(size + 1, np.int64)
    for wave, held in enumerate(element.reshape(waves, -1)):
        sets[held] |= 1 << wave  # a set has one bit a wave, so repeated elements do no harm
    return sets[:size]  # the last entry collects the slots that hold nothing
