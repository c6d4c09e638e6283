"""Where the graph goes next: pure functions of the state."""

from __future__ import annotations

from typing import Literal

from langgraph.types import Send

from argus.agents.policy import stopping
from argus.agents.policy.levels import LEVELS
from argus.graph.context import Budget
from argus.graph.state import LowerInput, RunState, best_of, lower_bound
from argus.graph.survey import candidates_left

MISSES = 2


def after_plan(state: RunState) -> Literal["select", "learn", "__end__"]:
    """A usable plan is selected from; a missing one is learned from; an ended search ends."""
    if state["stop_reason"]:
        return "__end__"
    return "select" if state["plan"] is not None else "learn"


def after_select(state: RunState) -> list[Send] | Literal["learn"]:
    """One branch for each candidate; a round without any is over."""
    chosen = state["candidates"]
    if not chosen:
        return "learn"
    branch = LowerInput(task=state["task"], candidate=chosen[0], allowance=state["allowance"], seconds=state["seconds"])
    return [Send("lower", {**branch, "candidate": c}) for c in chosen]


def after_learn(state: RunState) -> Literal["plan", "__end__"]:
    return "__end__" if state["stop_reason"] else "plan"


def stop_reason(state: RunState, budget: Budget) -> str:
    """Why the search ends after this round; empty while it goes on."""
    attempts = state["attempts"]
    best = best_of(attempts)
    if best is None:
        start = next((a for a in attempts if a.id == 0), None)
        return f"{stopping.NO_START}: {start.note}" if start and start.note else stopping.NO_START
    if stopping.at_floor(best.time_us, lower_bound(attempts)):
        return stopping.AT_FLOOR
    if state["misses"] >= MISSES:
        return stopping.NO_ANSWER
    if stopping.stalled(state["best_by_round"], all_open=len(state["open"]) == len(LEVELS)):
        return stopping.STALLED
    return spent(state, budget)


def spent(state: RunState, budget: Budget) -> str:
    """Which budget is used up; empty if none is."""
    if state["round"] >= budget.rounds:
        return f"{budget.rounds} rounds are done"
    if candidates_left(state["attempts"], budget) == 0:
        return f"{budget.candidates} candidates are tried"
    if budget.tokens is not None and state["tokens"] >= budget.tokens:
        return f"{budget.tokens} tokens are spent"
    if budget.over(state["seconds"]):
        return f"{budget.minutes:g} minutes are over"
    return ""
