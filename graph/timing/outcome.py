"""A measurement as an attempt's time, tests and status."""

from __future__ import annotations

from typing import Any

from argus.agents.attempt import Attempt, Fault, Status, Tests
from argus.tools.bundle import Result, Results
from argus.tools.results import TestCase, TestReport

# What the runner calls an entry, as status and fault of the attempt.
_BAD: dict[str, tuple[Status, Fault]] = {
    "wrong": ("wrong", "lowering"),
    "unsteady": ("wrong", "lowering"),
    "killed": ("wrong", "lowering"),
    "died": ("wrong", "lowering"),
}


def library_us(found: Results) -> float | None:
    """The library's median time; None if it was not measured."""
    times = (r.time_us for r in found.results if r.kind == "peer" and r.time_us is not None)
    return next((us[0] for us in times), None)


def measured(a: Attempt, result: Result, reference_us: float) -> tuple[Attempt, TestReport]:
    """The attempt with what a GPU said of it, and its numeric tests.

    Its time is the library's time in the run's first round, divided by how often faster it was than the library when
    both ran in turns: clocks drift from round to round, and ratios do not.
    """
    tests = TestReport(cases=tuple(_case(c) for c in result.checks))
    counts = Tests(passed=tests.passed, failed=tests.failed)
    if result.status == "ok" and result.ratio is not None and tests.ok:
        update = {"status": "valid", "time_us": reference_us / result.ratio[0], "peer_ratio": result.ratio[0]}
        return a.model_copy(update={**update, "tests": counts}), tests
    status, fault = _BAD.get(result.status, ("broken", "toolchain"))
    return a.model_copy(update={"status": status, "fault": fault, "tests": counts, "note": _note(result)}), tests


def _note(result: Result) -> str:
    bad = next((c for c in result.checks if not c.get("ok")), None)
    told = result.message or (f"wrong at {bad.get('sizes')}: error {bad.get('error')}" if bad else result.status)
    return f"{result.status}: {told}"[:400]


def _case(check: dict[str, Any]) -> TestCase:
    error = check.get("error")
    return TestCase(
        sizes=check.get("sizes", {}),
        inputs="normal",
        executed="object",
        passed=bool(check.get("ok")),
        error=error if isinstance(error, float) and error < float("inf") else None,
        message=str(check.get("message", "")),
    )
