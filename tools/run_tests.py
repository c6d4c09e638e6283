"""run_tests: what was lowered, executed at the task's sizes and at held-out ones, against the fp64 reference."""

from __future__ import annotations

import tempfile
from pathlib import Path

from argus.dsl.kernels import Problem
from argus.tools.contract import require_contract
from argus.tools.results import TestReport
from argus.tools.toolbox import Toolbox


async def run_tests(text: str, problem: Problem, *, toolbox: Toolbox) -> TestReport:
    """Compile a kernel and run its numeric tests.

    Raises:
        KernelError: The kernel is at fault, or is none for this problem.
        ToolchainError: TVM, LLVM, the linker or the worker process is.
    """
    require_contract(text, problem)
    with tempfile.TemporaryDirectory(prefix="argus-") as scratch:
        compiled = await toolbox.compile_kernel(text, problem, Path(scratch))
        return await toolbox.run_tests(text, problem, compiled)


def without_held_out(report: TestReport) -> TestReport:
    """The report as an agent may see it: of held-out cases the verdict alone, or it could be written for them."""
    return TestReport(
        cases=tuple(
            c.model_copy(update={"sizes": {}, "message": "", "error": None}) if c.held_out else c for c in report.cases
        )
    )
