"""The lowering agent: writes the new kernel and mends it against the checker's counterexamples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import Agent, ModelRetry, RunContext

from argus.agents.messages import CheckAnswer, Declined, LoweredKernel, LoweringTask
from argus.agents.toolbox import Toolbox
from argus.dsl.diagnostics import CheckReport, KernelError
from argus.dsl.kernels import Family, Problem


@dataclass(frozen=True, slots=True)
class Check:
    """A text that was checked on the way, with the report or the diagnostic that it earned."""

    text: str
    answer: CheckAnswer
    report: CheckReport | None = None


@dataclass(frozen=True, slots=True)
class LoweringDeps:
    """What the lowering's tools work with.

    Attributes:
        checks: Every text that was checked, in order: repairs become visible, and nothing is checked twice.
        checking: Whether invariants are checked at all.
    """

    task: LoweringTask
    toolbox: Toolbox
    problem: Problem
    family: Family
    prompt: str
    checking: bool = True
    checks: list[Check] = field(default_factory=list[Check])

    def check(self, text: str) -> Check:
        """Check a text once."""
        known = next((c for c in self.checks if c.text == text), None)
        if known is None:
            known = self._check(text)
            self.checks.append(known)
        return known

    def _check(self, text: str) -> Check:
        if not self.checking:
            return Check(text, CheckAnswer(ok=True, text="invariants are not checked in this run"))
        try:
            report = self.toolbox.check_invariants(text, self.problem)
        except KernelError as error:
            d = error.diagnostic
            told = d.render(text.splitlines())
            return Check(text, CheckAnswer(ok=False, code=d.code, line=d.span.line, text=told))
        except AssertionError:
            raise
        except Exception as error:
            # A text that trips the checker is not proved; it must not end everyone else's run.
            told = f"the checker failed on this text ({type(error).__name__}); write it in another way"
            return Check(text, CheckAnswer(ok=False, code="internal", text=told))
        return Check(text, check_answer(report, text, feedback=self.task.feedback), report)


lowering = Agent(
    deps_type=LoweringDeps,
    output_type=[LoweredKernel, Declined],
    name="lowering",
    retries={"output": 3, "tools": 2},
)


@lowering.instructions
def _instructions(ctx: RunContext[LoweringDeps]) -> str:
    return ctx.deps.prompt


@lowering.tool
async def print_kernel(ctx: RunContext[LoweringDeps], schedule: dict[str, Any]) -> str:
    """The family's kernel text for a schedule; all fields that are left out take their defaults."""
    try:
        return ctx.deps.family.text(ctx.deps.family.parse_schedule(schedule), ctx.deps.problem)
    except ValueError as error:
        raise ModelRetry(f"no kernel for this schedule: {error}") from error


# Async although it does not wait: the solver behind it must stay in one thread.
@lowering.tool
async def check_invariants(ctx: RunContext[LoweringDeps], text: str) -> CheckAnswer:
    """Check a whole kernel text: verdicts on all obligations, and a counterexample for each that is refuted."""
    return ctx.deps.check(text).answer


@lowering.tool
async def search_knowledge(ctx: RunContext[LoweringDeps], query: str) -> str:
    """Passages of the knowledge base for a question, as JSON."""
    return ctx.deps.toolbox.search_knowledge(query, problem=ctx.deps.problem).model_dump_json()


@lowering.output_validator
async def _proved(ctx: RunContext[LoweringDeps], answer: LoweredKernel | Declined) -> LoweredKernel | Declined:
    """Send an unproved kernel back while tries are left; the last one goes on, and validation says what it is."""
    if isinstance(answer, Declined):
        return answer
    found = ctx.deps.check(answer.text).answer
    if not found.ok and ctx.retry < ctx.max_retries:
        raise ModelRetry(f"not every obligation is proved\n{found.text}")
    return answer


def check_answer(report: CheckReport, text: str, *, feedback: bool) -> CheckAnswer:
    """A check report as agents see it; without feedback only the counts."""
    found: tuple[dict[str, Any], ...] = ()
    told = f"{report.count('proved')} of {len(report.obligations)} obligations proved"
    if feedback:
        found = tuple(c.model_dump(mode="json", exclude_defaults=True) for c in report.counterexamples)
        told = report.render(text)
    return CheckAnswer(
        ok=report.ok,
        proved=report.count("proved"),
        refuted=report.count("refuted"),
        unknown=report.count("unknown"),
        counterexamples=found,
        text=told,
    )
