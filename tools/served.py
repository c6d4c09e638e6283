"""The five tools as a server offers them: plain arguments in, an answer out, nothing raised at the caller."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from argus.dsl.codegen.report import Report
from argus.dsl.diagnostics import CheckReport, Code, Diagnostic, KernelError, Span
from argus.dsl.kernels import Problem, make_problem, task_named
from argus.retrieval.query import SearchResult
from argus.tools import check, compile, profile, run_tests, search  # noqa: A004 - named as the tools are
from argus.tools.answers import NO_KERNEL, Answer, answered
from argus.tools.results import CompileResult, TestReport
from argus.tools.toolbox import Toolbox

Text = Annotated[str, Field(description="Kernel text: one @kernel function in the tile language.")]
TaskName = Annotated[str, Field(description="The task whose contract the kernel has, e.g. gemm.")]
Dtype = Annotated[str | None, Field(description="The task's input type, e.g. bf16; its first if left out.")]
Target = Annotated[str, Field(description="gfx942 or sm_90a; must be the kernel's own.")]
Shape = Annotated[dict[str, int] | None, Field(description="Sizes by name, e.g. m, n, k; the task's if left out.")]


@dataclass(frozen=True, slots=True)
class Served:
    """The tools of one server process; `cache` holds what was compiled."""

    toolbox: Toolbox
    cache: Path

    async def check_invariants(
        self, text: Text, task: TaskName | None = None, dtype: Dtype = None, target: Target = "gfx942"
    ) -> Answer[CheckReport]:
        """Prove every obligation of a kernel: races, bounds, completeness, what it asserts.

        `ok` is true when there is at least one obligation and all are proved; each that is refuted comes with a
        counterexample: thread, element, place in the text, and the kind of edit that mends it. With a task, the
        kernel's contract must be the task's.
        """

        async def act() -> CheckReport:
            problem = None if task is None else _problem(task, dtype, target)
            return await asyncio.to_thread(check.check_invariants, text, problem)

        return await answered(act, source=text, told=lambda report: report.render(text))

    async def compile_kernel(self, text: Text) -> Answer[CompileResult]:
        """Compile a kernel to a code object and its assembly, and say where they lie. No GPU is needed."""

        async def act() -> CompileResult:
            return await asyncio.to_thread(compile.compile_kernel, text, cache=self.cache)

        return await answered(act, source=text)

    async def run_tests(
        self, text: Text, task: TaskName, dtype: Dtype = None, target: Target = "gfx942"
    ) -> Answer[TestReport]:
        """Execute the lowered kernel in a simulator at ragged sizes and compare with an fp64 reference.

        An error of 1 is the whole tolerance. Held-out cases show their verdict alone.
        """

        async def act() -> TestReport:
            report = await run_tests.run_tests(text, _problem(task, dtype, target), toolbox=self.toolbox)
            return run_tests.without_held_out(report)

        def told(report: TestReport) -> str:
            return f"{report.passed} of {len(report.cases)} cases passed"

        return await answered(act, source=text, told=told)

    async def profile(
        self, text: Text, task: TaskName, shape: Shape = None, dtype: Dtype = None, target: Target = "gfx942"
    ) -> Answer[Report]:
        """Registers, LDS, occupancy, the main loop's instructions, and a time by resource at the given sizes.

        The time is an estimate: computed from the compiled code, not measured.
        """

        async def act() -> Report:
            return await profile.profile(text, _problem(task, dtype, target, shape), toolbox=self.toolbox)

        def told(report: Report) -> str:
            e = report.estimate
            return "no estimate" if e is None else f"est {e.time_us:,.1f} us, limited by {e.bound}, then {e.next_bound}"

        return await answered(act, source=text, told=told)

    async def search_knowledge(
        self,
        query: Annotated[str, Field(description="A question, a symptom, a few words.")],
        task: TaskName | None = None,
        top: Annotated[int, Field(ge=1, le=20, description="At most so many cards.")] = 5,
    ) -> Answer[SearchResult]:
        """The optimisation techniques of the knowledge base that fit a question, best first."""

        async def act() -> SearchResult:
            if not query.strip():
                raise _refused("the query is empty", "write what you look for, such as a symptom")
            problem = None if task is None else _problem(task, None, None)
            # By words alone: no server loads torch.
            return await asyncio.to_thread(search.search_knowledge, query, problem=problem, top=top, mode="bm25")

        return await answered(act)


def _problem(task: str, dtype: str | None, target: str | None, shape: dict[str, int] | None = None) -> Problem:
    known = task_named(task)
    return make_problem(known, shape=shape, dtype=dtype, target=target or known.targets[0])


def _refused(message: str, hint: str) -> KernelError:
    where = Span(NO_KERNEL, 1, 1, 1, 1)
    return KernelError(Diagnostic(code=Code.BAD_CALL, message=message, span=where, hint=hint))
