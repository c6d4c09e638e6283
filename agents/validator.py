"""The validator agent: says in a sentence why a candidate failed. Verdicts are the tools'; it cannot change one."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_ai import Agent, RunContext

from argus.agents.messages import Explanation


@dataclass(frozen=True, slots=True)
class ValidatorDeps:
    """What the validator is given beside its message."""

    prompt: str


validator = Agent(deps_type=ValidatorDeps, output_type=Explanation, name="validator", retries={"output": 2, "tools": 1})


@validator.instructions
def _instructions(ctx: RunContext[ValidatorDeps]) -> str:
    return ctx.deps.prompt
