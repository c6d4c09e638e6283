"""The planner: ranks the steps worth trying next. It does not randomise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_ai import Agent, ModelRetry, RunContext

from argus.agents.attempt import Attempt
from argus.agents.messages import Plan, PlanningState, Proposal
from argus.agents.policy.arms import Catalogue, IllegalStep, realise, schedule_sha
from argus.agents.toolbox import Toolbox


@dataclass(frozen=True, slots=True)
class PlannerDeps:
    """What judges a plan; no part of it reaches the model.

    Attributes:
        tried: Names of schedules that were evaluated already.
    """

    state: PlanningState
    catalogue: Catalogue
    parents: Mapping[int, Attempt]
    tried: frozenset[str]
    toolbox: Toolbox
    prompt: str


planner = Agent(deps_type=PlannerDeps, output_type=Plan, name="planner", retries={"output": 4, "tools": 1})


@planner.instructions
def _instructions(ctx: RunContext[PlannerDeps]) -> str:
    return ctx.deps.prompt


@planner.tool
def search_knowledge(ctx: RunContext[PlannerDeps], query: str) -> str:
    """Passages of the knowledge base for a question, as JSON."""
    found = ctx.deps.toolbox.search_knowledge(query, problem=ctx.deps.catalogue.problem)
    return found.model_dump_json()


@planner.output_validator
def _legal(ctx: RunContext[PlannerDeps], answer: Plan) -> Plan:
    """Refuse what cannot be tried, proposal by proposal; a last answer keeps its legal part."""
    refused = {i: reason for i, p in enumerate(answer.proposals) if (reason := refusal(ctx.deps, p))}
    if not refused:
        return answer
    legal = tuple(p for i, p in enumerate(answer.proposals) if i not in refused)
    if legal and ctx.retry >= ctx.max_retries:
        return Plan(proposals=legal)
    lines = [f"proposal {i}: {reason}" for i, reason in refused.items()]
    raise ModelRetry("\n".join([*lines, "Keep the other proposals and mend or drop these; counting starts at 0."]))


def refusal(deps: PlannerDeps, proposal: Proposal) -> str:
    """Why a proposal cannot be tried; empty when it can."""
    parent = deps.parents.get(proposal.parent)
    if parent is None:
        return f"no parent {proposal.parent}; parents are {', '.join(map(str, deps.parents))}"
    known = {card.id for card in deps.state.cards}
    if unknown := [t for t in proposal.techniques if t not in known]:
        return f"no card {unknown[0]!r} here; choose from {', '.join(sorted(known))}"
    try:
        fields = realise(deps.catalogue, parent.schedule, proposal.techniques, proposal.params)
    except IllegalStep as error:
        return str(error)
    if fields is not None and schedule_sha(fields) in deps.tried:
        return "this schedule was evaluated already; choose other parameters"
    return ""
