"""Model strings: what they resolve to, and what is said of those that do not."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel

from argus.agents import ask as asking
from argus.agents.ask import ask
from argus.agents.models import NODES, ModelConfigError, name_of, parse_models, resolve
from argus.agents.offline import OfflineModel
from argus.dsl.diagnostics import ToolchainError


def test_without_a_choice_the_policy_answers() -> None:
    found = resolve({})
    assert set(found) == set(NODES)
    assert all(isinstance(model, OfflineModel) for model in found.values())
    assert name_of(found["planner"]) == "offline"


def test_strings_choose_by_node_and_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    chosen = parse_models(["planner=anthropic:some-model", "openai-chat:local", "selector=offline"])
    assert chosen == {"planner": "anthropic:some-model", "default": "openai-chat:local", "selector": "offline"}
    found = resolve(chosen)
    assert isinstance(found["planner"], AnthropicModel)
    assert isinstance(found["selector"], OfflineModel)
    assert isinstance(found["lowering"], OpenAIChatModel)
    assert name_of(found["planner"]) == "anthropic:some-model"


@pytest.mark.parametrize(
    ("choice", "message", "hint"),
    [
        ("planner=anthropic:x", "planner: cannot use 'anthropic:x'", "ANTHROPIC_API_KEY"),
        ("lowering=nope:x", "lowering: cannot use 'nope:x'", "providers are"),
        ("some-model", "names no provider", "PROVIDER:NAME"),
        ("litellm:x", "litellm is not supported", "openai-chat:"),
        ("planer=offline", "no agent is called 'planer'", "did you mean 'planner'"),
        ("planner=", "no model in 'planner='", "NODE=PROVIDER:NAME"),
        ("bedrock:x", "", ""),
    ],
)
def test_what_cannot_be_used_says_why(monkeypatch: pytest.MonkeyPatch, choice: str, message: str, hint: str) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelConfigError) as refused:
        resolve(parse_models([choice]))
    assert message in refused.value.message
    assert hint in refused.value.hint


agent = Agent(output_type=int, name="counter", retries={"output": 2, "tools": 1})


def failing(status: int, times: int) -> FunctionModel:
    calls: list[int] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages
        calls.append(1)
        if len(calls) <= times:
            raise ModelHTTPError(status_code=status, model_name="m", body="no")
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"response": 7})])

    return FunctionModel(reply, model_name="m")


async def test_a_provider_that_recovers_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSE_SECONDS", 0.0)
    answer = await ask(agent, "how many?", deps=None, model=failing(503, 2))
    assert (answer.value, answer.refusal) == (7, "")
    assert answer.tokens > 0


async def test_a_provider_that_stays_down_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSE_SECONDS", 0.0)
    with pytest.raises(ToolchainError, match="counter: function:m failed 3 times"):
        await ask(agent, "how many?", deps=None, model=failing(503, 99))


async def test_nonsense_is_an_answer_without_a_value() -> None:
    def nonsense(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages, info
        return ModelResponse(parts=[TextPart("purple")])

    answer = await ask(agent, "how many?", deps=None, model=FunctionModel(nonsense))
    assert answer.value is None
    assert "Exceeded maximum" in answer.refusal
    assert answer.tokens > 0


async def test_a_token_budget_is_kept() -> None:
    answer = await ask(agent, "how many?" * 100, deps=None, model=failing(0, 0), tokens=10)
    assert answer.value is None
    assert "tokens" in answer.refusal
