"""profile: where a kernel's time goes, read from its compiled code."""

from __future__ import annotations

import tempfile
from pathlib import Path

from argus.dsl.codegen.report import Report
from argus.dsl.kernels import Problem
from argus.tools.contract import require_contract
from argus.tools.toolbox import Toolbox


async def profile(text: str, problem: Problem, *, toolbox: Toolbox) -> Report:
    """The static report with an estimate at the problem's shape: computed, never a measurement.

    Raises:
        KernelError: The kernel is at fault, or is none for this problem.
        ToolchainError: TVM, LLVM, the linker or the worker process is.
    """
    require_contract(text, problem)
    with tempfile.TemporaryDirectory(prefix="argus-") as scratch:
        return (await toolbox.compile_kernel(text, problem, Path(scratch))).report
