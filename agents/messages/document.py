"""Messages as text: one JSON document between fixed markers, and back."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel

from argus.agents.messages.explaining import Failure
from argus.agents.messages.lowering import LoweringTask
from argus.agents.messages.planning import PlanningState
from argus.agents.messages.selection import SelectionState

BEGIN = "<<<argus:{kind}"
END = "argus>>>"

M = TypeVar("M", bound=BaseModel)


KINDS: dict[str, type[BaseModel]] = {
    "planning": PlanningState,
    "selection": SelectionState,
    "lowering": LoweringTask,
    "failure": Failure,
}
_NAMES = {model: kind for kind, model in KINDS.items()}


def render(state: BaseModel) -> str:
    """The user message: compact JSON with sorted keys between markers. Equal states give equal text."""
    data = state.model_dump(mode="json", exclude_defaults=True)
    body = json.dumps(_rounded(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{BEGIN.format(kind=_NAMES[type(state)])}\n{body}\n{END}"


def parse(message: str) -> BaseModel:
    """The inverse of `render`; text around the markers is allowed.

    Raises:
        ValueError: If the markers are missing, the kind is unknown or the JSON is not of it.
    """
    start = message.find(BEGIN.format(kind=""))
    stop = message.rfind(f"\n{END}")
    if start < 0 or stop < start:
        raise ValueError("no document between argus markers in the message")
    head, _, body = message[start:stop].partition("\n")
    kind = head.removeprefix(BEGIN.format(kind=""))
    if kind not in KINDS:
        raise ValueError(f"unknown kind of document {kind!r}")
    return KINDS[kind].model_validate_json(body)


def parse_as(kind: type[M], message: str) -> M:
    """`parse`, and the document must be of this kind."""
    state = parse(message)
    if not isinstance(state, kind):
        raise ValueError(f"the message holds a {type(state).__name__}, not a {kind.__name__}")
    return state


def _rounded(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Five significant digits: what a reader uses, and a third of the tokens."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_rounded(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
    return value
