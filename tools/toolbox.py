"""The tools of one run: one compiler pool, one cache, one problem's numerics."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.diagnostics import CheckReport
from argus.dsl.frontend import parse
from argus.dsl.kernels import Problem
from argus.dsl.transform import to_core
from argus.retrieval.query import SearchResult
from argus.tools.cases import NUMERICS, requested_cases
from argus.tools.check import check_invariants, without_solver
from argus.tools.compile import DEFAULT_CACHE, finish
from argus.tools.cuda import compile_cuda
from argus.tools.results import CompileResult, TestReport
from argus.tools.search import search_knowledge

_RUN_CASES = "argus.tools.numerics:run_cases"


class Toolbox:
    """What agents and graph nodes may do. Use it as a context manager: it owns worker processes.

    Args:
        cache: Folder of artifacts by content, shared by runs.
        seed: Of the numeric tests' inputs and held-out sizes.
        workers: Compiler processes.
        timeout_s: For compiling and testing one kernel.
    """

    def __init__(
        self, cache: Path, *, seed: int = 0, workers: int = 2, timeout_s: float = 120.0, smt: bool = True
    ) -> None:
        self._cache = cache
        self._pool = CompilerPool(cache, workers=workers, timeout_s=timeout_s)
        self._seed = seed
        self._smt = smt
        # An agent, the validator and the compiler ask about the same text.
        self._checked: dict[tuple[str, str, str], CheckReport] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._pool.close()

    def warm(self) -> None:
        """Begin to start the compiler processes; returns at once."""
        self._pool.warm()

    def check_invariants(self, text: str, problem: Problem) -> CheckReport:
        """See `argus.tools.check.check_invariants`."""
        key = (text, problem.contract, problem.target)
        if key not in self._checked:
            report = check_invariants(text, problem)
            self._checked[key] = report if self._smt else without_solver(report)
        return self._checked[key]

    async def compile_kernel(self, text: str, problem: Problem, directory: Path) -> CompileResult:
        """Compile, run the numeric tests on what was compiled, estimate at the problem's shape.

        Kernels for sm_90a are tested where they are timed: on a GPU.

        Raises:
            KernelError: The kernel is at fault.
            ToolchainError: TVM, LLVM, the linker or the worker process is.
        """
        if problem.target == "sm_90a":
            return await asyncio.to_thread(compile_cuda, text, problem, directory, self._cache)
        start = time.perf_counter()
        numerics = requested_cases(problem, seed=self._seed)
        request = CompileRequest(
            text=text, target=problem.target, then=_RUN_CASES, options=numerics.model_dump(mode="json")
        )
        artifact = await self._pool.compile(request)
        checked = await asyncio.to_thread(self.check_invariants, text, problem)
        core = to_core(parse(text))
        result = finish(artifact, core, sizes=problem.sizes, checked=checked, directory=directory, start=start)
        tests = (artifact.directory / NUMERICS).read_bytes()
        (directory / NUMERICS).write_bytes(tests)
        return result

    async def run_tests(self, text: str, problem: Problem, compiled: CompileResult) -> TestReport:
        """The numeric tests that ran beside the compilation, on the very TIR that was compiled."""
        del text, problem
        return TestReport.model_validate_json((compiled.directory / NUMERICS).read_bytes())

    def search_knowledge(self, query: str, *, problem: Problem, top: int = 5) -> SearchResult:
        """Cards for the problem's target and family, by words alone: no run loads torch."""
        return search_knowledge(query, problem=problem, top=top, mode="bm25")


def open_toolbox(*, smt: bool = True, workers: int = 2, cache: Path = DEFAULT_CACHE) -> Toolbox:
    """The project's tools; `smt=False` leaves undecided what only the solver decides."""
    return Toolbox(cache, workers=workers, smt=smt)
