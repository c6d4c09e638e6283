"""Numeric tests of a lowered kernel: the lockstep simulator against the task's fp64 reference.

`run_cases` runs inside the compiling worker, right after code generation, on the very TIR that was compiled.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.dsl.kernels import Task, make_problem, task_named
from argus.dsl.lower.lowered import Lowered
from argus.dsl.lower.sim import SimulationFault, simulate
from argus.tools.cases import NUMERICS, CaseRequest, NumericsRequest
from argus.tools.results import TestCase, TestReport

Array = npt.NDArray[Any]
_TYPES: dict[str, Any] = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}


def run_cases(lowered: Lowered, directory: Path, options: Mapping[str, Any]) -> None:
    """Run every case and write a `TestReport` beside the artifact."""
    request = NumericsRequest.model_validate(options)
    problem = make_problem(task_named(request.task), dtype=request.dtype, target=request.target)
    report = TestReport(cases=tuple(run_case(lowered, problem.task, request.dtype, case) for case in request.cases))
    (directory / NUMERICS).write_text(report.model_dump_json(indent=1), "utf-8")


def run_case(lowered: Lowered, task: Task, dtype: str, case: CaseRequest) -> TestCase:
    """Execute one case; a fault of the simulator is a failed case, not an exception."""
    tensors = make_tensors(lowered, task, case)
    start = time.perf_counter()
    try:
        simulate(lowered, case.sizes, tensors)
    except SimulationFault as fault:
        return _case(case, passed=False, message=str(fault))
    error = compare(task, dtype, tensors, case.sizes)
    return _case(case, passed=bool(error <= 1.0), error=error, message=f"{time.perf_counter() - start:.2f} s")


def make_tensors(lowered: Lowered, task: Task, case: CaseRequest) -> dict[str, Array]:
    """Inputs drawn from the case's seed in the kernel's types; outputs filled with NaN."""
    rng = np.random.default_rng(case.seed)
    types = {p.name: _TYPES[p.dtype] for p in lowered.params if p.kind == "tensor"}
    tensors: dict[str, Array] = {}
    for name, symbols in task.inputs.items():
        shape = tuple(case.sizes[s] for s in symbols)
        values = rng.integers(-4, 5, shape) if case.inputs == "integers" else rng.standard_normal(shape)
        tensors[name] = values.astype(types[name])
    for name, symbols in task.outputs.items():
        tensors[name] = np.full(tuple(case.sizes[s] for s in symbols), np.nan, types[name])
    return tensors


def compare(task: Task, dtype: str, tensors: Mapping[str, Array], sizes: Mapping[str, int]) -> float:
    """The largest error of any output element in units of its tolerance; infinite if one was not written."""
    inputs = {name: tensors[name].astype(np.float64) for name in task.inputs}
    want = task.reference(inputs, sizes)
    magnitude = task.reference({name: np.abs(x) for name, x in inputs.items()}, sizes)
    worst = 0.0
    for name in task.outputs:
        got = tensors[name].astype(np.float64)
        allowed = task.tolerance[dtype] * magnitude[name] + np.finfo(np.float32).tiny
        error = np.where(np.isfinite(got), np.abs(got - want[name]) / allowed, np.inf)
        worst = max(worst, float(error.max(initial=0.0)))
    return worst


def _case(case: CaseRequest, *, passed: bool, error: float | None = None, message: str = "") -> TestCase:
    finite = error if error is not None and np.isfinite(error) else None
    text = "an output element was never written" if error is not None and finite is None else message
    return TestCase(
        sizes=case.sizes,
        inputs=case.inputs,
        executed="tir",
        passed=passed,
        error=finite,
        message=text,
        held_out=case.held_out,
    )
