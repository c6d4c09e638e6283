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
LINE_BYTES = 128
PAIR_COST = 1.05  # of two blocks that wait for each other
SPLIT_COST = 1.85  # of loading rows that each lie in two lines of L2
MMA_SYNC_SHARE = 0.6  # of wgmma's rate

MULTIPLE = 8  # elements of a row that TMA can address
# Rows, columns, depth and warps of mma.sync tiles.
MMA_TILES = ((128, 128, 32, (2, 4)), (128, 128, 64, (2, 4)), (128, 256, 32, (2, 4)), (64, 64, 64, (2, 2)))


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
    load = (bm + bn / schedule.cluster) * bk * BYTES / L2_BYTES_PER_CLK
    if k * BYTES % LINE_BYTES:
        load *= SPLIT_COST
    tile = depth * max(multiply + LOAD_COST * load, load) * (1 if schedule.cluster == 1 else PAIR_COST) + TILE_CLK
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
    """The schedules that `predict` likes best of those whose copies can address rows of these sizes, best first.

    Among equals those that waste less of their tiles, keep more multiprocessors busy, and are wider.
    """
    fitting = [s for s in space(direct=sizes["N"] % MULTIPLE != 0) if addresses(s, sizes)]

    def rank(s: HopperGemmSchedule) -> tuple[float, ...]:
        (bm, bn, _), (m, n) = s.tile, (sizes["M"], sizes["N"])
        tiles = -(-m // bm) * -(-n // bn)
        return round(predict(s, sizes), 1), tiles * bm * bn, s.cluster, -min(tiles, SMS), -bn

    return tuple(sorted(fitting, key=rank)[:count])


def addresses(schedule: HopperGemmSchedule, sizes: Mapping[str, int]) -> bool:
    """Whether the schedule's copies and stores can address the rows of tensors of these sizes."""
    loads = {"wgmma": MULTIPLE, "mma": 2 if schedule.staging == "cp" else 1}[schedule.engine]
    stores = MULTIPLE if schedule.leave == "tma" else 1
    return sizes["K"] % loads == 0 and sizes["N"] % stores == 0


@cache
def space(*, direct: bool = False) -> tuple[HopperGemmSchedule, ...]:
    """Every tile with the most stages that fit, few where rows are few; `direct`: those that leave directly."""
    out: list[HopperGemmSchedule] = []
    leave = "direct" if direct else "tma"
    for consumers, rows in ((2, 64), (1, 64), (2, 128)):
        for columns in range(64, 257, 32):
            out += _fullest(tile=(rows * consumers, columns, WGMMA_DEPTH), consumers=consumers, leave=leave)
    for columns in range(64, 257, 32):
        out += _fullest(tile=(128, columns, WGMMA_DEPTH), consumers=2, leave=leave, cluster=2)
    for columns in (32, 48, 64):
        out += _fullest(tile=(64, columns, WGMMA_DEPTH), consumers=1, leave=leave)
    for consumers in (1, 2):
        for columns in (16, 32, 48, 64, 128, 192, 256):
            out += _fullest(tile=(columns, 64 * consumers, WGMMA_DEPTH), consumers=consumers, swap=True)
    for rows, columns, depth, grid in MMA_TILES:
        for staging in ("cp", "register"):
            fields = {"engine": "mma", "leave": "direct", "tile": (rows, columns, depth), "grid": grid}
            out += _fullest(**fields, staging=staging, most=3)
    return tuple(dict.fromkeys(out))


def _fullest(most: int = 10, **fields: object) -> list[HopperGemmSchedule]:
    """The schedule with these fields and the most stages; none where it is not legal."""
    for stages in range(most, 2, -1):
        with suppress(ValueError):
            return [HopperGemmSchedule.model_validate({**fields, "stages": stages})]
    return []
