"""What was measured is what the family prints today, and every obligation of it is proved."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from argus.dsl.check import check
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.evals.gemm_results import Result, read_results

RESULTS = Path(__file__).parents[2] / "evals" / "results" / "h200-gemm-2026-11-29-three-runs.json"


def kernels() -> dict[str, Result]:
    """Measured kernels by the hash of their text, once each."""
    return {r.kernel_sha: r for r in read_results(RESULTS).results if r.kind == "candidate"}


def text(r: Result) -> str:
    shape = {name.lower(): size for name, size in r.sizes.items()}
    dtype = {"bfloat16": "bf16", "float16": "f16"}[r.dtype]
    problem = make_problem(task_named("gemm"), shape=shape, dtype=dtype, target="sm_90a")
    return hopper_gemm.text(HopperGemmSchedule.model_validate(r.schedule), problem)


def test_every_measured_text_is_printed_today() -> None:
    found = kernels()
    assert len(found) > 10
    for sha, r in found.items():
        assert hashlib.sha256(text(r).encode()).hexdigest() == sha, r.id


@pytest.mark.slow
@pytest.mark.parametrize("sha", kernels())
def test_every_measured_kernel_is_proved(sha: str) -> None:
    report = check(text(kernels()[sha]))
    assert report.ok, report.render("")
