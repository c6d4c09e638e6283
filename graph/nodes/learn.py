"""Node: rewards, beliefs, lessons; and whether the search goes on."""

from __future__ import annotations

from langgraph.runtime import Runtime

from argus.agents.policy.learning import learn as learned
from argus.agents.policy.learning import scored
from argus.agents.policy.lessons import lessons, planner_prompt
from argus.agents.prompts import load
from argus.graph.context import RunContext, bench
from argus.graph.events import BestChanged, Learned
from argus.graph.routes import stop_reason
from argus.graph.state import RunState, Update, best_of, by_id


async def learn(state: RunState, runtime: Runtime[RunContext]) -> Update:
    """Score the round's attempts, update the arms, and keep both in store and tracking."""
    context = runtime.context
    b = bench(context, state["task"])
    known = {a.id: a for a in state["attempts"]}
    fresh = [a for a in state["attempts"] if a.round == state["round"]]
    before = planner_prompt(lessons(state["arms"]))
    if context.config.learning:
        after = learned(state["arms"], fresh, known, b.catalogue, context.reward)
        attempts, arms = after.attempts, after.arms
    else:
        attempts, arms = [scored(a, known, context.reward) for a in fresh], state["arms"]
    taught = lessons(arms)
    prompt = planner_prompt(taught)
    everything = by_id(state["attempts"], attempts)
    best, old = best_of(everything), best_of([a for a in state["attempts"] if a.round < state["round"]])
    if best is not None and (old is None or best.id != old.id):
        context.sink.emit(BestChanged(id=best.id, time_us=best.time_us or 0.0, speedup=best.speedup))
    context.sink.emit(Learned(round=state["round"], arms=len(arms), lessons=len(taught), prompt_sha=prompt.sha))
    if context.store:
        context.store.add_steps(context.episode, attempts)
        context.store.add_lessons(context.episode, taught)
        context.store.add_prompt(
            prompt.sha, parent=before.sha if before.sha != prompt.sha else None, seed_sha=load("planner").sha,
            lesson_ids=[x.id for x in taught],
        )  # fmt: skip
    if context.tracker:
        for a in attempts:
            await context.tracker.candidate(a, context.folder.attempt(a.id) if context.folder else None)
    update: Update = {"attempts": attempts, "arms": dict(arms), "seconds": context.watch.lap()}
    update["best_by_round"] = [*state["best_by_round"], best.time_us if best and best.time_us else float("inf")]
    update["stop_reason"] = state["stop_reason"] or stop_reason(
        {**state, **update, "attempts": everything}, context.budget
    )
    return update
