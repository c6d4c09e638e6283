"""Placement of matrix operands against the manuals' formulas in the other direction, register to element."""

from __future__ import annotations

import numpy as np
import pytest

from argus.dsl.interp.arrays import Ints
from argus.dsl.interp.fragments import Atom, accumulator_tile, operand_tile, parse_atom
from argus.dsl.layout import Accumulator, OperandMap, Side

MFMA = ["32x32x8", "16x16x16", "32x32x16", "16x16x32", "32x32x2", "16x16x4"]
WGMMA = ["m64n8k16", "m64n64k16", "m64n256k16", "m64n24k32", "m64n64k8"]


def one(atom: Atom, text: str) -> Accumulator:
    return Accumulator(text, atom.m, atom.n, (1, 1))


def lane_slot(place: Ints, slots: int) -> tuple[Ints, Ints]:
    lane, slot = np.divmod(place, slots)
    return lane, slot


@pytest.mark.parametrize("text", MFMA)
def test_mfma_accumulator_follows_the_register_formula(text: str) -> None:
    atom = parse_atom(text)
    tile = accumulator_tile(one(atom, text), 0)
    lane, r = lane_slot(tile.place, tile.slots)
    if atom.m == 32:
        row, column = 8 * (r // 4) + 4 * (lane // 32) + r % 4, lane % 32
    else:
        row, column = 4 * (lane // 16) + r % 4, lane % 16
    assert (row == np.arange(atom.m)[:, None]).all()
    assert (column == np.arange(atom.n)[None, :]).all()


@pytest.mark.parametrize("side", ["a", "b"])
@pytest.mark.parametrize("text", MFMA)
def test_mfma_operand_follows_the_register_formula(text: str, side: Side) -> None:
    atom = parse_atom(text)
    tile = operand_tile(OperandMap(side, one(atom, text)), 0)
    lane, slot = lane_slot(tile.loaded, tile.slots)
    assert (lane % atom.m == np.arange(atom.m)[:, None]).all()
    assert (atom.k_per_lane * (lane // atom.m) + slot == np.arange(atom.k)[None, :]).all()


@pytest.mark.parametrize("text", WGMMA)
@pytest.mark.parametrize("quarter", range(4))
def test_wgmma_accumulator_follows_the_register_formula(text: str, quarter: int) -> None:
    atom = parse_atom(text)
    tile = accumulator_tile(one(atom, text), quarter)
    lane, r = lane_slot(tile.place, tile.slots)
    row = 16 * quarter + lane // 4 + 8 * (r // 2 % 2)
    column = 8 * (r // 4) + 2 * (lane % 4) + r % 2
    assert (row == tile.rows[:, None]).all()
    assert (column == tile.columns[None, :]).all()
    assert list(tile.rows) == list(range(16 * quarter, 16 * quarter + 16))


@pytest.mark.parametrize(("text", "depth"), [("m64n64k16", 16), ("m64n64k32", 32), ("m64n64k8", 8)])
def test_wgmma_a_registers_follow_the_register_formula(text: str, depth: int) -> None:
    atom = parse_atom(text)
    tile = operand_tile(OperandMap("a", one(atom, text)), 2)
    lane, s = lane_slot(tile.loaded, tile.slots)
    row, k = {
        16: (lane // 4 + 8 * (s // 2 % 2), 2 * (lane % 4) + s % 2 + 8 * (s // 4)),
        32: (lane // 4 + 8 * (s // 4 % 2), 4 * (lane % 4) + s % 4 + 16 * (s // 8)),
        8: (lane // 4 + 8 * (s % 2), lane % 4 + 4 * (s // 2)),
    }[depth]
    assert (row + 32 == tile.rows[:, None]).all()
    assert (k == np.arange(depth)[None, :]).all()


def test_wgmma_has_no_b_registers() -> None:
    with pytest.raises(ValueError, match="shared memory"):
        operand_tile(OperandMap("b", Accumulator("m64n64k16", 64, 64, (1, 1))), 0)


@pytest.mark.parametrize("text", [*MFMA, *WGMMA])
def test_tiles_are_bijections(text: str) -> None:
    atom = parse_atom(text)
    grid = (2, 2)
    acc = Accumulator(text, 4 * atom.m, 2 * atom.n, grid)
    seen: set[tuple[int, int]] = set()
    for position in range(16 if atom.warpgroup else 4):
        tile = accumulator_tile(acc, position)
        assert sorted(tile.place.reshape(-1)) == list(range(atom.lanes * tile.slots))
        seen |= {(int(r), int(c)) for r in tile.rows for c in tile.columns}
    assert len(seen) == acc.m * acc.n


@pytest.mark.parametrize("pack", [1, 2, 4])
@pytest.mark.parametrize("text", ["32x32x8", "16x16x16", "16x16x32"])
def test_packed_operands_permute_k_alike_on_both_sides(text: str, pack: int) -> None:
    """Each MFMA of the pack sees every k once, in the same order for A and B."""
    atom = parse_atom(text)
    acc = Accumulator(text, 2 * atom.m, 2 * atom.n, (1, 1))
    orders: list[list[int]] = []
    for side in ("a", "b"):
        tile = operand_tile(OperandMap(side, acc, pack), 0)
        k_of_place = np.empty(64 * tile.slots, np.intp)
        k_of_place[tile.loaded] = np.arange(atom.k * pack)[None, :]
        row_of_place = np.empty(64 * tile.slots, np.intp)
        row_of_place[tile.loaded] = np.arange(2 * atom.m)[:, None]
        consumed = k_of_place[tile.consumed]
        assert (row_of_place[tile.consumed] == np.arange(2 * atom.m)[:, None]).all()
        assert (consumed == consumed[0]).all()
        orders.append([int(k) for k in consumed[0]])
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == list(range(atom.k * pack))


def test_accumulator_registers_are_the_next_operand_for_16_bit() -> None:
    """C registers 4t to 4t+3 of a 32x32 tile hold the k of k-step t."""
    acc = accumulator_tile(Accumulator("32x32x8", 32, 32, (1, 1)), 0)
    operand = operand_tile(OperandMap("b", Accumulator("32x32x8", 32, 32, (1, 1))), 0)
    for step in range(4):
        lane, r = lane_slot(acc.place[8 * step : 8 * step + 8, :], acc.slots)  # rows of C are k
        wanted_lane, slot = lane_slot(operand.loaded.T, operand.slots)
        assert (lane == wanted_lane).all()
        assert (r == 4 * step + slot).all()


def test_unknown_atoms_are_refused() -> None:
    for text in ("32x16x8", "4x4x4", "m64n64k64", "x"):
        with pytest.raises(ValueError, match="unknown MMA atom"):
            parse_atom(text)
