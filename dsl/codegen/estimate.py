"""The time of a compiled kernel, computed: the reward where no GPU measures. `docs/estimate.md` tells the model.

What proposes never imports it: proposals come from a closed form that sees the schedule alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from argus.dsl.codegen.asm import AsmKernel, Metadata
from argus.dsl.codegen.machine import Residency, run_once, run_steady
from argus.dsl.codegen.mainloop import Path, main_loop, path
from argus.dsl.codegen.program import Busy, busy, mfma_flop, translate
from argus.dsl.codegen.report import Estimate, Resource
from argus.dsl.codegen.steps import Step
from argus.dsl.codegen.workload import Workload, access, operand_reuse
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.targets import gfx942

MODEL_VERSION = "gfx942-cu-1"

_STEPS = 30_000  # simulated for one steady state: noise of about 2 % in tens of milliseconds

# The floor's wave tile and block tile: the largest whose accumulators a wave, and whose waves a CU, can hold.
_LARGEST_WAVE_TILE = 128
_LARGEST_BLOCK_TILE = 256


@dataclass(frozen=True, slots=True)
class _Round:
    """`count` times in a row, a CU runs `resident` blocks at once."""

    count: int
    resident: int


@dataclass(frozen=True, slots=True)
class _Cost:
    """One round on one CU: clk until the next can start, clk that its stores drain longer, and what a wave takes."""

    clk: float
    drain_clk: float
    wave: Busy


def resident_blocks(metadata: Metadata, waves: int) -> int:
    """Blocks that fit on a CU by registers, LDS and wave slots; 0 if none does."""
    vgprs = max(1, ceil(metadata.allocated_vgprs / gfx942.VGPR_GRANULE)) * gfx942.VGPR_GRANULE
    sgprs = max(1, ceil(metadata.sgpr / gfx942.SGPR_GRANULE)) * gfx942.SGPR_GRANULE
    per_simd = min(gfx942.WAVES_PER_SIMD, gfx942.VGPRS_PER_SIMD // vgprs, gfx942.SGPRS_PER_SIMD // sgprs)
    # Waves of a block spread over the SIMDs: one block of 6 waves puts two on some of them.
    by_waves = per_simd * gfx942.SIMDS // waves
    lds = ceil(metadata.lds_bytes / gfx942.LDS_GRANULE) * gfx942.LDS_GRANULE
    return min(by_waves, gfx942.LDS_BYTES // lds) if lds else by_waves


def occupancy_waves(metadata: Metadata, waves: int) -> int:
    """Resident waves of the fullest SIMD."""
    return ceil(resident_blocks(metadata, waves) * waves / gfx942.SIMDS)


def estimate(kernel: AsmKernel, work: Workload) -> Estimate:
    """Compute the time of a kernel on a problem.

    Raises:
        ToolchainError: If no block fits on a CU, or an instruction's timing is unknown.
    """
    resident = resident_blocks(kernel.metadata, work.waves)
    if resident < 1:
        raise ToolchainError(
            f"no block of {work.waves} waves fits on a CU: {kernel.metadata.allocated_vgprs} registers a lane, "
            f"{kernel.metadata.lds_bytes} bytes of LDS"
        )
    way = path(kernel, main_loop(kernel))
    rounds = _rounds(work, resident)
    costs = [_cost(way, work, x.resident) for x in rounds]
    resources = _resources(rounds, costs, work)
    clk = sum(x.count * cost.clk for x, cost in zip(rounds, costs, strict=True)) + costs[-1].drain_clk
    return Estimate.of(
        work.shape,
        run_us=max(clk / gfx942.CLOCK_MHZ, *resources.values()),
        launch_us=gfx942.LAUNCH_US,
        busy_us=resources,
        lower_bound_us=lower_bound_us(work),
        model_version=MODEL_VERSION,
    )


def lower_bound_us(work: Workload) -> float:
    """The floor of any kernel for this problem: its size, element types and the machine's peaks alone.

    The largest of: MFMA at peak rate; every operand read and the result written once at peak HBM bandwidth; LDS at 128
    bytes a clk with the tiles that need least of it (a wave reads 128 rows and 128 columns of operands, a block writes
    256 and 256, 20 bytes of port time for 16 written; roofline page, section 2). Then launch.
    """
    m, n, k, e = work.m, work.n, work.k, work.element_bytes
    clk_us = gfx942.CUS * gfx942.CLOCK_MHZ
    mfma = 2 * m * n * k / (gfx942.FLOP_PER_CLK[e] * clk_us)
    hbm = ((m + n) * k * e + m * n * work.out_bytes) / gfx942.HBM_PEAK_BYTES_PER_US

    def moved(tile: int) -> float:
        return m * n * k * e * (1 / min(tile, m) + 1 / min(tile, n))

    lds = (moved(_LARGEST_WAVE_TILE) + 20 / 16 * moved(_LARGEST_BLOCK_TILE)) / (gfx942.LDS_BYTES_PER_CLK * clk_us)
    return max(mfma, hbm, lds) + gfx942.LAUNCH_US


def _rounds(work: Workload, resident: int) -> list[_Round]:
    """Rounds of the fullest CU: blocks are dealt to the XCDs in turn, then to the CUs of each."""
    most = ceil(ceil(work.blocks / gfx942.XCDS) / gfx942.CUS_PER_XCD)
    full, rest = divmod(most, resident)
    return [x for x in (_Round(full, resident), _Round(min(rest, 1), rest)) if x.count]


def _cost(way: Path, work: Workload, resident: int) -> _Cost:
    meets = access(work, resident)
    residency = Residency(resident, work.waves)
    prologue, body, epilogue = (
        translate(x, meets, work.conflicts, repeats=x is way.body) for x in (way.prologue, way.body, way.epilogue)
    )
    ends = translate(way.prologue + way.body + way.epilogue, meets, work.conflicts, repeats=False)
    clk, drained = run_once(ends, residency)
    drain = drained - clk
    trips = _trips(way, work)
    trip = busy(body)
    if body:
        clk += (trips - 1) * max(_steady_clk(body, residency), _busiest_clk(trip, residency))
    return _Cost(clk, drain, busy(prologue).plus(busy(epilogue)).plus(trip, trips))


def _trips(way: Path, work: Workload) -> float:
    """Trips of the emitted loop, so that all MFMAs of the block are executed: unrolling and peeling are seen.

    A loop without MFMAs makes one trip for each k-tile.
    """
    each = mfma_flop(way.body)
    if not each:
        return work.k_tiles
    around = mfma_flop(way.prologue + way.epilogue)
    return max(0.0, (work.flop_per_block / work.waves - around) / each)


def _steady_clk(body: tuple[Step, ...], residency: Residency) -> float:
    """Clk of one trip; short bodies are repeated more often, and several blocks are started at several phases."""
    phases, fewest = (4, 12) if residency.blocks > 1 else (1, 8)
    trips = min(32, max(fewest, _STEPS // (len(body) * residency.total))) // phases
    warm = max(1, trips // 4)
    return run_steady(body, residency, warm=warm, measured=trips - warm, phases=phases)


def _busiest_clk(wave: Busy, residency: Residency) -> float:
    """The longest that any unit of the CU is busy when every resident wave takes this."""
    simd, port, cu = ceil(residency.total / gfx942.SIMDS), ceil(residency.total / gfx942.LDS_PORTS), residency.total
    return max(
        simd * wave.mfma, simd * wave.valu, port * wave.lds_port, cu * wave.lds_banks,
        cu * wave.l1, cu * wave.l2, cu * wave.fabric,
    )  # fmt: skip


def _resources(rounds: list[_Round], costs: list[_Cost], work: Workload) -> dict[Resource, float]:
    """What each resource alone would need, microseconds, on the CU that has most to do."""
    found: dict[Resource, float] = {"mfma": 0.0, "valu": 0.0, "lds": 0.0, "vmem": 0.0}
    for x, cost in zip(rounds, costs, strict=True):
        waves, wave = x.resident * work.waves, cost.wave
        us = x.count / gfx942.CLOCK_MHZ
        found["mfma"] += us * ceil(waves / gfx942.SIMDS) * wave.mfma
        found["valu"] += us * ceil(waves / gfx942.SIMDS) * wave.valu
        found["lds"] += us * max(ceil(waves / gfx942.LDS_PORTS) * wave.lds_port, waves * wave.lds_banks)
        found["vmem"] += us * waves * max(wave.l1, wave.l2, wave.fabric)
    found["hbm"] = _hbm_us(work, rounds[0].resident)
    return found


def _hbm_us(work: Workload, resident: int) -> float:
    """HBM traffic of the whole grid at the bandwidth that copies achieve."""
    a, b = operand_reuse(work, resident)
    depth = work.k_tiles * work.bk * work.element_bytes
    read = work.blocks * depth * (a.from_hbm * work.bm + b.from_hbm * work.bn)
    # Atomic partial sums come back before they are added to.
    written = work.m * work.n * work.out_bytes * (1 if work.split_k == 1 else 2 * work.split_k)
    return (read + written) / gfx942.HBM_BYTES_PER_US
