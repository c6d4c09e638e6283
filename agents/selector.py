"""The selector: alone explores, keeps levels in order, and takes steps that differ."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai import Agent, ModelRetry, RunContext

from argus.agents.messages import Selection, SelectionState


@dataclass(frozen=True, slots=True)
class SelectorDeps:
    """What the selector is given beside its message."""

    state: SelectionState
    prompt: str


selector = Agent(deps_type=SelectorDeps, output_type=Selection, name="selector", retries={"output": 3, "tools": 1})


@selector.instructions
def _instructions(ctx: RunContext[SelectorDeps]) -> str:
    return ctx.deps.prompt


@selector.output_validator
def _legal(ctx: RunContext[SelectorDeps], answer: Selection) -> Selection:
    if reason := refusal(ctx.deps.state, answer):
        raise ModelRetry(reason)
    return answer


def refusal(state: SelectionState, answer: Selection) -> str:
    """Why a selection cannot be run; empty when it can."""
    known = {p.index: p for p in state.proposals}
    if unknown := [i for i in answer.chosen if i not in known]:
        return f"no proposal {unknown[0]}; indices are {', '.join(map(str, known))}"
    if len(answer.chosen) > state.slots:
        return f"at most {state.slots} proposals, not {len(answer.chosen)}"
    if known and state.slots and not answer.chosen:
        return "choose at least one proposal"
    names = [known[i].schedule_sha for i in answer.chosen]
    if len(set(names)) < len(names):
        return "two chosen proposals lead to the same schedule"
    return ""
