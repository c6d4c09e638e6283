"""The registers of all dense CDNA3 MFMAs and of wgmma against closed formulas from element to register.

The layouts go from register to element, so that the two share nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

from argus.dsl.interp.fragments import accumulator_tile, operand_tile, parse_atom
from argus.dsl.layout import Accumulator, OperandMap
from argus.dsl.layout.algebra import Layout, gf2
from argus.dsl.layout.algebra.layout import Table
from argus.dsl.layout.algebra.matrix import mfma_accumulator, mfma_operand, wgmma_a, wgmma_accumulator
from argus.dsl.tags.tables import places
from argus.dsl.targets.atoms import ATOMS, MFMA, WGMMA

# m (= n), k, blocks, and the types of the operands.
HALF, EIGHT = ("f16", "bf16"), ("fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8")
INSTRUCTIONS = [
    (m, k, blocks, dtype)
    for m, k, blocks, dtypes in (
        (32, 8, 1, HALF), (16, 16, 1, HALF), (32, 4, 2, HALF), (16, 4, 4, HALF), (4, 4, 16, HALF),
        (32, 16, 1, (*EIGHT, "i8")), (16, 32, 1, (*EIGHT, "i8")),
        (32, 4, 2, ("i8",)), (16, 4, 4, ("i8",)), (4, 4, 16, ("i8",)),
        (32, 4, 1, ("xf32",)), (16, 8, 1, ("xf32",)),
        (32, 2, 1, ("f32",)), (16, 4, 1, ("f32", "f64")),
        (32, 1, 2, ("f32",)), (16, 1, 4, ("f32",)), (4, 1, 16, ("f32",)), (4, 4, 4, ("f64",)),
    )
    for dtype in dtypes
]  # fmt: skip


def operand_register(shape: tuple[int, int, int], i: int, kk: int, b: int) -> tuple[int, int]:
    """(lane, slot) of A[i, kk] of block b; shape is m, k and blocks."""
    m, k, blocks = shape
    held = k * m * blocks // 64
    return kk // held * (m * blocks) + b * m + i, kk % held


def accumulator_register(m: int, i: int, j: int, b: int, dtype: str) -> tuple[int, int]:
    """(lane, slot) of D[i, j] of block b."""
    if dtype == "f64":
        return (16 * (i % 4) + j, i // 4) if m == 16 else (16 * i + 4 * b + j, 0)
    if m == 4:
        return 4 * b + j, i
    if m == 16:
        return 16 * (i // 4) + j, 4 * b + i % 4
    return 32 * (i // 4 % 2) + j, 16 * b + 4 * (i // 8) + i % 4


def test_there_are_32_of_them_with_all_their_positions() -> None:
    assert len(INSTRUCTIONS) == 32
    assert sum((2 * m * k + m * m) * b for m, k, b, _ in INSTRUCTIONS) == 43_456


@pytest.mark.parametrize(("m", "k", "blocks", "dtype"), INSTRUCTIONS)
def test_mfma_registers_hold_what_the_formulas_say(m: int, k: int, blocks: int, dtype: str) -> None:
    operand, accumulator = mfma_operand(m, k, blocks), mfma_accumulator(m, blocks, f64=dtype == "f64")
    assert operand.size == m * k * blocks
    assert accumulator.size == m * m * blocks
    for b in range(blocks):
        for i in range(m):
            for kk in range(k):
                assert operand(operand_register((m, k, blocks), i, kk, b)) == i + m * (kk + k * b)
            for j in range(m):
                assert accumulator(accumulator_register(m, i, j, b, dtype)) == i + m * (j + m * b)


@pytest.mark.parametrize(("m", "k", "blocks", "dtype"), INSTRUCTIONS)
def test_mfma_registers_are_linear_over_bits_and_hold_each_element_once(
    m: int, k: int, blocks: int, dtype: str
) -> None:
    for held in (mfma_operand(m, k, blocks), mfma_accumulator(m, blocks, f64=dtype == "f64")):
        matrix = gf2(held)
        assert (matrix.inverse() @ matrix).columns == tuple(1 << bit for bit in range(len(matrix.columns)))


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_wgmma_accumulators_hold_what_the_formula_says(n: int) -> None:
    held = wgmma_accumulator(n)
    assert sorted(held.table()) == list(range(64 * n))
    i, j = np.arange(64)[:, None], np.arange(n)
    thread, slot = 32 * (i // 16) + i % 8 * 4 + j % 8 // 2, j // 8 * 4 + i // 8 % 2 * 2 + j % 2
    assert np.array_equal(held.table()[thread + 128 * slot], i + 64 * j)


@pytest.mark.parametrize("k", [8, 16, 32])
def test_wgmma_operands_in_registers_hold_what_the_formula_says(k: int) -> None:
    held, run = wgmma_a(k), k // 8
    assert sorted(held.table()) == list(range(64 * k))
    for i in range(64):
        for kk in range(k):
            thread = 32 * (i // 16) + i % 8 * 4 + kk % (k // 2) // run
            slot = kk % run + run * (i // 8 % 2) + 2 * run * (kk // (k // 2))
            assert held((thread, slot)) == i + 64 * kk


# ----------------------------------------------------------------------- the tables of checker and interpreter

SINGLE = [a for a in MFMA if a.blocks == 1]


def registers(held: Layout, lanes: int = 64) -> Table:
    """Elements by lane and slot."""
    return held.table().reshape(-1, lanes).T


@pytest.mark.parametrize("name", [a.name for a in SINGLE])
def test_the_checkers_tables_are_these_layouts(name: str) -> None:
    a = ATOMS[name]
    acc = Accumulator(a.name, a.m, a.n, (1, 1))
    column, row = np.divmod(registers(mfma_accumulator(a.m)), a.m)
    assert np.array_equal(places(acc, (a.m, a.n), 64).element, row * a.n + column)
    k, row = np.divmod(registers(mfma_operand(a.m, a.k)), a.m)
    for side in ("a", "b"):
        assert np.array_equal(places(OperandMap(side, acc), (a.m, a.k), 64).element, row * a.k + k)


@pytest.mark.parametrize("name", [a.name for a in SINGLE] + [a.name for a in WGMMA if a.n in (8, 24, 64, 128, 256)])
def test_the_interpreters_places_are_these_layouts(name: str) -> None:
    atom = parse_atom(name)
    acc = Accumulator(name, atom.m, atom.n, (1, 1))
    lanes = atom.lanes
    whole = wgmma_accumulator(atom.n) if atom.warpgroup else mfma_accumulator(atom.m)
    operand = wgmma_a(atom.k) if atom.warpgroup else mfma_operand(atom.m, atom.k)
    for wave in range(4 if atom.warpgroup else 1):
        tile = accumulator_tile(acc, wave)
        want = registers(whole, whole[0].size)[wave * lanes : (wave + 1) * lanes].reshape(-1)
        assert np.array_equal(want[tile.place], tile.rows[:, None] + atom.m * tile.columns[None, :])
        read = operand_tile(OperandMap("a", acc), wave)
        want = registers(operand, operand[0].size)[wave * lanes : (wave + 1) * lanes].reshape(-1)
        assert np.array_equal(want[read.loaded], read.rows[:, None] + atom.m * np.arange(atom.k)[None, :])
