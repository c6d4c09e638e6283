"""Schedules that the family can print, and those it refuses with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from argus.dsl.diagnostics import Code, KernelError
from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"tile": (64, 64, 12)}, "k-depth 12"),
        ({"tile": (80, 64, 32)}, "80 rows"),
        ({"grid": (8, 4)}, "1 to 16 waves"),
        ({"staging": "dma"}, "at least 2 stages"),
        ({"staging": "dma", "stages": 2, "pad": 8}, "no pad"),
        ({"prefetch": True, "stages": 2}, "for one stage"),
        ({"wait": "count"}, "direct-to-LDS"),
        ({"pad": 2}, "alignment"),
        ({"swizzle": "xor(8, unit=8, rows=1)"}, "do not tile a row"),
        ({"swizzle": "twist"}, "unknown swizzle"),
        ({"order": "zigzag"}, "unknown order"),
        ({"stages": 9}, "1 to 4 stages"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_illegal_schedules_say_why(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        GemmSchedule.model_validate(fields)


def test_sizes_follow_from_the_schedule() -> None:
    schedule = GemmSchedule(tile=(256, 224, 32), grid=(4, 2), atom="16x16x16", staging="dma", stages=2)
    assert schedule.lds_bytes == 61_440
    assert schedule.mfma_per_tile == 56
    assert schedule.accumulator_registers == 112


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"shape": {"m": 0}}, Code.BAD_SIZE),
        ({"shape": {"m": -4}}, Code.BAD_SIZE),
        ({"shape": {"q": 4}}, Code.BAD_SIZE),
        ({"shape": {"k": 2**31}}, Code.BAD_SIZE),
        ({"dtype": "f64"}, Code.BAD_DTYPE),
        ({"target": "gfx90a"}, Code.BAD_TARGET),
    ],
)
def test_a_problem_the_task_does_not_know_is_refused(request_: dict[str, Any], code: Code) -> None:
    with pytest.raises(KernelError) as caught:
        make_problem(task_named("gemm"), **request_)
    assert caught.value.diagnostic.code is code
    assert caught.value.diagnostic.hint


def test_an_unknown_task_names_the_nearest() -> None:
    with pytest.raises(KernelError) as caught:
        task_named("gem")
    assert "gemm" in caught.value.diagnostic.hint


def test_the_closed_form_prefers_larger_tiles_to_the_start() -> None:
    problem, family = make_problem(task_named("gemm")), families()["gemm"]
    large = GemmSchedule(tile=(128, 128, 32), stages=2)
    assert family.predict(large, problem) < family.predict(family.start(problem), problem)
