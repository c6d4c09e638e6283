"""What the sm_90a estimate reads off a kernel, and how it moves."""

from __future__ import annotations

from typing import Any

from argus.dsl.codegen.cuda_report import CudaRegisters, CudaReport
from argus.dsl.codegen.hopper_estimate import HopperWork, estimate, resident_blocks
from argus.dsl.frontend import parse
from argus.dsl.kernels import families, make_problem, task_named
from argus.dsl.transform import to_core
from argus.tools.hopper_work import hopper_work

PROBLEM = make_problem(task_named("gemm"), target="sm_90a")
FAMILY = families()["hopper_gemm"]
PLAIN: dict[str, Any] = {"engine": "wgmma", "tile": (128, 128, 64), "consumers": 2, "stages": 4}


def work(**fields: Any) -> HopperWork:  # noqa: ANN401
    schedule = FAMILY.parse_schedule({**PLAIN, **fields})
    found = hopper_work(to_core(parse(FAMILY.text(schedule, PROBLEM))), PROBLEM.sizes, PROBLEM.shape)
    assert found is not None
    return found


def report(**changed: Any) -> CudaReport:  # noqa: ANN401
    full: dict[str, Any] = {
        "kernel": "gemm", "registers": CudaRegisters(regs=168), "spills": 0, "scratch_bytes": 0, "lds_bytes": 140_000,
        "occupancy_waves": 12, **changed,
    }  # fmt: skip
    return CudaReport(**full)


def us(**fields: Any) -> float:  # noqa: ANN401
    return estimate(work(**fields), report()).time_us


def test_a_kernel_is_read_as_it_is_cut() -> None:
    w = work(tile=(128, 256, 64), persistent=True, group_m=8, keep=1, leave="tma")
    assert (w.bm, w.bn, w.bk, w.tiles, w.steps) == (128, 256, 64, (32, 16), 64)
    assert (w.groups, w.atoms, w.columns, w.mma_steps) == (2, 1, 256, 4)
    assert (w.stages, w.keep, w.persistent, w.group_m, w.chunks, w.direct) == (4, 1, True, 8, 4, False)
    assert w.threads == 384
    assert w.stage_bytes == 2 * (128 + 256) * 64


def test_mma_sync_is_read_too() -> None:
    start = FAMILY.start(PROBLEM)
    w = hopper_work(to_core(parse(FAMILY.text(start, PROBLEM))), PROBLEM.sizes, PROBLEM.shape)
    assert w is not None
    # 2 x 4 warps: each row of A is read by four of them, each column of B by two.
    assert (w.bm, w.bn, w.bk, w.stages, w.warp_rows, w.direct) == (128, 128, 32, 3, 4 * 128 + 2 * 128, True)
    assert estimate(w, report(lds_bytes=49_152)).resources_us["mfma"] > 1.4 * us_of_tensor()


def us_of_tensor() -> float:
    return estimate(work(), report()).resources_us["mfma"]


def test_time_moves_as_it_should() -> None:
    assert us(stages=2, persistent=True) > us(persistent=True)
    assert us(tile=(128, 64, 64)) > us(tile=(128, 128, 64)) > us(tile=(128, 256, 64))
    assert us(leave="direct") > us(leave="tma")
    assert us(keep=0) >= us(keep=1, stages=6)
    slower = estimate(work(), report(spills=4096))
    assert slower.time_us > us()


def test_blocks_that_fit_beside_each_other() -> None:
    assert resident_blocks(work(), report(lds_bytes=100_000, registers=CudaRegisters(regs=64))) == 2
    assert resident_blocks(work(), report(lds_bytes=100_000)) == 1
    assert resident_blocks(work(persistent=True), report(lds_bytes=10_000, registers=CudaRegisters(regs=32))) == 1


def test_the_floor_is_the_problem_s() -> None:
    floors = {round(estimate(work(**f), report()).lower_bound_us, 6) for f in ({}, {"stages": 2}, {"group_m": 8})}
    assert len(floors) == 1
    assert 138 < floors.pop() < 142
