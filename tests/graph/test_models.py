"""Models in the policy's place: the same messages, the same validation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph_fakes import FakeToolbox, cards, family, problem
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from argus.agents.attempt import Attempt
from argus.agents.messages import LoweringTask, PlanningState, parse_as, render
from argus.agents.offline import answer
from argus.graph.build import build_graph
from argus.graph.context import Budget, Config
from argus.graph.result import RunResult
from argus.graph.run import aoptimize

Reply = Callable[[list[ModelMessage], AgentInfo], ModelResponse]


def user_text(messages: list[ModelMessage]) -> str:
    (first, *_) = (
        part.content
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )
    assert isinstance(first, str)
    return first


def last(messages: list[ModelMessage]) -> str:
    """What the model was told last."""
    (part, *_) = messages[-1].parts
    assert isinstance(part, ToolReturnPart)
    return str(part.content)


def output(info: AgentInfo, value: dict[str, Any], tool: int = 0) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(info.output_tools[tool].name, value)])


async def run(
    out: Path, config: Config | None = None, toolbox: FakeToolbox | None = None, **replies: Reply
) -> RunResult:
    models = {node: FunctionModel(reply, model_name=node) for node, reply in replies.items()}
    tools = toolbox or FakeToolbox()
    return await aoptimize(
        "gemm", toolbox=tools, cards=cards(), models=models, out=out, rounds=1, candidates=2, config=config, track=False
    )


def kept(out: Path, number: int) -> Attempt:
    return Attempt.model_validate_json((out / "attempts" / str(number) / "attempt.json").read_text())


async def test_offline_and_model_planners_get_the_same_message(tmp_path: Path) -> None:
    seen: dict[str, list[str]] = {"offline": [], "model": []}

    def watched(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen["offline"].append(user_text(messages))
        return answer(messages, info)

    def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen["model"].append(user_text(messages))
        state = parse_as(PlanningState, seen["model"][-1])
        proposal = {
            "techniques": ["tiling"],
            "parent": state.parents[0].attempt,
            "params": {"tiling": {"rows": 256, "columns": 128}},
            "expected_speedup": 1.5,
            "confidence": 0.8,
        }
        return output(info, {"proposals": [proposal]})

    await run(tmp_path / "a", planner=watched)
    found = await run(tmp_path / "b", planner=scripted)
    # The policy is asked once more where it paired two techniques beyond a limit; the message stays the same.
    assert set(seen["offline"]) == set(seen["model"])
    assert len(set(seen["model"])) == 1
    assert [a.techniques for a in found.attempts] == [(), ("tiling",)]
    state = parse_as(PlanningState, seen["model"][0])
    assert render(state) == seen["model"][0]
    assert state.task.lower_bound_us == 100.0
    assert {arm.card for arm in state.arms} >= {"tiling", "stages", "agpr"}
    assert next(c for c in state.cards if c.id == "hand-written").change is None
    assert next(a for a in state.arms if a.card == "swizzle").bundle == ("pack",)
    assert next(a for a in state.arms if a.card == "swizzle").conditions == {"bank_conflicts.read_way >= 2": 8.0}


async def test_illegal_proposals_are_sent_back_with_reasons(tmp_path: Path) -> None:
    reasons: list[str] = []
    base = {"expected_speedup": 1.2, "confidence": 0.5, "parent": 0}

    def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            reasons.append(last(messages))
            return output(info, {"proposals": [{**base, "techniques": ["agpr"]}]})
        bad = [
            {**base, "techniques": ["no-such-card"]},
            {**base, "techniques": ["agpr"], "parent": 9},
            {**base, "techniques": ["tiling"], "params": {"tiling": {"rows": 100}}},
            {**base, "techniques": ["swizzle"]},
            {**base, "techniques": ["pack", "padding", "swizzle"]},
            {**base, "techniques": ["prefetch", "stages"]},
            {**base, "techniques": ["agpr"], "params": {"tiling": {"rows": 128}}},
            {**base, "techniques": ["tiling"], "params": {"tiling": {"rows": 64, "columns": 64}}},
            {**base, "techniques": ["agpr"]},
        ]
        return output(info, {"proposals": bad})

    found = await run(tmp_path / "run", planner=scripted)
    (told,) = reasons
    lines = told.splitlines()
    assert lines[0].startswith("proposal 0: no card 'no-such-card' here; choose from agpr")
    assert lines[1] == "proposal 1: no parent 9; parents are 0"
    assert "rows = 100 is not one of [64, 128, 192, 256]" in lines[2]
    assert lines[3] == "proposal 3: swizzle needs pack as well"
    assert "conflicts with" in lines[4]
    assert "prefetch is undone by a later one" in lines[5]
    assert "parameters for 'tiling'" in lines[6]
    assert "already is that schedule" in lines[7]
    assert not any(line.startswith("proposal 8") for line in lines)
    assert [a.techniques for a in found.attempts] == [(), ("agpr",)]


FREE = """@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    pass  # a kernel that no schedule prints
"""


async def test_text_that_no_schedule_expresses_goes_through_the_same_validator(tmp_path: Path) -> None:
    toolbox = FakeToolbox()

    def writes(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return output(info, {"text": FREE})

    found = await run(tmp_path / "run", toolbox=toolbox, lowering=writes)
    first = kept(tmp_path / "run", 1)
    assert (first.status, first.schedule, first.text, first.time_us) == ("valid", None, FREE, 900.0)
    assert [a.status for a in found.attempts] == ["valid"] * 3
    assert toolbox.log.count("compile") == toolbox.log.count("test") == 3
    # The validator checks for itself, whatever the agent checked before.
    assert toolbox.log.count("check") >= 3 + 2


async def test_a_kernel_with_a_bug_is_refused_then_recorded_as_refuted(tmp_path: Path) -> None:
    told: list[str] = []

    def stubborn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            told.append(last(messages))
        return output(info, {"text": FREE + "    # BUG\n"})

    toolbox = FakeToolbox()
    found = await run(tmp_path / "run", toolbox=toolbox, lowering=stubborn)
    assert "overwritten before it was read" in told[0]
    assert [(a.status, a.fault, a.obligations.refuted) for a in found.attempts[1:]] == [("refuted", "lowering", 1)] * 2
    assert all(a.reward is not None and a.reward < 0 for a in found.attempts[1:])
    assert toolbox.log.count("compile") == 1  # the start kernel's: nothing unproved is compiled
    assert "missing barrier" in kept(tmp_path / "run", 1).note


async def test_without_feedback_nobody_is_told_why(tmp_path: Path) -> None:
    told: list[str] = []

    def stubborn(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            told.append(last(messages))
        return output(info, {"text": FREE + "    # BUG\n"})

    await run(tmp_path / "run", Config(feedback=False), lowering=stubborn)
    assert told
    assert all(text == "not every obligation is proved\n1 of 2 obligations proved" for text in told)


async def test_without_tags_tests_alone_decide(tmp_path: Path) -> None:
    def writes(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return output(info, {"text": FREE + "    # BUG\n"})

    toolbox = FakeToolbox()
    found = await run(tmp_path / "run", Config(tags=False), toolbox, lowering=writes)
    assert toolbox.log.count("check") == 0
    assert {a.status for a in found.attempts} == {"valid"}
    assert all(a.obligations.proved == 0 for a in found.attempts)


async def test_a_schedule_over_the_targets_budget_is_the_proposals_fault(tmp_path: Path) -> None:
    def planner(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        # No card forbids it: pads of 16 on 256 rows with four stages need 96 KiB.
        proposal = {"techniques": ["agpr"], "parent": 0, "expected_speedup": 1.2, "confidence": 0.5}
        return output(info, {"proposals": [proposal]})

    def lowering(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        big = family().parse_schedule({"tile": (256, 256, 32), "stages": 4})
        return output(info, {"text": family().text(big, problem())})

    found = await run(tmp_path / "run", planner=planner, lowering=lowering)
    assert [(a.status, a.fault, a.reward) for a in found.attempts[1:]] == [("rejected", "proposal", None)]


async def test_a_token_budget_ends_the_run(tmp_path: Path) -> None:
    def lowering(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return output(info, {"text": FREE})

    model = FunctionModel(lowering, model_name="lowering")
    found = await aoptimize(
        "gemm", toolbox=FakeToolbox(), cards=cards(), models={"lowering": model}, out=tmp_path / "run", candidates=4,
        budget_tokens=600, track=False,
    )  # fmt: skip
    assert found.stop_reason == "600 tokens are spent"
    assert sum(a.tokens for a in found.attempts) >= 600


async def test_the_graph_runs_with_the_context_as_plain_data() -> None:
    """`{"task": …}` and a mapping are enough, as over a wire."""
    context: Any = {"toolbox": FakeToolbox(), "cards": cards(), "models": {"planner": "offline"}}
    context["budget"] = Budget(rounds=1, candidates=2)
    state: Any = await build_graph().ainvoke({"task": "gemm"}, context=context)  # pyright: ignore[reportUnknownMemberType]
    assert len(state["attempts"]) == 3
    assert state["stop_reason"] == "1 rounds are done"


@pytest.mark.parametrize("kind", ["planning", "lowering"])
@pytest.mark.slow
async def test_equal_messages_get_equal_bytes(tmp_path: Path, kind: str) -> None:
    taken: list[tuple[str, bytes, bytes]] = []

    def twice(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        first, second = answer(messages, info), answer(list(messages), info)
        taken.append((user_text(messages), _bytes(first), _bytes(second)))
        return first

    await (run(tmp_path / "run", planner=twice) if kind == "planning" else run(tmp_path / "run", lowering=twice))
    assert taken
    assert all(first == second for _, first, second in taken)
    if kind == "lowering":
        assert parse_as(LoweringTask, taken[0][0]).schedule is not None


def _bytes(response: ModelResponse) -> bytes:
    return json.dumps(ModelMessagesTypeAdapter.dump_python([response], mode="json"), sort_keys=True).encode()
