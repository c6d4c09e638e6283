"""One question to one agent: budgets, retries of the provider, and answers that never come."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelNotFoundError,
    ModelRequestRejectedError,
)
from pydantic_ai.models import Model
from pydantic_ai.usage import RunUsage

from argus.agents.models import ModelConfigError, name_of
from argus.dsl.diagnostics import ToolchainError

T = TypeVar("T")

REQUESTS = 24  # of one question: tool calls and retries included
ATTEMPTS = 3
PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A value, or why there is none; the tokens are spent either way."""

    value: T | None
    tokens: int
    refusal: str = ""


async def ask(
    agent: Agent[Any, T], message: str, *, deps: object, model: Model, tokens: int | None = None
) -> Answer[T]:
    """Run an agent to its typed output.

    Args:
        agent: One of ours.
        message: The rendered document.
        deps: The agent's dependencies.
        model: Who answers.
        tokens: Most that may be spent; None: no limit.

    Returns:
        The output; or none, when the model never gave a usable one or the budget ended.

    Raises:
        ModelConfigError: The provider knows neither key nor model.
        ToolchainError: The provider failed again and again.
    """
    limits = UsageLimits(request_limit=REQUESTS, total_tokens_limit=tokens)
    for attempt in range(1, ATTEMPTS + 1):
        usage = RunUsage()
        try:
            result = await agent.run(message, deps=deps, model=model, usage=usage, usage_limits=limits)
        except (ModelAuthenticationError, ModelNotFoundError) as error:
            raise ModelConfigError(f"{agent.name}: {name_of(model)} refused", str(error)) from error
        except ModelRequestRejectedError as error:
            return Answer(None, usage.total_tokens, _reason(error))
        except ModelAPIError as error:
            if attempt == ATTEMPTS:
                raise ToolchainError(f"{agent.name}: {name_of(model)} failed {ATTEMPTS} times: {error}") from error
            await asyncio.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
        except AgentRunError as error:
            # No usable answer within the retries, the request limit or the token budget.
            return Answer(None, usage.total_tokens, _reason(error))
        else:
            return Answer(result.output, usage.total_tokens)
    raise AssertionError("the last attempt returns or raises")


def _reason(error: Exception) -> str:
    cause = f": {error.__cause__}" if error.__cause__ is not None else ""
    return f"{type(error).__name__}: {error}{cause}"[:400]
