"""Node: the start kernel, attempt 0, which goes through the same validation as every other."""

from __future__ import annotations

from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from argus.graph.context import RunContext, bench
from argus.graph.state import Candidate, Draft, RunState, Update, ValidateInput


async def begin(state: RunState, runtime: Runtime[RunContext]) -> Command[str]:
    """Print the family's first kernel."""
    context = runtime.context
    b = bench(context, state["task"])
    schedule = b.family.start(b.problem)
    fields = schedule.model_dump(mode="json")
    draft = Draft(
        candidate=Candidate(id=0, round=0, schedule=fields, change="start"),
        text=b.family.text(schedule, b.problem),
        schedule=fields,
    )
    update: Update = {
        "round": 0,
        "plan": None,
        "candidates": [],
        "arms": dict(context.arms),
        "best_by_round": [],
        "open": (),
        "allowance": None,
        "library_us": None,
        "misses": 0,
        "stop_reason": "",
    }
    branch: ValidateInput = {"task": state["task"], "draft": draft}
    return Command(update=update, goto=[Send("validate", branch)])
