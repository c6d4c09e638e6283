"""Which (thread, slot) of a block holds which element of a fragment: the maps as specifications.

A map says *what* the placement is; tables are computed from it twice, independently: by the checker
(`argus.dsl.tags`) and by the interpreter (`argus.dsl.interp`), so that one mistake cannot hide in both.

Waves are numbered row-major over their grid: wave w works at (w // columns, w % columns).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Side = Literal["a", "b"]


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every thread holds the same single value (a scalar) or each its own copy of it."""


@dataclass(frozen=True, slots=True)
class Linear:
    """Chunks of `vector` consecutive elements, row-major over the tile, dealt to the threads in turn.

    Chunk c covers elements c*vector to (c+1)*vector - 1 of the flattened tile. Thread t's chunk number j is
    c = j * threads + t; its slots are j*vector to (j+1)*vector - 1. Where c exceeds the tile the slots hold nothing.
    """

    vector: int


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The D registers of an MMA atom tiled over an m x n block tile by a grid of waves.

    Wave (i, j) owns rows i*m/gm to (i+1)*m/gm - 1 and columns j*n/gn to (j+1)*n/gn - 1. Inside, atom (p, q)
    covers rows p*M, columns q*N; slots run over atoms row-major, then over the atom's own registers.
    """

    atom: str
    m: int
    n: int
    grid: tuple[int, int]


@dataclass(frozen=True, slots=True)
class OperandMap:
    """The A or B registers that feed an accumulator, for `pack` consecutive k-steps of the atom.

    The operand covers all k of `pack` atoms: K*pack wide. Slots run over the wave's atoms along its side, then
    over the lane's consecutive k. For one MFMA atom with `kl` k-values a lane, lane group g = lane // M (times
    blocks) holds k = kl*pack*g + slot, slot < kl*pack; MFMA number h of the pack consumes slots kl*h to kl*h+kl-1.
    With pack > 1 each MFMA therefore sees a permuted k, the same for both sides.
    """

    side: Side
    acc: Accumulator
    pack: int = 1


@dataclass(frozen=True, slots=True)
class WithoutAxis:
    """What is left of `of` when one axis is reduced: all threads that differ only along it hold equal values."""

    of: FragMap
    axis: int


FragMap = Uniform | Linear | Accumulator | OperandMap | WithoutAxis
