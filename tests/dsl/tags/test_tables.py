"""The checker's hardware tables against the manual's formulas and the interpreter's own tables."""

from __future__ import annotations

import numpy as np
import pytest

from argus.dsl.interp.placement import Seat, slots_of
from argus.dsl.interp.values import whole
from argus.dsl.layout import Accumulator, FragMap, Linear, OperandMap
from argus.dsl.tags.tables import NoTable, places

ACCUMULATORS = (
    Accumulator("32x32x8", 128, 64, (2, 2)),
    Accumulator("16x16x16", 64, 128, (2, 2)),
    Accumulator("16x16x16", 224, 256, (2, 4)),
    Accumulator("32x32x8", 64, 32, (2, 1)),
)
MAPS: tuple[tuple[FragMap, tuple[int, ...], int], ...] = (
    *((acc, (acc.m, acc.n), 64 * acc.grid[0] * acc.grid[1]) for acc in ACCUMULATORS),
    *(
        (OperandMap(side, acc, pack), (acc.m if side == "a" else acc.n, k * pack), 64 * acc.grid[0] * acc.grid[1])
        for acc, k in zip(ACCUMULATORS, (8, 16, 16, 8), strict=True)
        for side in ("a", "b")
        for pack in (1, 2)
    ),
    (Linear(8), (128, 64), 256),
    (Linear(4), (48, 32), 256),  # the last round is not full
    (Linear(2), (7, 6), 64),
)


@pytest.mark.parametrize(("hardware", "shape", "threads"), MAPS)
def test_checker_and_interpreter_place_every_element_alike(
    hardware: FragMap, shape: tuple[int, ...], threads: int
) -> None:
    mine = places(hardware, shape, threads)
    for wave in range(threads // 64):
        slots = slots_of(whole(hardware, shape), Seat(wave, threads // 64, 64))
        theirs = np.broadcast_to(np.ravel_multi_index(slots.coords, shape), slots.dims)
        held = np.ones(slots.dims, np.bool_) if slots.held is None else slots.held
        assert np.array_equal(mine.element[64 * wave : 64 * wave + 64], np.where(held, theirs, -1))


@pytest.mark.parametrize(("hardware", "shape", "threads"), MAPS)
def test_wave_sets_name_the_waves_that_hold_an_element(hardware: FragMap, shape: tuple[int, ...], threads: int) -> None:
    table = places(hardware, shape, threads)
    for element in (0, 1, int(np.prod(shape)) // 2, int(np.prod(shape)) - 1):
        waves = {int(t) // 64 for t in np.argwhere(table.element == element)[:, 0]}
        assert table.waves[element] == sum(1 << w for w in waves)
        thread, slot = table.thread_of(element)
        assert table.element[thread, slot] == element


def test_every_element_of_an_accumulator_has_one_place() -> None:
    acc = ACCUMULATORS[0]
    table = places(acc, (acc.m, acc.n), 256)
    assert sorted(table.element.ravel()) == list(range(acc.m * acc.n))


def test_an_instruction_of_another_target_has_no_table() -> None:
    with pytest.raises(NoTable, match="m64n64k16"):
        places(Accumulator("m64n64k16", 64, 64, (1, 1)), (64, 64), 128)
