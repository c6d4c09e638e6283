"""Node: one candidate becomes kernel text."""

from __future__ import annotations

from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from argus.agents.ask import Answer, ask
from argus.agents.attempt import Fault
from argus.agents.lowering import LoweringDeps, lowering
from argus.agents.messages import Declined, LoweredKernel, render
from argus.agents.prompts import load
from argus.dsl.diagnostics import ToolchainError
from argus.graph.context import RunContext, bench
from argus.graph.drafts import outcome, refusals
from argus.graph.events import Lowered
from argus.graph.state import Draft, LowerInput, Update, ValidateInput


async def lower(state: LowerInput, runtime: Runtime[RunContext]) -> Command[str]:
    """Ask the lowering agent; go on to validation with what it wrote. After the time budget nothing is begun."""
    context, candidate = runtime.context, state["candidate"]
    assert candidate.task is not None, "only the start kernel has no lowering task"
    if context.budget.over(state["seconds"] + context.watch.since()):
        late: ValidateInput = {"task": state["task"], "draft": Draft(candidate=candidate, skipped=True)}
        return Command(goto=[Send("validate", late)])
    b = bench(context, state["task"])
    began = context.watch.clock()
    deps = LoweringDeps(
        candidate.task, b.toolbox, b.problem, b.family, load("lowering").text, checking=context.config.tags
    )
    answer: Answer[LoweredKernel | Declined]
    fault: Fault = "lowering"
    try:
        answer = await ask(
            lowering, render(candidate.task), deps=deps, model=b.models["lowering"], tokens=state["allowance"]
        )
    except ToolchainError as error:
        answer, fault = Answer(None, 0, str(error)), "toolchain"
    found = outcome(candidate, answer, fault, deps)
    draft = found.draft.model_copy(update={"seconds": context.watch.clock() - began})
    for event in refusals(found):
        context.sink.emit(event)
    context.sink.emit(
        Lowered(
            id=candidate.id,
            repairs=draft.repairs,
            fault=draft.fault,
            note=draft.note,
            tokens=draft.tokens,
            seconds=draft.seconds,
        )
    )
    update: Update = {"tokens": draft.tokens}
    branch: ValidateInput = {"task": state["task"], "draft": draft}
    return Command(update=update, goto=[Send("validate", branch)])
