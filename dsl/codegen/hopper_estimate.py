"""The time of a GEMM compiled for sm_90a, computed: what takes most of it, and how long it may be.

A multiprocessor runs its blocks' steps through k; a step is as long as its busiest unit, or as the ring's latency
lets it be. `docs/estimate.md` tells the model. What proposes never imports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from argus.dsl.codegen.cuda_report import CudaReport
from argus.dsl.codegen.report import Estimate, Resource
from argus.dsl.targets import sm_90a

MODEL_VERSION = "sm_90a-sm-1"

# Fitted: see `docs/estimate.md` for the schedules that were used and those that were held out.
CLOCK_MHZ = 1515.0  # under a GEMM's load
MMA_SHARE = 0.88  # of the peak rate that back-to-back wgmma reach
FILL_CLK = 1600.0  # a TMA copy's issue to the consumer's wait
DRAIN_CLK = 60.0  # the tensor unit idles so long when a batch is awaited before the next is issued
START_CLK = 1750.0  # a block's launch to its first copy
CHUNK_CLK = 50.0  # conversion and stores of 64 columns by one warpgroup
SYNC_SHARE = 0.6  # of the peak rate that mma.sync reaches (unsourced)
DIRECT_CLK = 600.0  # 64 columns of 64 rows from registers to memory, in pieces of 16 bytes a row (unsourced)
FILL_SHARE = 0.1  # of what TMA writes to shared memory competes with what wgmma reads
L2_BYTES_PER_US = 13.3e6  # by TMA, which does better than loads
OVERLAP = 7.5  # norm of how units overlap: infinite would be perfect


@dataclass(frozen=True, slots=True)
class HopperWork:
    """A problem and how a kernel cuts it; see `argus.tools.hopper_work`.

    Attributes:
        tiles: Rows and columns of tiles.
        persistent: Whether blocks walk tiles.
        group_m: Rows of tiles walked together; 1 for row by row.
        groups: Warpgroups that multiply.
        atoms: 64-row pieces of each warpgroup's accumulator.
        columns: Of one wgmma.
        mma_steps: wgmmas of 16 deep in a step through k.
        keep: Batches in flight while a step ends.
        chunks: Pieces in which a warpgroup's result leaves.
        warp_rows: mma.sync: rows of both operands that all warps read in a step; None for wgmma.
        direct: Whether results leave from registers.
    """

    shape: dict[str, int]
    m: int
    n: int
    k: int
    bm: int
    bn: int
    bk: int
    tiles: tuple[int, int]
    persistent: bool
    group_m: int
    groups: int
    atoms: int
    columns: int
    mma_steps: int
    stages: int
    keep: int
    chunks: int
    threads: int
    warp_rows: int | None = None
    direct: bool = False
    element_bytes: int = 2
    out_bytes: int = 2

    @property
    def steps(self) -> int:
        return ceil(self.k / self.bk)

    @property
    def stage_bytes(self) -> int:
        return (self.bm + self.bn) * self.bk * self.element_bytes


def resident_blocks(work: HopperWork, report: CudaReport) -> int:
    """Blocks that a multiprocessor holds at once; a persistent grid has one each."""
    registers = ceil(report.registers.regs / sm_90a.REGISTER_UNIT) * sm_90a.REGISTER_UNIT * work.threads
    shared = report.lds_bytes + sm_90a.SHARED_OF_SYSTEM
    most = min(sm_90a.REGISTERS // registers, sm_90a.SHARED_BYTES // shared, sm_90a.WARPS * 32 // work.threads)
    return 1 if work.persistent else max(1, most)


def estimate(work: HopperWork, report: CudaReport) -> Estimate:
    """The time of a compiled kernel on a problem."""
    tiles = work.tiles[0] * work.tiles[1]
    turns = ceil(tiles / sm_90a.SMS)
    resident = min(resident_blocks(work, report), turns)
    busy = _step_busy(work, report)
    step = _step_clk(work, busy)
    ends = _ends_clk(work)
    # Blocks beside each other fill each other's gaps until a unit is busy all the time.
    tile = max(work.steps * _overlapped(busy), (work.steps * step + ends) / resident)
    clk = turns * tile + (ends if work.persistent else START_CLK)
    us = turns * work.steps / CLOCK_MHZ
    resources: dict[Resource, float] = {name: us * value for name, value in busy.items()}
    resources["hbm"] = _hbm_bytes(work, turns) / sm_90a.HBM_BYTES_PER_US
    run_us = max(clk / CLOCK_MHZ, (clk / CLOCK_MHZ) * 0.85 + 0.5 * resources["hbm"], resources["hbm"])
    return Estimate.of(
        work.shape,
        run_us=run_us,
        launch_us=sm_90a.LAUNCH_US,
        busy_us=resources,
        lower_bound_us=lower_bound_us(work),
        model_version=MODEL_VERSION,
    )


def lower_bound_us(work: HopperWork) -> float:
    """The floor of any kernel for this problem: the tensor units at their sheet rate, or HBM, then launch."""
    m, n, k = work.m, work.n, work.k
    mma = 2 * m * n * k / (sm_90a.FLOP_PER_CLK * sm_90a.SMS * sm_90a.PEAK_MHZ)
    moved = (m + n) * k * work.element_bytes + m * n * work.out_bytes
    return max(mma, moved / sm_90a.HBM_PEAK_BYTES_PER_US) + sm_90a.LAUNCH_US


def _step_busy(work: HopperWork, report: CudaReport) -> dict[Resource, float]:
    """Clk that each unit of the multiprocessor is busy in one step of one block."""
    mmas = work.groups * work.atoms * work.mma_steps
    operands = mmas * (64 + work.columns) * 16 * work.element_bytes
    rate = MMA_SHARE
    if work.warp_rows is not None:
        operands, rate = work.warp_rows * work.bk * work.element_bytes, SYNC_SHARE
    share = L2_BYTES_PER_US / (sm_90a.SMS * CLOCK_MHZ)
    spilled = report.spills * work.threads / (sm_90a.SHARED_BYTES_PER_CLK * max(1, work.steps))
    return {
        "mfma": mmas * work.columns / 2 / rate,
        "valu": 4.0 * work.mma_steps * work.atoms,
        "lds": (operands + FILL_SHARE * work.stage_bytes) / sm_90a.SHARED_BYTES_PER_CLK,
        "vmem": work.stage_bytes / share + spilled,
    }


def _overlapped(busy: dict[Resource, float]) -> float:
    """Units work at the same time, though not quite: the longest, and some of the others."""
    longest = max(busy.values())
    return longest * sum((x / longest) ** OVERLAP for x in busy.values()) ** (1 / OVERLAP)


def _step_clk(work: HopperWork, busy: dict[Resource, float]) -> float:
    """Clk from step to step of one block alone."""
    unit = _overlapped(busy)
    if work.keep == 0:
        # Another warpgroup's batches fill the gap, unless all of them wait for the same stage.
        unit += DRAIN_CLK / work.groups
    # A stage is filled, awaited, multiplied and freed `keep` steps later; then it is filled again.
    life = FILL_CLK + (1 + work.keep) * unit
    return max(unit, life / work.stages)


def _ends_clk(work: HopperWork) -> float:
    """Clk of a tile beside its steps: the first copy, which a persistent block issues early, and the epilogue."""
    columns = work.bn / work.chunks
    leaves = work.chunks * work.atoms * (DIRECT_CLK if work.direct else CHUNK_CLK) * columns / 64
    return leaves + (FILL_CLK / 2 if work.persistent else FILL_CLK + START_CLK)


def _hbm_bytes(work: HopperWork, turns: int) -> float:
    """What the tiles in flight do not share: panels of A and B, and C once."""
    rows, columns = work.tiles
    together = min(sm_90a.SMS, rows * columns)
    tall = min(rows, work.group_m if work.group_m > 1 else ceil(together / columns))
    wide = min(columns, ceil(together / tall))
    panels = (tall * work.bm + wide * work.bn) * work.k * work.element_bytes
    once = (work.m + work.n) * work.k * work.element_bytes
    return max(once, turns * panels) + work.m * work.n * work.out_bytes
