"""The registers of matrix instructions as layouts: (lane, slot) to an element, columns of the matrix one after another.

An element of A is row + m * (k + depth * block), of B the same with its column as row, of D row + m * (column + n *
block).

Source:
    AMD's matrix instruction calculator for CDNA3; the register fragments of the PTX manual for wgmma.
"""

from __future__ import annotations

from argus.dsl.layout.algebra.layout import Layout

LANES = 64


def mfma_operand(m: int, k: int, blocks: int = 1) -> Layout:
    """A of a dense MFMA with m rows, or B with m columns: each lane holds consecutive k of one row."""
    held = k * m * blocks // LANES
    groups = LANES // (m * blocks)
    return Layout(((m, blocks, groups), held), ((1, m * k, m * held), m))


def mfma_accumulator(m: int, blocks: int = 1, *, f64: bool = False) -> Layout:
    """D of a dense m x m MFMA; registers of f64 are pairs, numbered as one slot.

    Raises:
        ValueError: If there is no such instruction.
    """
    match m, blocks, f64:
        case 4, 4, True:  # 4x4x4_4b
            return Layout(((4, 4, 4), 1), ((4, 16, 1), 0))
        case 16, 1, True:  # rows interleaved by lane group
            return Layout(((16, 4), 4), ((16, 1), 4))
        case 4, 16, False:
            return Layout(((4, 16), 4), ((4, 16), 1))
        case 16, _, False:
            return Layout(((16, 4), (4, blocks)), ((16, 4), (1, 256)))
        case 32, _, False:
            return Layout(((32, 2), (4, 4, blocks)), ((32, 4), (1, 8, 1024)))
        case _:
            raise ValueError(f"no MFMA has accumulators of {blocks} blocks of {m} rows")


def wgmma_accumulator(n: int) -> Layout:
    """D of wgmma m64n{n}: (thread of the warpgroup, slot) to row + 64 * column."""
    return Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))


def wgmma_a(k: int) -> Layout:
    """A in registers of wgmma with depth k: (thread of the warpgroup, slot) to row + 64 * k; pairs of 32 bits."""
    held = k // 8  # consecutive k of a register
    return Layout(((4, 8, 4), (held, 2, 2)), ((64 * held, 1, 16), (64, 8, 32 * k)))
