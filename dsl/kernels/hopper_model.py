"""Which schedules of the sm_90a GEMM family to try at given sizes: a closed form that proposes and never rewards."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache

from argus.dsl.kernels.hopper_schedule import BYTES, STEP, WGMMA_DEPTH, HopperGemmSchedule

# What `predict` takes for granted.
SMS = 132
CLOCK_MHZ = 1500.0  # under load
LOAD_COST = 0.15  # the clock falls with the power that loads take: 128x128 tiles against 128x256
L2_BYTES_PER_CLK = 60.0  # a multiprocessor's share
TILE_CLK = 2500.0  # until the first MMA, and the epilogue
HBM_BYTES_PER_US = 4.2e6
LAUNCH_US = 2.0
MMA_SYNC_SHARE = 0.6  # of wgmma's rate


def predict(schedule: HopperGemmSchedule, sizes: Mapping[str, int]) -> float:
    """Microseconds by a closed form, used only to propose: tiles in turns of all multiprocessors, or HBM.

    A tile takes as long as its MMAs, or as its share of L2's bandwidth. Constants are round numbers of an H200 under
    load; `LOAD_COST` and `CLOCK_MHZ` follow from evals/results/h200-gemm-2026-11-29.json.
    """
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    bm, bn, bk = schedule.tile
    tiles = -(-m // bm) * -(-n // bn)
    turns = -(-tiles // SMS)
    depth = -(-k // bk)
    multiply = _multiply_clk(schedule)
    load = (min(bm, m) + bn) * bk * BYTES / L2_BYTES_PER_CLK
    tile = depth * max(multiply + LOAD_COST * load, load) + TILE_CLK
    # Idle multiprocessors leave bandwidth to the others, who use some of it.
    hbm = BYTES * (m * k + n * k + m * n) / HBM_BYTES_PER_US * (turns * SMS / tiles) ** 0.5
    return LAUNCH_US + max(turns * tile / CLOCK_MHZ, hbm)


def _multiply_clk(schedule: HopperGemmSchedule) -> float:
    """Clocks that the tensor cores take for one stage of a tile."""
    bm, bn, bk = schedule.tile
    if schedule.engine == "mma":
        return bm * bn * bk / (64 * STEP * 2) / MMA_SYNC_SHARE
    rows, columns = schedule.rows * schedule.consumers, schedule.columns
    return rows // 64 * (bk // STEP) * max(columns / 2, (64 + columns) / 4)


def proposals(sizes: Mapping[str, int], count: int = 2) -> tuple[HopperGemmSchedule, ...]:
    """The schedules that `predict` likes best at these sizes, best first.

    Among equals those that keep more multiprocessors busy, waste less of their tiles, and are wider.
    """

    def rank(s: HopperGemmSchedule) -> tuple[float, ...]:
        (bm, bn, _), (m, n) = s.tile, (sizes["M"], sizes["N"])
        tiles = -(-m // bm) * -(-n // bn)
        return round(predict(s, sizes), 1), -min(tiles, SMS), tiles * bm * bn, -bn

    return tuple(sorted(space(), key=rank)[:count])


@cache
def space() -> tuple[HopperGemmSchedule, ...]:
    """Every tile, with the most stages that fit."""
    out: list[HopperGemmSchedule] = []
    for consumers, rows in ((2, 64), (1, 64), (2, 128)):
        for columns in range(64, 257, 32):
            out += _fullest((rows * consumers, columns, WGMMA_DEPTH), consumers, swap=False)
    for consumers in (1, 2):
        for columns in (16, 32, 64, 128, 192, 256):
            out += _fullest((columns, 64 * consumers, WGMMA_DEPTH), consumers, swap=True)
    return tuple(out)


def _fullest(tile: tuple[int, int, int], consumers: int, *, swap: bool) -> list[HopperGemmSchedule]:
    """The schedule of this tile with the most stages, at most 20; none where it is not legal."""
    for stages in range(20, 2, -1):
        with suppress(ValueError):
            fields = {"tile": tile, "consumers": consumers, "stages": stages, "swap": swap}
            return [HopperGemmSchedule.model_validate(fields)]
    return []
