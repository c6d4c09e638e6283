"""Where matrix instructions keep their elements: closed forms from (row, column, k) to (lane, register slot).

These are the forward formulas of the hardware manuals; tables of the inverse direction are filled by scattering. The
checker derives its tables separately (`argus.dsl.tags`), and tests compare the two.

Source:
    reference mi300x.md section 6 (MFMA) and h200.md section 3 (wgmma).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from argus.dsl.interp.arrays import Ints
from argus.dsl.layout import Accumulator, OperandMap, Side

WAVES_PER_GROUP = 4  # a wgmma instruction is issued by four warps


@dataclass(frozen=True, slots=True)
class Atom:
    """One matrix instruction: D (m x n) += A (m x k) B (k x n)."""

    m: int
    n: int
    k: int
    warpgroup: bool
    lanes: int = 64

    @property
    def rows_per_wave(self) -> int:
        return self.m // WAVES_PER_GROUP if self.warpgroup else self.m

    @property
    def k_per_lane(self) -> int:
        """Consecutive k that one MFMA lane holds."""
        return self.k * self.m // 64


@cache
def parse_atom(text: str) -> Atom:
    """`32x32x8` (MFMA), `m64n256k16` (wgmma) or `m16n8k16` (mma.sync).

    Raises:
        ValueError: If the text names no shape known here.
    """
    if match := re.fullmatch(r"m64n(\d+)k(8|16|32)", text):
        return Atom(64, int(match[1]), int(match[2]), warpgroup=True, lanes=32)
    if text == "m16n8k16":
        return Atom(16, 8, 16, warpgroup=False, lanes=32)
    match = re.fullmatch(r"(16|32)x(16|32)x(\d+)", text)
    if not match or match[1] != match[2] or int(match[3]) * int(match[1]) % 64:
        raise ValueError(f"unknown MMA atom {text!r}")
    return Atom(int(match[1]), int(match[2]), int(match[3]), warpgroup=False)


def accumulator_place(atom: Atom, row: Ints, column: Ints) -> tuple[Ints, Ints]:
    """(lane, slot) of D[row, column] of one atom; for wgmma, row counts from the wave's own 16."""
    if atom.lanes == 32:
        lane = row % 8 * 4 + column % 8 // 2
        return lane, column // 8 * 4 + row // 8 * 2 + column % 2
    if atom.m == 32:
        return row // 4 % 2 * 32 + column, row // 8 * 4 + row % 4
    return row // 4 * 16 + column, row % 4


def mfma_operand_place(row: Ints, k: Ints, atom_rows: int, k_per_lane: int) -> tuple[Ints, Ints]:
    """(lane, slot) of A[row, k], or of B[k, row], of one MFMA whose lanes hold `k_per_lane` consecutive k."""
    return k // k_per_lane * atom_rows + row, k % k_per_lane


def pair_place(row: Ints, k: Ints, depth: int, rows: int = 16) -> tuple[Ints, Ints]:
    """(lane, slot) of an operand of a warp in registers: A of wgmma and of mma.sync, and its B, of 8 rows.

    `depth` is the atom's k: 8 for tf32, 16 for 16-bit, 32 for 8-bit.
    """
    pair = depth // 8  # consecutive k of a lane: 1, 2 or 4
    half = depth // 2
    return row % 8 * 4 + k % half // pair, k % pair + pair * (row // 8) + rows // 8 * pair * (k // half)


@dataclass(frozen=True, slots=True)
class AccumulatorTile:
    """One wave's part of an accumulator.

    Attributes:
        rows, columns: The block-tile coordinates of the wave's matrix rows and columns.
        place: `lane * slots + slot` of each element of the wave's matrix.
    """

    rows: Ints
    columns: Ints
    place: Ints
    slots: int


@dataclass(frozen=True, slots=True)
class OperandTile:
    """One wave's operand registers for `pack` atoms along k.

    Attributes:
        rows: The block-tile coordinates along the operand's side.
        loaded: `lane * slots + slot` that holds (row, k), as the operand is read from memory.
        consumed: `lane * slots + slot` that the h-th MFMA takes as its own (row, kk), at column h * K + kk.
    """

    rows: Ints
    loaded: Ints
    consumed: Ints
    slots: int


def _wave_part(acc: Accumulator, atom: Atom, position: int) -> tuple[Ints, Ints]:
    """Rows and columns of the block tile that the wave at `position` of its team owns."""
    gm, gn = acc.grid
    group, quarter = divmod(position, WAVES_PER_GROUP) if atom.warpgroup else (position, 0)
    if group >= gm * gn:
        return np.arange(0), np.arange(0)
    i, j = divmod(group, gn)
    atom_rows = np.arange(atom.rows_per_wave) + quarter * atom.rows_per_wave
    own = (np.arange(acc.m // gm // atom.m)[:, None] * atom.m + atom_rows).reshape(-1)
    return i * (acc.m // gm) + own, j * (acc.n // gn) + np.arange(acc.n // gn)


def accumulator_tile(acc: Accumulator, position: int) -> AccumulatorTile:
    """Slots run over the wave's atoms row-major, then over one atom's registers."""
    atom = parse_atom(acc.atom)
    rows, columns = _wave_part(acc, atom, position)
    p, row = np.divmod(np.arange(len(rows))[:, None], atom.rows_per_wave)
    q, column = np.divmod(np.arange(len(columns))[None, :], atom.n)
    lane, register = accumulator_place(atom, row, column)
    registers = atom.rows_per_wave * atom.n // atom.lanes
    across = max(1, len(columns) // atom.n)
    slots = len(rows) * len(columns) // atom.lanes
    return AccumulatorTile(rows, columns, lane * slots + (p * across + q) * registers + register, slots)


def operand_tile(operand: OperandMap, position: int) -> OperandTile:
    """Slots run over the wave's atoms along the operand's side, then over the lane's k.

    Raises:
        ValueError: For a wgmma B operand, which lives in shared memory alone.
    """
    atom = parse_atom(operand.acc.atom)
    rows, columns = _wave_part(operand.acc, atom, position)
    side_rows = rows if operand.side == "a" else columns
    k = np.arange(atom.k * operand.pack)[None, :]
    h, kk = np.divmod(k, atom.k)
    if atom.lanes == 32:
        if atom.warpgroup and operand.side == "b":
            raise ValueError("wgmma reads its B operand from shared memory")
        size = atom.rows_per_wave if operand.side == "a" else atom.n
        p, row = np.divmod(np.arange(len(side_rows))[:, None], size)
        lane, slot = pair_place(row, kk, atom.k, size)
        per_atom = size * atom.k // atom.lanes
        slots = len(side_rows) // size * per_atom * operand.pack
        place = lane * slots + (p * operand.pack + h) * per_atom + slot
        return OperandTile(side_rows, place, place, slots)
    p, row = np.divmod(np.arange(len(side_rows))[:, None], atom.m)
    run = atom.k_per_lane * operand.pack
    slots = len(side_rows) // atom.m * run
    lane, slot = mfma_operand_place(row, k, atom.m, run)
    loaded = lane * slots + p * run + slot
    lane, slot = mfma_operand_place(row, kk, atom.m, atom.k_per_lane)
    consumed = lane * slots + p * run + h * atom.k_per_lane + slot
    return OperandTile(side_rows, loaded, consumed, slots)


def side_extent(acc: Accumulator, side: Side) -> int:
    """Rows of operand "a", or columns of operand "b", that an accumulator takes."""
    return acc.m if side == "a" else acc.n
