"""What LLVM makes of lowered kernels: exact MFMA counts, no spills, nothing else of note in the main loop."""

from __future__ import annotations

from typing import Any

import pytest

from argus.dsl.codegen import llvm, tir
from argus.dsl.codegen.report import Report
from argus.dsl.codegen.static_report import static_report
from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named

from .lowering import lowered

XOR4, XOR8 = "xor(4, unit=8, rows=2)", "xor(8, unit=8, rows=1)"
LARGE: dict[str, Any] = {"tile": (256, 256, 32), "staging": "dma", "stages": 2, "swizzle": XOR4, "pack": 2}
ODD: dict[str, Any] = {**LARGE, "tile": (256, 224, 32), "grid": (4, 2), "atom": "16x16x16", "swap": True}
DOUBLE: dict[str, Any] = {"tile": (128, 128, 64), "stages": 2, "swizzle": XOR8, "pack": 2, "vector": 16}

# Name: schedule, vector instructions allowed for each k-tile: compares and selects of masks, the wave number of copies.
KERNELS: dict[str, tuple[dict[str, Any], int]] = {
    "64x64 single stage": ({}, 5),
    "128x128 two stages": (DOUBLE, 9),
    "128x128 two stages, AGPRs": ({**DOUBLE, "regs": "agpr"}, 9),
    "128x128 prefetch": ({"tile": (128, 128, 32), "prefetch": True, "swizzle": XOR4, "pack": 2, "vector": 16}, 5),
    "256x256 by 8 waves": ({**LARGE, "grid": (2, 4)}, 18),
    "256x256 by 8 waves, AGPRs": ({**LARGE, "grid": (2, 4), "regs": "agpr"}, 18),
    "256x256 by 4 waves, AGPRs": ({**LARGE, "grid": (2, 2), "regs": "agpr"}, 34),
    "256x224 by 8 waves": ({**ODD, "priority": True}, 17),
    "256x224 by 8 waves, AGPRs": ({**ODD, "regs": "agpr"}, 17),
    "counted waits": ({"tile": (128, 128, 32), "atom": "16x16x16", "staging": "dma", "stages": 3, "wait": "count"}, 18),
}


def report(text: str, schedule: GemmSchedule | None = None) -> Report:
    made = lowered(text)
    budget = llvm.Budget(made.threads, made.waves_per_eu, made.agpr)
    code = llvm.generate(tir.llvm_ir(made.func, made.threads), made.device_ll, made.symbol, budget)
    mfma = schedule.mfma_per_tile if schedule else None
    return static_report(code.asm, kernel=made.symbol, mfma_per_tile=mfma, in_flight=64)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_main_loops(name: str) -> None:
    fields, masks = KERNELS[name]
    schedule = GemmSchedule.model_validate(fields)
    problem = make_problem(task_named("gemm"))
    got = report(families()["gemm"].text(schedule, problem), schedule)
    loop, trips = got.main_loop, schedule.stages
    assert (got.spills, got.scratch_bytes) == (0, 0)
    assert loop.mfma == trips * schedule.mfma_per_tile
    assert loop.tiles == trips
    assert loop.trans == 0
    assert loop.valu <= trips * masks, "address arithmetic in the main loop"
    (rows, columns), (am, an, ak) = schedule.wave_tile, schedule.atom_shape
    assert loop.lds_read <= trips * (rows // am + columns // an) * schedule.tile[2] // (ak * schedule.pack)
    assert loop.lds_write == 0 if schedule.staging == "dma" else loop.lds_write > 0
    assert got.registers.agpr >= schedule.accumulator_registers if schedule.regs == "agpr" else got.registers.agpr == 0


@pytest.mark.slow
def test_counted_waits_leave_the_younger_group_in_flight() -> None:
    schedule = GemmSchedule.model_validate(KERNELS["counted waits"][0])
    got = report(families()["gemm"].text(schedule, make_problem(task_named("gemm"))), schedule)
    # Two tiles of 8 KiB by four waves, 256 bytes an instruction: 16 for each group.
    drained = [w.vmcnt for w in got.main_loop.waits if w.vmcnt is not None]
    assert drained == [16] * 3
