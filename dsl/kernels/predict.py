"""The closed form that proposes: microseconds of a GEMM schedule from the roofline. It never rewards (see POLICY).

Formulas: tile and wave quantisation, LDS traffic of wave tiles (roofline page, sections 1 and 2), latencies and bank
phases (MI300X page, sections 3 and 4). Deliberately coarse: registers, instruction order and wait counts are unseen.
"""

from __future__ import annotations

from math import ceil

from argus.dsl.kernels.schedule import ELEMENT_BYTES, GemmSchedule
from argus.dsl.kernels.task import Problem

COVERED = frozenset({"tile", "grid", "stages", "prefetch", "swizzle", "pad", "vector", "pack", "staging"})

_CUS = 304
_CLOCK_MHZ = 2100.0
_MFMA_FLOP_PER_CLK = 2048
_LDS_BYTES_PER_CLK = 128
_LDS_BYTES = 65536
_HBM_BYTES_PER_US = 4.0e6  # achieved by copies, not the peak
_GLOBAL_LATENCY_CLK = 700.0
_LDS_LATENCY_CLK = 128.0
_LAUNCH_US = 4.0


def predict(schedule: GemmSchedule, problem: Problem) -> float:
    """Microseconds by the closed form."""
    m, n, k = (problem.shape[x] for x in ("m", "n", "k"))
    bm, bn, bk = schedule.tile
    mfma = 2 * bm * bn * bk / _MFMA_FLOP_PER_CLK
    lds = _lds_clk(schedule)
    resident = _resident_blocks(schedule)
    alone = mfma + lds + _exposed_clk(schedule, mfma + lds)
    per_tile = max(mfma, lds, alone / resident)
    blocks = ceil(m / bm) * ceil(n / bn)
    rounds = ceil(blocks / (_CUS * resident)) * resident
    compute_us = rounds * ceil(k / bk) * per_tile / _CLOCK_MHZ
    hbm_us = (ELEMENT_BYTES * k * (m + n) + 4 * m * n) / _HBM_BYTES_PER_US
    return max(compute_us, hbm_us) + _LAUNCH_US


def _lds_clk(schedule: GemmSchedule) -> float:
    rows, columns = schedule.wave_tile
    depth_bytes = schedule.tile[2] * ELEMENT_BYTES
    read = schedule.waves * (rows + columns) * depth_bytes / _LDS_BYTES_PER_CLK * _read_way(schedule)
    # Address and data share the write port: 4-byte stores reach half the peak, 16-byte ones four fifths.
    efficiency = {4: 0.5, 8: 0.67, 16: 0.8}[schedule.vector] if schedule.staging == "register" else 1.0
    write = (schedule.tile[0] + schedule.tile[1]) * depth_bytes / (_LDS_BYTES_PER_CLK * efficiency)
    return read + write


def _read_way(schedule: GemmSchedule) -> float:
    """Conflict factor of fragment reads: rows that start in the same bank collide unless permuted or padded."""
    if schedule.swizzle != "none":
        return 1.0
    rows_per_cycle = max(1, 128 // schedule.lds_row_bytes)
    if schedule.lds_row_bytes % 128 in (16, 32, 48, 80, 96, 112):
        return 1.5
    return 8.0 / (2 * rows_per_cycle)


def _resident_blocks(schedule: GemmSchedule) -> int:
    registers = schedule.accumulator_registers + 72
    by_registers = max(1, min(8, 512 // registers)) * 4 // schedule.waves
    return max(1, min(by_registers, _LDS_BYTES // schedule.lds_bytes))


def _exposed_clk(schedule: GemmSchedule, busy: float) -> float:
    """Latency that a lone block cannot hide in one k-tile."""
    ahead = schedule.stages - 1 + schedule.prefetch
    if schedule.staging == "dma" and schedule.wait == "drain":
        ahead = min(ahead, 1)
    return max(0.0, _GLOBAL_LATENCY_CLK - ahead * busy) + _LDS_LATENCY_CLK
