"""The model that needs no key, network or GPU: it answers for any agent from the messages alone.

It sees what a provider would be sent and nothing else: no dependencies, clock or files. Equal messages, equal bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
from pydantic import BaseModel
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from argus.agents import repair
from argus.agents.attempt import sha
from argus.agents.messages import (
    CheckAnswer,
    Declined,
    Explanation,
    Failure,
    LoweredKernel,
    LoweringTask,
    Plan,
    PlanningState,
    Selection,
    SelectionState,
    parse,
)
from argus.agents.policy.planning import plan, without
from argus.agents.policy.sample import choose
from argus.dsl.diagnostics import Counterexample

# A fixed time: answers carry a timestamp, and this one reads no clock.
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

# Diagnostics of kernels whose pieces do not fit together; other mistakes need a writer.
_MISFITS = ("bad-shape", "bad-call", "bad-space")

NEEDS_A_MODEL = "needs a model: no schedule expresses this change"


class OfflineModel(FunctionModel):
    """Answers of the offline policy; costs no tokens."""

    def __init__(self) -> None:
        super().__init__(answer, model_name="offline")

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """As `FunctionModel`, whose estimate of tokens would show in budgets and reports."""
        response = await super().request(messages, model_settings, model_request_parameters)
        response.usage = RequestUsage()
        return response


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next message of whichever agent sent these.

    Raises:
        ValueError: If the conversation holds no document of ours.
    """
    state = parse(_user_text(messages))
    match state:
        case PlanningState():
            return _output(info, _plan(messages, state))
        case SelectionState():
            return _output(info, Selection(chosen=choose(state)))
        case LoweringTask():
            return _lower(messages, state, info)
        case Failure():
            return _output(info, explain(state))
        case _:
            raise ValueError(f"no policy answers a {type(state).__name__}")


# -------------------------------------------------------------------------------------- planning


def _plan(messages: Sequence[ModelMessage], state: PlanningState) -> Plan:
    """The policy's plan; after refusals without the refused proposals."""
    answer = plan(state)
    for reason in _refusals(messages):
        answer = without(answer, [int(n) for n in re.findall(r"^proposal (\d+):", reason, re.MULTILINE)])
    return answer


def explain(failure: Failure) -> Explanation:
    """The first tool message, with the fix class when there is one."""
    first = failure.messages[0] if failure.messages else failure.status
    fix = f" [{failure.fix_classes[0]}]" if failure.fix_classes else ""
    return Explanation(note=f"{first.splitlines()[0][: 198 - len(fix)]}{fix}")


# -------------------------------------------------------------------------------------- lowering


@dataclass(frozen=True, slots=True)
class Checked:
    """A text the checker was asked about, and its answer."""

    text: str
    answer: CheckAnswer

    @property
    def badness(self) -> tuple[int, int]:
        """Refuted and unproved obligations; a text that could not be read is worst."""
        a = self.answer
        if a.ok:
            return (0, 0)
        return (a.refuted, a.unknown) if a.proved + a.refuted + a.unknown else (10**6, 0)


def _lower(messages: Sequence[ModelMessage], task: LoweringTask, info: AgentInfo) -> ModelResponse:
    """Print the schedule (or take the draft), check, repair up to `tries` times, answer the best text."""
    calls = _tool_history(messages)
    draft = task.draft or next((str(content) for name, _, content in calls if name == "print_kernel"), None)
    if draft is None:
        if task.schedule is None:
            return _output(info, Declined(reason=NEEDS_A_MODEL))
        return _call("print_kernel", {"schedule": task.schedule})
    checked = [
        Checked(str(args["text"]), CheckAnswer.model_validate(content))
        for name, args, content in calls
        if name == "check_invariants"
    ]
    if not checked:
        return _call("check_invariants", {"text": draft})
    best = min(checked, key=lambda c: c.badness)
    if best.answer.ok or len(checked) > task.tries:
        return _output(info, LoweredKernel(text=best.text))
    edit = next_edit(task, checked)
    return _output(info, LoweredKernel(text=best.text)) if edit is None else _call("check_invariants", {"text": edit})


def next_edit(task: LoweringTask, checked: Sequence[Checked]) -> str | None:
    """The likeliest edit that was not tried, of the best text for which there is one."""
    tried = {c.text for c in checked}
    for text in sorted(checked, key=lambda c: c.badness):
        edit = next((e for e in _edits(task, text, len(tried)) if e not in tried), None)
        if edit is not None:
            return edit
    return None


def _edits(task: LoweringTask, checked: Checked, count: int) -> list[str]:
    answer = checked.answer
    if answer.code == "contract":
        return repair.with_contract(checked.text, task.contract)
    if not task.feedback:
        # Told only that it is wrong: any edit is as good as another.
        edits = repair.blind(checked.text, task.contract)
        rng = np.random.default_rng([task.seed, count])
        return [edits[i] for i in rng.permutation(len(edits))]
    found = [Counterexample.model_validate(c) for c in answer.counterexamples]
    if answer.code in _MISFITS:
        found = [repair.misfit(answer.line)]
    return [e for c in repair.ranked(found) for e in repair.candidates(checked.text, c, task.contract)]


# -------------------------------------------------------------------------------------- messages


def _user_text(messages: Sequence[ModelMessage]) -> str:
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                    return part.content
    raise ValueError("no user message")


def _refusals(messages: Sequence[ModelMessage]) -> list[str]:
    """Why earlier answers were sent back, oldest first."""
    return [
        str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if (isinstance(part, ToolReturnPart) and part.outcome == "retried") or isinstance(part, RetryFeedbackPart)
    ]


def _tool_history(messages: Sequence[ModelMessage]) -> list[tuple[str, dict[str, Any], Any]]:
    """Finished tool calls: name, arguments, content."""
    arguments: dict[str, dict[str, Any]] = {}
    found: list[tuple[str, dict[str, Any], Any]] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                arguments[part.tool_call_id] = part.args_as_dict()
            elif isinstance(part, ToolReturnPart) and part.outcome == "success":
                found.append((part.tool_name, arguments.get(part.tool_call_id, {}), _content(part.content)))
    return found


def _content(content: object) -> object:
    """A tool's pydantic result as plain data, whether it still is a model or came back as JSON."""
    if isinstance(content, BaseModel):
        return content.model_dump(mode="json")
    if isinstance(content, str) and content.startswith("{"):
        return cast("object", json.loads(content))
    return content


def _call(tool: str, arguments: dict[str, Any]) -> ModelResponse:
    # The identifier follows from the call, where the default is drawn at random.
    name = f"{tool}-{sha(json.dumps(arguments, sort_keys=True))}"
    return ModelResponse(parts=[ToolCallPart(tool, arguments, tool_call_id=name)], timestamp=_EPOCH)


def _output(info: AgentInfo, value: BaseModel) -> ModelResponse:
    """The final answer through the output tool whose schema is this model's."""
    want = type(value).__name__
    for tool in info.output_tools:
        title = tool.parameters_json_schema.get("title", "")
        if title == want or tool.name.endswith(want) or len(info.output_tools) == 1:
            return _call(tool.name, value.model_dump(mode="json"))
    raise ValueError(f"the agent takes no {want}")
