"""The sm_90a GEMM family as a search sees it: plain defaults, one way to say each kernel, and a closed form.

`HopperGemmSchedule` prints kernels, and its defaults are what a person would write. Here every default is the plainest
choice, so that what makes a kernel fast has to be found.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from argus.dsl.kernels import hopper_gemm
from argus.dsl.kernels.hopper_schedule import BYTES, STEP, HopperGemmSchedule
from argus.dsl.kernels.task import Problem
from argus.dsl.targets import sm_90a

Registers = Literal["even", "24+240", "40+232", "56+224"]

# Fields whose effect `predict` models.
COVERED = frozenset({"engine", "tile", "stages", "consumers", "group_m"})

# mma.sync's share of wgmma's rate: it reads its operands through registers (unsourced).
_SYNC_SHARE = 0.6
# From a copy's issue to its use, clk: HBM's latency and as much again for barriers on the way (unsourced).
_FILL_CLK = 2 * sm_90a.HBM_CLK
# A block's start and end, clk (unsourced).
_ENDS_CLK = 4000.0
# Blocks whose accumulators and stages a multiprocessor holds at once.
_OTHER_REGISTERS = 40


class HopperSearchSchedule(BaseModel):
    """One point of the space. Schedules that differ print kernels that differ.

    Attributes:
        engine: `mma`: every warp copies its share of a stage and multiplies by mma.sync. `wgmma`: one warpgroup loads
            by TMA into a ring of mbarriers, the others multiply.
        tile: Block rows, block columns, k-depth of a stage; elements.
        stages: Of the ring.
        group_m: Rows of tiles that blocks walk together; 1 walks row by row.
        leave: Results go out `direct`ly from registers, or by `tma` from swizzled shared memory.
        consumers: wgmma: Warpgroups that multiply.
        keep: wgmma: Batches of MMAs in flight when a stage is freed.
        registers: wgmma with two consumers: of a thread that loads, and of one that multiplies.
        persistent: wgmma: Blocks walk tiles; else each tile has its block.
        out_buffers: leave by TMA: Epilogue buffers of a consumer.
        grid: mma: Warps along block rows and block columns.
        staging: mma: `cp` copies in the background; `register` loads and stores, at any pitch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: Literal["mma", "wgmma"] = "mma"
    tile: tuple[int, int, int] = (128, 128, 32)
    stages: int = 3
    group_m: int = 1
    leave: Literal["direct", "tma"] = "direct"
    consumers: Literal[1, 2] = 1
    keep: Literal[0, 1] = 0
    registers: Registers = "even"
    persistent: bool = False
    out_buffers: Literal[1, 2] = 1
    grid: tuple[int, int] = (2, 4)
    staging: Literal["cp", "register"] = "cp"

    @model_validator(mode="after")
    def _legal(self) -> Self:
        for problem in self._idle():
            raise ValueError(problem)
        try:
            kernel = self.kernel
        except ValidationError as error:
            raise ValueError(str(error.errors()[0]["msg"]).removeprefix("Value error, ")) from None
        if self.out_buffers > kernel.buffers or (self.out_buffers > 1 and self.leave == "direct"):
            raise ValueError("two epilogue buffers alternate where 64 rows leave by TMA in an even number of chunks")
        return self

    def _idle(self) -> Iterator[str]:
        if self.engine == "mma" and (self.consumers, self.keep, self.persistent) != (1, 0, False):
            yield "consumers, keep and persistent are of the engine wgmma"
        if self.consumers == 1 and self.registers != "even":
            yield "one consumer needs no register budget"
        if self.engine == "wgmma" and (self.grid, self.staging) != ((2, 4), "cp"):
            yield "grid and staging are of the engine mma"

    @property
    def kernel(self) -> HopperGemmSchedule:
        """The schedule that prints this kernel.

        Raises:
            ValidationError: If the family cannot print it.
        """
        fields: dict[str, Any] = {
            "engine": self.engine, "tile": self.tile, "stages": self.stages, "group_m": self.group_m,
            "leave": self.leave,
        }  # fmt: skip
        if self.engine == "mma":
            return HopperGemmSchedule.model_validate({**fields, "grid": self.grid, "staging": self.staging})
        budget = None if self.registers == "even" else tuple(int(r) for r in self.registers.split("+"))
        own = {"consumers": self.consumers, "keep": self.keep, "registers": budget, "persistent": self.persistent}
        return HopperGemmSchedule.model_validate({**fields, **own, "out_buffers": self.out_buffers})

    @property
    def name(self) -> str:
        """Short and unambiguous."""
        return self.kernel.name

    @property
    def asynchronous(self) -> bool:
        """Whether loads and MMAs run beside the threads that issue them."""
        return self.engine == "wgmma"

    @property
    def by_tma(self) -> bool:
        """Whether results leave by TMA."""
        return self.leave == "tma"

    @property
    def budgeted(self) -> bool:
        """Whether roles have register budgets."""
        return self.registers != "even"

    @property
    def rows(self) -> int:
        """Of one consumer's MMAs."""
        return self.tile[0] // self.consumers

    @property
    def shared_bytes(self) -> int:
        return self.kernel.shared_bytes


