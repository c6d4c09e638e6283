"""Proposals turned into what the selector sees and into what a branch runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from argus.agents.attempt import Attempt, sha
from argus.agents.messages import LoweringTask, Plan, Proposal, ProposalView, SelectionState
from argus.agents.policy.arms import Catalogue, expected, realise, schedule_sha, spread_of
from argus.agents.policy.lessons import Arm, belief, success
from argus.agents.policy.levels import deepest
from argus.agents.policy.sample import calibration, combined
from argus.agents.prompts import Prompt
from argus.graph.context import Config
from argus.graph.facts import change_text, technique_note
from argus.graph.state import Candidate, RunState, best_of, lower_bound
from argus.graph.survey import arm_of, behind, next_id, seed_of
from argus.retrieval.card import Level


def selection_state(state: RunState, plan: Plan, catalogue: Catalogue, slots: int) -> SelectionState:
    """The selector's whole message: each proposal with what is believed of it."""
    known = {a.id: a for a in state["attempts"]}
    best = best_of(state["attempts"])
    # A valid kernel's reward is its log gain, so it compares with the stated score.
    told = [(a.score, a.reward) for a in known.values() if a.valid and a.reward is not None]
    return SelectionState(
        seed=seed_of(state),
        round=state["round"],
        slots=slots,
        calibration=calibration(told),
        proposals=tuple(
            _view(
                i,
                p,
                known[p.parent],
                behind(known[p.parent], best),
                catalogue,
                arms=state["arms"],
                opened=state["open"],
            )
            for i, p in enumerate(plan.proposals)
        ),
    )


def candidates(
    state: RunState, plan: Plan, chosen: Sequence[int], *, catalogue: Catalogue, config: Config, prompt: Prompt
) -> list[Candidate]:
    """The chosen proposals, numbered after the attempts so far."""
    known = {a.id: a for a in state["attempts"]}
    first = next_id(state["attempts"])
    return [
        _candidate(
            first + n,
            plan.proposals[i],
            known[plan.proposals[i].parent],
            state=state,
            catalogue=catalogue,
            config=config,
            prompt=prompt,
        )
        for n, i in enumerate(chosen)
    ]


def _view(
    index: int,
    p: Proposal,
    parent: Attempt,
    handicap: float,
    catalogue: Catalogue,
    *,
    arms: Mapping[str, Arm],
    opened: Sequence[Level],
) -> ProposalView:
    fields = realise(catalogue, parent.schedule, p.techniques, p.params)
    members = [arm_of(t, parent, catalogue, spread_of(catalogue, t, parent)) for t in p.techniques]
    beliefs = [belief(arms, member) for member in members]
    level = deepest(catalogue.cards[t].level for t in p.techniques)
    return ProposalView(
        index=index,
        techniques=p.techniques,
        parent=p.parent,
        behind=handicap,
        level=level,
        open=level in opened,
        schedule_sha=sha(p.model_dump_json()) if fields is None else schedule_sha(fields),
        score=math.log(p.expected_speedup),
        confidence=p.confidence,
        belief=combined(
            expected(catalogue, parent, p.techniques, fields),
            [(b.mean, b.scale, b.dof) for b in beliefs],
            min(success(arms, member) for member in members),
        ),
    )


def _candidate(
    number: int,
    p: Proposal,
    parent: Attempt,
    *,
    state: RunState,
    catalogue: Catalogue,
    config: Config,
    prompt: Prompt,
) -> Candidate:
    fields = realise(catalogue, parent.schedule, p.techniques, p.params)
    return Candidate(
        id=number,
        round=state["round"],
        parent=parent.id,
        techniques=p.techniques,
        params=p.params,
        schedule=fields,
        change=change_text(parent.schedule, fields),
        bottleneck=parent.bound,
        parent_us=parent.time_us,
        lower_bound_us=lower_bound(state["attempts"]),
        prior=expected(catalogue, parent, p.techniques, fields),
        score=math.log(p.expected_speedup),
        confidence=p.confidence,
        prompt_sha=prompt.sha,
        task=LoweringTask(
            contract=catalogue.problem.contract,
            target=catalogue.problem.target,
            parent_text=parent.text,
            parent_schedule=parent.schedule,
            techniques=tuple(technique_note(catalogue.cards[t]) for t in p.techniques),
            params=p.params,
            invariants=p.invariants,
            schedule=fields,
            feedback=config.feedback,
            tries=config.tries,
            seed=seed_of(state) + number,
        ),
    )
