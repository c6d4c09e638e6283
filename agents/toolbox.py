"""What agents and nodes may do, as an interface: the tools implement it, tests replace it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from argus.dsl.diagnostics import CheckReport
from argus.dsl.kernels import Problem
from argus.retrieval.query import SearchResult
from argus.tools.results import CompileResult, TestReport


class Toolbox(Protocol):
    """The tools of one run.

    `KernelError` means that the kernel is at fault, `ToolchainError` that it may not be.
    """

    def check_invariants(self, text: str, problem: Problem) -> CheckReport:
        """Verdicts on every obligation; a contract other than the task's is refuted among them."""
        ...

    async def compile_kernel(self, text: str, problem: Problem, directory: Path) -> CompileResult:
        """Object, assembly and static report in `directory`; `report.estimate` is set."""
        ...

    async def run_tests(self, text: str, problem: Problem, compiled: CompileResult) -> TestReport:
        """Numerics against the task's reference, held-out sizes included."""
        ...

    def search_knowledge(self, query: str, *, problem: Problem, top: int = 5) -> SearchResult:
        """Passages of the knowledge base for a question."""
        ...
