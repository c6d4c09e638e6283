"""Node: ask the planner what to try next."""

from __future__ import annotations

from langgraph.runtime import Runtime

from argus.agents.ask import ask
from argus.agents.attempt import Attempt
from argus.agents.messages import render
from argus.agents.planner import PlannerDeps, planner
from argus.agents.policy import stopping
from argus.agents.policy.lessons import planner_prompt
from argus.graph.context import RunContext, bench
from argus.graph.events import Planned
from argus.graph.facts import planning_state
from argus.graph.state import RunState, Update
from argus.graph.survey import next_id, slots, survey, tokens_left, tried_schedules


async def plan(state: RunState, runtime: Runtime[RunContext]) -> Update:
    """Survey the arms; end when none promises anything, else take the planner's proposals."""
    context = runtime.context
    b = bench(context, state["task"])
    attempts, number = state["attempts"], state["round"] + 1
    found = survey(state, b.catalogue)
    if b.offline("planner") and stopping.no_promise(found.chances):
        return {"plan": None, "stop_reason": stopping.NO_PROMISE, "open": found.open}
    room = slots(attempts, number, context.budget, context.config.concurrency)
    told = planning_state(state, found, b.catalogue, context.budget, round_number=number, room=room)
    prompt = planner_prompt(told.lessons)
    parents = {a.id: a for a in found.parents}
    deps = PlannerDeps(told, b.catalogue, parents, tried_schedules(attempts), b.toolbox, prompt.text)
    budget = tokens_left(state, context.budget)
    answer = await ask(planner, render(told), deps=deps, model=b.models["planner"], tokens=budget)
    proposals = len(answer.value.proposals) if answer.value else 0
    context.sink.emit(
        Planned(
            round=number,
            arms=len(found.arms),
            eligible=tuple(dict.fromkeys(arm.card for arm in found.arms)),
            open=found.open,
            proposals=proposals,
            refusal=answer.refusal,
            tokens=answer.tokens,
        )
    )
    update: Update = {"round": number, "plan": answer.value, "candidates": [], "open": found.open}
    update |= {"tokens": answer.tokens, "misses": 0 if answer.value else state["misses"] + 1}
    if answer.value is None:
        missed = _missed(next_id(attempts), number, found.parents[0], prompt.sha)
        update["attempts"] = [missed.model_copy(update={"note": answer.refusal, "tokens": answer.tokens})]
    elif not proposals:
        update["stop_reason"] = stopping.NO_PROPOSAL
    return update


def _missed(number: int, round_number: int, parent: Attempt, prompt_sha: str) -> Attempt:
    """The record of a round without a usable plan."""
    return Attempt(
        id=number,
        round=round_number,
        parent=parent.id,
        status="no_kernel",
        fault="proposal",
        prompt_sha=prompt_sha,
    )
