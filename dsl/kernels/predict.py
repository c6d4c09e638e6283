"""The closed form that proposes: microseconds of a GEMM schedule from the roofline. It never rewards (see POLICY).

Formulas: tile and wave quantisation, LDS traffic of wave tiles (roofline page, sections 1 and 2), latencies and bank
phases (MI300X page, sections 3 and 4). Deliberately coarse: it sees no registers, instruction order or wait counts of
the compiled code.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from argus.dsl.kernels.schedule import ELEMENT_BYTES, GemmSchedule
from argus.dsl.kernels.task import Problem
from argus.dsl.layout import Swizzle
from argus.dsl.targets import gfx942

COVERED = frozenset({"tile", "grid", "stages", "prefetch", "swizzle", "pad", "vector", "pack", "staging", "atom"})

_MFMA_FLOP_PER_CLK = gfx942.FLOP_PER_CLK[ELEMENT_BYTES]
_HBM_BYTES_PER_US = 4.0e6  # achieved by copies, not the peak
# Addresses, operands and what else a wave keeps beside its accumulators.
_OTHER_REGISTERS = 72


def predict(schedule: GemmSchedule, problem: Problem) -> float:
    """Microseconds by the closed form."""
    m, n, k = (problem.shape[x] for x in ("m", "n", "k"))
    bm, bn, bk = schedule.tile
    blocks = ceil(m / bm) * ceil(n / bn)
    rounds, rest = divmod(ceil(blocks / gfx942.CUS), resident := _resident_blocks(schedule))
    clk = rounds * resident * _tile_clk(schedule, resident) + (rest * _tile_clk(schedule, rest) if rest else 0.0)
    compute_us = ceil(k / bk) * clk / gfx942.CLOCK_MHZ
    hbm_us = (ELEMENT_BYTES * k * (m + n) + 4 * m * n) / _HBM_BYTES_PER_US
    return max(compute_us, hbm_us) + gfx942.LAUNCH_US


def _tile_clk(schedule: GemmSchedule, resident: int) -> float:
    """Cycles that a CU spends on one k-tile of one block while `resident` blocks share it."""
    bm, bn, bk = schedule.tile
    mfma = 2 * bm * bn * bk / _MFMA_FLOP_PER_CLK
    lds = _lds_clk(schedule)
    # Two waves on a SIMD let LDS and MFMA work overlap; one alone does the one after the other.
    overlap = min(1.0, schedule.waves * resident / (2 * gfx942.SIMDS))
    busy = max(mfma, lds) + (1 - overlap) * min(mfma, lds)
    return max(mfma, lds, (busy + _exposed_clk(schedule, busy)) / resident)


def _lds_clk(schedule: GemmSchedule) -> float:
    """LDS cycles of one block and k-tile."""
    rows, columns = schedule.wave_tile
    depth_bytes = schedule.tile[2] * ELEMENT_BYTES
    read = schedule.waves * (rows + columns) * depth_bytes / gfx942.LDS_BYTES_PER_CLK * _read_way(schedule)
    # Address and data share the write port: 4-byte stores reach half the peak, 16-byte ones four fifths.
    efficiency = {4: 0.5, 8: 0.67, 16: 0.8}[schedule.vector] if schedule.staging == "register" else 1.0
    write = (schedule.tile[0] + schedule.tile[1]) * depth_bytes / (gfx942.LDS_BYTES_PER_CLK * efficiency)
    return read + write


def _read_way(schedule: GemmSchedule) -> float:
    side, _, _ = schedule.atom_shape
    return _conflict(schedule.lds_row_bytes, schedule.lds_vector_bytes, side, schedule.lds_swizzle)


@lru_cache(maxsize=4096)
def _conflict(row_bytes: int, width: int, side: int, swizzle: Swizzle | None) -> float:
    """Cycles of a fragment read over those of a conflict-free one, by the lane phases of the hardware."""
    phases = gfx942.LDS_PASSES_READ_B128 if width == 16 else gfx942.LDS_PASSES_B64
    cycles = 0
    for phase in phases:
        wanted: dict[int, set[int]] = {}
        for lane in phase:
            first = _place(lane % side, lane // side * width, row_bytes, swizzle) // 4
            for dword in range(first, first + width // 4):
                wanted.setdefault(dword % gfx942.LDS_BANKS, set()).add(dword)
        cycles += max(len(dwords) for dwords in wanted.values())
    return cycles / len(phases)


def _place(row: int, offset: int, row_bytes: int, swizzle: Swizzle | None) -> int:
    """Byte address of a row's byte `offset`."""
    if swizzle is not None:
        chunk, within = divmod(offset, 16)
        group, chunk = divmod(chunk, swizzle.chunks)
        turned = chunk ^ (row // swizzle.rows_for(row_bytes) % swizzle.chunks)
        offset = (group * swizzle.chunks + turned) * 16 + within
    return row * row_bytes + offset


def _resident_blocks(schedule: GemmSchedule) -> int:
    registers = schedule.accumulator_registers + _OTHER_REGISTERS
    per_simd = max(1, min(gfx942.WAVES_PER_SIMD, gfx942.VGPRS_PER_SIMD // registers))
    by_registers = per_simd * gfx942.SIMDS // schedule.waves
    return max(1, min(by_registers, gfx942.LDS_BYTES // schedule.lds_bytes))


def _exposed_clk(schedule: GemmSchedule, busy: float) -> float:
    """Latency that a block alone cannot hide in one k-tile.

    Copies through registers are issued and awaited within one iteration whatever the number of stages; direct-to-LDS
    groups stay in flight for as many iterations as the waits allow.
    """
    if schedule.staging == "dma":
        ahead = schedule.stages - 1 if schedule.wait == "count" else 1
    else:
        ahead = int(schedule.stages > 1 or schedule.prefetch)
    return max(0.0, gfx942.MALL_HIT_CLK + gfx942.LDS_CLK - ahead * busy) + gfx942.LDS_CLK
