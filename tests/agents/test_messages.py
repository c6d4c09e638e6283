"""Documents between markers, and who may answer them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.tools import ToolDefinition

from argus.agents.messages import (
    ArmView,
    BudgetLeft,
    CardView,
    Declined,
    Failure,
    Lesson,
    LoweredKernel,
    LoweringTask,
    OptionView,
    ParentView,
    Plan,
    PlanningState,
    Proposal,
    SelectionState,
    TaskFacts,
    parse,
    parse_as,
    render,
)
from argus.agents.offline import NEEDS_A_MODEL, answer, explain
from argus.agents.policy.planning import plan

TASK = TaskFacts(name="gemm", family="gemm", target="gfx942", dtype="bf16", shape={"m": 8}, contract="def f(): ...\n")
PARENT = ParentView(
    attempt=0, schedule={"stages": 1}, time_us=900.123456, time_kind="estimated", verdict="v", kernel_sha="k"
)


def state(**fields: Any) -> PlanningState:  # noqa: ANN401 - fields
    full: dict[str, Any] = {
        "task": TASK,
        "seed": 3,
        "round": 1,
        "wanted": 9,
        "budget": BudgetLeft(rounds=4, candidates=20),
        "parents": (PARENT,),
        "cards": (card("a"), card("b"), card("deep", open=False, level="instruction")),
        "arms": (arm("a", 0.4, 0.1), arm("b", 0.3), arm("deep", 0.2)),
    }  # fmt: skip
    return PlanningState(**{**full, **fields})


def card(name: str, **fields: Any) -> CardView:  # noqa: ANN401 - fields
    return CardView.model_validate({"id": name, "title": name, "level": "global", "change": {name: 1}, **fields})


def arm(name: str, *gains: float, **fields: Any) -> ArmView:  # noqa: ANN401 - fields
    options = tuple(OptionView(params={"n": i}, gain=gain) for i, gain in enumerate(gains))
    full: dict[str, Any] = {"parent": 0, "card": name, "options": options, "spread": 0.2, "basis": "card"}
    return ArmView(**{**full, **fields})


def test_rendering_has_an_inverse() -> None:
    for document in (
        state(),
        SelectionState(seed=1, round=2, slots=3, calibration=0.2, proposals=()),
        LoweringTask(contract="c", target="gfx942", parent_text="x\n<<<argus:planning\nargus>>>\n"),
        Failure(techniques=("a",), status="wrong", messages=("off by one",)),
    ):
        text = render(document)
        again = parse(text)
        assert type(again) is type(document)
        assert render(again) == text
        assert parse(f"Please answer.\n{text}\nThank you.") == again


def test_numbers_are_told_with_five_digits() -> None:
    assert parse_as(PlanningState, render(state())).parents[0].time_us == 900.12


@pytest.mark.parametrize(
    "text", ["", "<<<argus:planning\n{}", "<<<argus:cooking\n{}\nargus>>>", "<<<argus:failure\n{}\nargus>>>"]
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's is one
        parse(text)


def test_proposals_are_bounded() -> None:
    good: dict[str, Any] = {"techniques": ["a"], "parent": 0, "expected_speedup": 1.1, "confidence": 0.5}
    Proposal.model_validate(good)
    wrong: list[dict[str, Any]] = [
        {"techniques": []},
        {"techniques": list("abcd")},
        {"confidence": 1.2},
        {"expected_speedup": 0},
        {"x": 1},
    ]
    for bad in wrong:
        with pytest.raises(ValidationError):
            Proposal.model_validate({**good, **bad})


def test_lessons_hold_no_sizes_text_or_schedules() -> None:
    full: dict[str, Any] = {
        "id": "l", "technique": "a", "bottleneck": "lds", "target": "gfx942", "family": "gemm",
        "mean": 0.1, "sd": 0.1, "n": 2, "steps": ("1", "2"),
    }  # fmt: skip
    Lesson(**full, note="gains less than promised; often fails")
    for note in ("best at 256", "x" * 201, "tile=(a, b)", "store(As)", "two\nlines"):
        with pytest.raises(ValidationError):
            Lesson(**full, note=note)
    with pytest.raises(ValidationError):
        Lesson.model_validate({**full, "steps": ("1",)})


# --------------------------------------------------------------------------------------- planning


def test_the_offline_plan_ranks_what_is_promised_and_learned() -> None:
    found = plan(state()).proposals
    singles = [p.techniques for p in found if len(p.techniques) == 1]
    assert singles[:2] == [("a",), ("b",)]
    assert found[0].techniques == ("a", "b")
    told = state(lessons=(lesson("a", -0.5), lesson("b", 0.1)))
    assert next(p.techniques for p in plan(told).proposals if len(p.techniques) == 1) == ("b",)


def lesson(technique: str, mean: float, bottleneck: str = "unknown") -> Lesson:
    return Lesson(
        id=technique, technique=technique, bottleneck=bottleneck, target="gfx942", family="gemm",
        mean=mean, sd=0.1, n=3, steps=("1", "2"),
    )  # fmt: skip


def test_pairs_are_of_open_cards_that_go_together() -> None:
    pairs = [set(p.techniques) for p in plan(state()).proposals if len(p.techniques) == 2]
    assert pairs == [{"a", "b"}]
    clash = state(cards=(card("a", conflicts=("b",)), card("b"), card("deep", open=False, level="instruction")))
    assert not [p for p in plan(clash).proposals if len(p.techniques) == 2]
    same_field = state(
        cards=(card("a", change={"x": 1}), card("b", change={"x": 2})), arms=(arm("a", 0.4), arm("b", 0.3))
    )
    assert not [p for p in plan(same_field).proposals if len(p.techniques) == 2]


def test_a_bundle_names_its_prerequisites() -> None:
    found = plan(state(arms=(arm("a", 0.4, bundle=("pre",)),))).proposals
    assert found[0].techniques == ("pre", "a")
    assert found[0].params == {"a": {"n": 0}}


def test_cards_that_only_a_model_can_apply_are_left_to_models() -> None:
    assert plan(state(arms=(arm("a"),))).proposals == ()


# -------------------------------------------------------------------------------------- the model


def info(*outputs: type[Any], tools: tuple[str, ...] = ()) -> AgentInfo:
    listed = [
        ToolDefinition(name=f"final_result_{o.__name__}", parameters_json_schema=o.model_json_schema()) for o in outputs
    ]
    return AgentInfo(
        function_tools=[ToolDefinition(name=t) for t in tools],
        allow_text_output=False,
        output_tools=listed,
        model_settings=None,
        model_request_parameters=ModelRequestParameters(),
        instructions=None,
    )


def call(response: ModelResponse) -> ToolCallPart:
    (part,) = response.parts
    assert isinstance(part, ToolCallPart)
    return part


def test_refused_proposals_are_left_out_of_the_next_answer() -> None:
    asked = ModelRequest(parts=[UserPromptPart(render(state()))])
    first = answer([asked], info(Plan))
    refused = ToolReturnPart(
        tool_name=call(first).tool_name,
        content="proposal 0: no card\nproposal 2: tried\nKeep the other proposals",
        tool_call_id=call(first).tool_call_id,
        outcome="retried",
    )
    second = answer([asked, first, ModelRequest(parts=[refused])], info(Plan))
    before, after = (Plan.model_validate(call(r).args_as_dict()).proposals for r in (first, second))
    assert after == tuple(p for i, p in enumerate(before) if i not in (0, 2))


def test_text_without_a_schedule_needs_a_model() -> None:
    task = LoweringTask(contract="c", target="gfx942", parent_text="k")
    found = call(answer([ModelRequest(parts=[UserPromptPart(render(task))])], info(LoweredKernel, Declined)))
    assert found.tool_name == "final_result_Declined"
    assert found.args_as_dict() == {"reason": NEEDS_A_MODEL}


def test_a_schedule_is_printed_first() -> None:
    task = LoweringTask(contract="c", target="gfx942", parent_text="k", schedule={"stages": 2})
    found = call(answer([ModelRequest(parts=[UserPromptPart(render(task))])], info(LoweredKernel, Declined)))
    assert (found.tool_name, found.args_as_dict()) == ("print_kernel", {"schedule": {"stages": 2}})


def test_an_unknown_conversation_is_refused() -> None:
    with pytest.raises(ValueError, match="no document"):
        answer([ModelRequest(parts=[UserPromptPart("hello")])], info(Plan))


def test_explanations_keep_the_tools_first_line() -> None:
    told = Failure(
        techniques=("a",), status="refuted", messages=("k.py:3: refuted\nmore",), fix_classes=("missing wait",)
    )
    assert explain(told).note == "k.py:3: refuted [missing wait]"
    assert len(explain(Failure(techniques=(), status="wrong", messages=("x" * 900,))).note) <= 200
    assert explain(Failure(techniques=(), status="unknown", messages=())).note == "unknown"