def parse_schedule(fields: dict[str, Any]) -> HopperSearchSchedule:
    """Fields to a schedule; ValidationError says what is wrong."""
    return HopperSearchSchedule.model_validate(fields)


def start(problem: Problem) -> HopperSearchSchedule:
    """A competent first kernel for any NVIDIA GPU: mma.sync and cp.async on 128x128 tiles, three stages."""
    whole = problem.sizes["K"] % hopper_gemm.MULTIPLES["K"] == 0
    return HopperSearchSchedule(staging="cp" if whole else "register")


def text(schedule: HopperSearchSchedule, problem: Problem) -> str:
    """Kernel text of a schedule."""
    return hopper_gemm.text(schedule.kernel, problem)


def predict(schedule: HopperSearchSchedule, problem: Problem) -> float:
    """Microseconds by a closed form, used only to propose; its constants are the hardware page's, none is fitted.

    A multiprocessor takes tiles in turns. A step through k lasts as long as the tensor units, as its share of L2's
    bandwidth, or as the ring's latency divided by its stages and by the blocks that hide each other's.
    """
    m, n, k = (problem.shape[x] for x in ("m", "n", "k"))
    bm, bn, bk = schedule.tile
    tiles = ceil(m / bm) * ceil(n / bn)
    turns = ceil(tiles / sm_90a.SMS)
    resident = min(turns, _resident(schedule))
    load = (bm + bn) * bk * BYTES * sm_90a.SMS * sm_90a.PEAK_MHZ / sm_90a.L2_BYTES_PER_US
    work = max(_multiply_clk(schedule), load)
    step = max(work, (_FILL_CLK + work) / (schedule.stages * resident))
    clk = turns * (ceil(k / bk) * step + _ENDS_CLK / resident)
    return max(clk / sm_90a.PEAK_MHZ, _hbm_us(schedule, problem, turns)) + sm_90a.LAUNCH_US


def _multiply_clk(schedule: HopperSearchSchedule) -> float:
    """Clk of the tensor units for one step of a tile; one reads its operands from shared memory at 128 bytes a clk."""
    bm, bn, bk = schedule.tile
    if not schedule.asynchronous:
        return 2 * bm * bn * bk / sm_90a.FLOP_PER_CLK / _SYNC_SHARE
    return bm // 64 * (bk // STEP) * max(bn / 2, (64 + bn) * STEP * BYTES / sm_90a.SHARED_BYTES_PER_CLK)


def _resident(schedule: HopperSearchSchedule) -> int:
    """Blocks on a multiprocessor, by shared memory and by accumulators."""
    if schedule.persistent:
        return 1
    kernel = schedule.kernel
    bm, bn, _ = schedule.tile
    multiply = kernel.waves if schedule.engine == "mma" else 4 * schedule.consumers
    registers = bm * bn // (sm_90a.LANES * multiply) + _OTHER_REGISTERS
    by_registers = sm_90a.REGISTERS // (registers * sm_90a.LANES * kernel.waves)
    by_shared = sm_90a.SHARED_BYTES // (kernel.shared_bytes + sm_90a.SHARED_OF_SYSTEM)
    return max(1, min(by_registers, by_shared))


def _hbm_us(schedule: HopperSearchSchedule, problem: Problem, turns: int) -> float:
    """Panels that the tiles in flight do not share, and C once, at the bandwidth that reads achieve."""
    m, n, k = (problem.shape[x] for x in ("m", "n", "k"))
    bm, bn, _ = schedule.tile
    rows, columns = ceil(m / bm), ceil(n / bn)
    together = min(sm_90a.SMS, rows * columns)
    tall = min(rows, schedule.group_m if schedule.group_m > 1 else ceil(together / columns))
    panels = (tall * bm + min(columns, ceil(together / tall)) * bn) * k
    return BYTES * (max((m + n) * k, turns * panels) + m * n) / sm_90a.HBM_BYTES_PER_US
