"""The searched GEMM families as the catalogue lists them: schedules that differ in kind, on tiles that execute fast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argus.dsl.kernels import gemm, hopper_gemm
from argus.dsl.kernels.hopper_gemm import HopperGemmSchedule
from argus.dsl.kernels.library import task_named
from argus.dsl.kernels.schedule import GemmSchedule
from argus.dsl.kernels.task import Array, Sizes, make_problem

# One schedule for each way in which the family stages, synchronises or maps.
GFX942: Mapping[str, GemmSchedule] = {
    "single": GemmSchedule(),
    "one-wave": GemmSchedule(tile=(32, 32, 16), grid=(1, 1)),
    "small-atom": GemmSchedule(tile=(32, 32, 32), grid=(2, 1), atom="16x16x16"),
    "prefetch": GemmSchedule(tile=(64, 32, 32), grid=(2, 1), prefetch=True),
    "packed": GemmSchedule(tile=(64, 64, 32), pack=2, vector=16),
    "swizzled": GemmSchedule(tile=(32, 64, 64), grid=(1, 2), pack=2, vector=16, swizzle="xor(8, unit=8, rows=1)"),
    "padded": GemmSchedule(tile=(64, 32, 32), grid=(2, 1), pad=8, regs="agpr"),
    "swapped": GemmSchedule(tile=(64, 64, 16), swap=True, order="group_m(4)"),
    "two-stages": GemmSchedule(tile=(64, 32, 16), grid=(2, 1), stages=2),
    "three-stages": GemmSchedule(tile=(32, 32, 32), grid=(2, 2), atom="16x16x16", stages=3),
    "drained": GemmSchedule(tile=(64, 32, 16), grid=(2, 1), staging="dma", stages=2),
    "ring": GemmSchedule(tile=(32, 64, 16), grid=(1, 2), staging="dma", stages=3, wait="count"),
    "48-rows": GemmSchedule(tile=(48, 96, 32), grid=(1, 2), atom="16x16x16", vector=4, order="xcd(8)"),
}
SM_90A: Mapping[str, HopperGemmSchedule] = {
    "one-consumer": HopperGemmSchedule(tile=(64, 64, 64), consumers=1, stages=3, group_m=1),
    "96-columns": HopperGemmSchedule(tile=(64, 96, 64), consumers=1, stages=2, group_m=2),
    "two-consumers": HopperGemmSchedule(tile=(128, 64, 64), stages=3),
    "drained": HopperGemmSchedule(tile=(64, 64, 64), consumers=1, stages=2, keep=0),
    "in-turn": HopperGemmSchedule(tile=(128, 64, 64), stages=2, consumers_take="tiles"),
}


def text(schedule: GemmSchedule) -> str:
    """Kernel text on gfx942, for bf16."""
    return gemm.text(schedule, make_problem(task_named("gemm")))


def hopper_text(schedule: HopperGemmSchedule) -> str:
    """Kernel text on sm_90a, for bf16."""
    return hopper_gemm.text(schedule, make_problem(task_named("gemm"), target="sm_90a"))


def reference(schedule: object, inputs: Mapping[str, Any], sizes: Sizes) -> Mapping[str, Array]:
    """C = A B^T."""
    del schedule
    return task_named("gemm").reference(inputs, sizes)


def sizes(schedule: GemmSchedule | HopperGemmSchedule) -> tuple[Sizes, ...]:
    """k-tiles 1, 2, S and 2 S + 1 times; ragged in every dimension."""
    bm, bn, bk = schedule.tile
    out: list[Sizes] = []
    for turn, trips in enumerate(sorted({1, 2, schedule.stages, 2 * schedule.stages + 1})):
        k = trips * bk - (8 if turn % 2 == 0 else 0)
        m, n = (bm + bm // 3, bn - 8) if turn % 2 else (bm - 5, bn + 8)
        out.append({"M": m, "N": n, "K": max(8, k)})
    return tuple(out)
