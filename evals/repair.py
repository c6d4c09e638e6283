"""How much counterexamples help: planted bugs repaired by the lowering agent, with its feedback and without."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel

from argus.agents.ask import ask
from argus.agents.lowering import LoweringDeps, lowering
from argus.agents.messages import LoweredKernel, LoweringTask, render
from argus.agents.models import resolve
from argus.agents.prompts import load
from argus.dsl.diagnostics import CheckReport, KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir.contract import contract_sha
from argus.dsl.kernels import Problem, families, make_problem, task_named
from argus.dsl.transform import to_core
from argus.evals.judge import is_wrong
from argus.evals.planted import BUGS, PlantedBug, sources
from argus.evals.subjects import SCHEDULES, Subject
from argus.retrieval.query import SearchResult
from argus.tools.check import check_invariants
from argus.tools.results import CompileResult, TestReport

SCHEMA_VERSION = 1
WANTED_SHOWN, ALLOWED_HIDDEN = 0.8, 0.2


class Tried(BaseModel, frozen=True):
    """One repair.

    Attributes:
        fixed: All obligations proved, the contract the task's, and the interpreter finds nothing wrong.
        checks: Texts that were checked, the broken one included.
        text: What the agent answered.
        why_not: What is still wrong with it.
    """

    fixed: bool
    checks: int
    text: str = ""
    why_not: str = ""


class RepairedBug(BaseModel, frozen=True):
    """One bug, with the counterexample shown and hidden.

    Attributes:
        scheduled: Whether the kernel has a schedule, that is, a family prints it.
    """

    name: str
    origin: str
    fix_class: str
    scheduled: bool
    shown: Tried
    hidden: Tried


class RepairReport(BaseModel, frozen=True):
    """`argus eval repair --json`; shares are of all bugs."""

    schema_version: int = SCHEMA_VERSION
    seed: int
    model: str
    bugs: tuple[RepairedBug, ...]
    shown_share: float
    hidden_share: float
    seconds: float

    @property
    def ok(self) -> bool:
        """Most bugs are repaired when the counterexample is shown, few when it is hidden."""
        return bool(self.bugs) and self.shown_share >= WANTED_SHOWN and self.hidden_share <= ALLOWED_HIDDEN

    def render(self) -> str:
        """A line for each bug, and the shares."""
        lines = [f"{'bug':44}{'class':20}{'schedule':10}{'shown':>10}{'hidden':>10}"]
        for b in self.bugs:
            told = (_outcome(b.shown), _outcome(b.hidden))
            lines.append(f"{b.name:44}{b.fix_class:20}{'yes' if b.scheduled else 'no':10}{told[0]:>10}{told[1]:>10}")
        lines.append(
            f"of {len(self.bugs)} repaired with the counterexample shown {100 * self.shown_share:.0f} %, "
            f"hidden {100 * self.hidden_share:.0f} % ({self.model}, seed {self.seed}, {self.seconds:.0f} s)"
        )
        return "\n".join(lines)


def _outcome(tried: Tried) -> str:
    return f"{tried.checks - 1} tries" if tried.fixed else "no"


def evaluate_repair(
    *,
    seed: int = 0,
    model: str = "offline",
    bugs: Sequence[PlantedBug] = BUGS,
    progress: Callable[[int, int], None] | None = None,
) -> RepairReport:
    """Plant each bug, and ask the lowering agent for the kernel, with feedback and without.

    Args:
        seed: Of the choices of an agent that is told nothing.
        model: Who answers, as `--model lowering=…` takes it.
        bugs: Those whose kernels are not here (tests are no part of an installed package) are left out.
        progress: Called with how many of how many are done.

    Raises:
        ModelConfigError: If there is no such model.
        ToolchainError: If its provider fails.
    """
    began = time.perf_counter()
    known = sources()
    chosen = [bug for bug in bugs if bug.origin in known]
    found: list[RepairedBug] = []
    for number, bug in enumerate(chosen):
        kernel = known[bug.origin]
        shown, hidden = (
            asyncio.run(repaired(bug, kernel, feedback=feedback, seed=seed + number, model=model))
            for feedback in (True, False)
        )
        found.append(
            RepairedBug(
                name=bug.name, origin=bug.origin, fix_class=bug.fix_class, scheduled=bug.origin in SCHEDULES,
                shown=shown, hidden=hidden,
            )
        )  # fmt: skip
        if progress is not None:
            progress(number + 1, len(chosen))
    return RepairReport(
        seed=seed,
        model=model,
        bugs=tuple(found),
        shown_share=sum(b.shown.fixed for b in found) / max(1, len(found)),
        hidden_share=sum(b.hidden.fixed for b in found) / max(1, len(found)),
        seconds=time.perf_counter() - began,
    )


async def repaired(bug: PlantedBug, kernel: Subject, *, feedback: bool, seed: int, model: str = "offline") -> Tried:
    """One question to the lowering agent, as a run of the graph asks it, with the broken text as draft."""
    problem = make_problem(task_named("gemm"), dtype="bf16")
    schedule = SCHEDULES[bug.origin].model_dump(mode="json") if bug.origin in SCHEDULES else None
    task = LoweringTask(
        contract=problem.contract,
        target=problem.target,
        parent_text=kernel.text,
        schedule=schedule,
        draft=bug.plant(kernel.text),
        feedback=feedback,
        seed=seed,
    )
    deps = LoweringDeps(task, _Checker(), problem, families()["gemm"], load("lowering").text)
    answer = await ask(lowering, render(task), deps=deps, model=resolve({"lowering": model})["lowering"])
    checks = len(deps.checks)
    if not isinstance(answer.value, LoweredKernel):
        return Tried(fixed=False, checks=checks, why_not=answer.refusal or "declined")
    text = answer.value.text
    why_not = still_wrong(text, problem, kernel)
    return Tried(fixed=not why_not, checks=checks, text=text, why_not=why_not)


def still_wrong(text: str, problem: Problem, kernel: Subject) -> str:
    """What speaks against calling a kernel repaired; empty: nothing."""
    try:
        report = check_invariants(text, problem)
        if not report.ok:
            return report.render(text)
        if contract_sha(parse(text)) != contract_sha(parse(kernel.text)):
            return "the contract is another one"
        return is_wrong(to_core(parse(text)), kernel)
    except KernelError as error:
        return error.diagnostic.render(text.splitlines())


class _Checker:
    """A toolbox for repairs alone: nothing is compiled."""

    def check_invariants(self, text: str, problem: Problem) -> CheckReport:
        return check_invariants(text, problem)

    async def compile_kernel(self, text: str, problem: Problem, directory: Path) -> CompileResult:
        raise AssertionError("repairs compile nothing")

    async def run_tests(self, text: str, problem: Problem, compiled: CompileResult) -> TestReport:
        raise AssertionError("repairs run no compiled code")

    def search_knowledge(self, query: str, *, problem: Problem, top: int = 5) -> SearchResult:
        del problem, top
        return SearchResult(query=query, mode="bm25")
