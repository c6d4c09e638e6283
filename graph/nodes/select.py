"""Node: choose which proposals are tried."""

from __future__ import annotations

import math

from langgraph.runtime import Runtime

from argus.agents.ask import ask
from argus.agents.messages import render
from argus.agents.policy.lessons import lessons, planner_prompt
from argus.agents.policy.sample import choose
from argus.agents.prompts import load
from argus.agents.selector import SelectorDeps, selector
from argus.graph.candidates import candidates, selection_state
from argus.graph.context import RunContext, bench
from argus.graph.events import Selected
from argus.graph.state import RunState, Update
from argus.graph.survey import slots, tokens_left


async def select(state: RunState, runtime: Runtime[RunContext]) -> Update:
    """Make candidates of the proposals that the selector takes; without an answer the policy takes them."""
    context = runtime.context
    b = bench(context, state["task"])
    plan = state["plan"]
    assert plan is not None, "the route after planning lets only plans through"
    room = slots(state["attempts"], state["round"], context.budget, context.config.concurrency)
    told = selection_state(state, plan, b.catalogue, room)
    deps = SelectorDeps(told, load("selector").text)
    budget = tokens_left(state, context.budget)
    answer = await ask(selector, render(told), deps=deps, model=b.models["selector"], tokens=budget)
    chosen = answer.value.chosen if answer.value else choose(told)
    prompt = planner_prompt(lessons(state["arms"]))
    found = candidates(state, plan, chosen, catalogue=b.catalogue, config=context.config, prompt=prompt)
    for c in found:
        context.sink.emit(
            Selected(
                id=c.id,
                round=c.round,
                parent=c.parent or 0,
                techniques=c.techniques,
                params=c.params,
                change=c.change,
                expected_speedup=math.exp(c.score),
            )
        )
    left = None if budget is None else max(0, budget - answer.tokens) // max(1, len(found))
    return {"candidates": found, "tokens": answer.tokens, "allowance": left}
