"""What the tools answer: models shared by agents, command line and tracking."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from argus.dsl.codegen.report import Report


class TestCase(BaseModel, frozen=True):
    """One numeric comparison against the task's fp64 reference.

    Attributes:
        executed: What ran: `ir` (interpreter), `tir` (lockstep simulator of the lowered code) or `object`.
        error: Largest error in units of the tolerance: at most 1 passes.
        held_out: Whether agents never see these sizes.
    """

    __test__ = False

    sizes: dict[str, int]
    inputs: str
    executed: str
    passed: bool
    error: float | None = None
    message: str = ""
    held_out: bool = False


class TestReport(BaseModel, frozen=True):
    """All numeric comparisons of one kernel."""

    __test__ = False

    cases: tuple[TestCase, ...] = ()

    @property
    def passed(self) -> int:
        return sum(c.passed for c in self.cases)

    @property
    def failed(self) -> int:
        return len(self.cases) - self.passed

    @property
    def ok(self) -> bool:
        """At least one case, all passed."""
        return bool(self.cases) and self.failed == 0


class CompileResult(BaseModel, frozen=True):
    """An artifact on disk and the static report read from its assembly."""

    directory: Path
    object_path: Path
    asm_path: Path
    report: Report
    seconds: float
    cached: bool = False
