"""What the lowering agent is told and answers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from argus.agents.attempt import Params


class TechniqueNote(BaseModel, frozen=True):
    """What the lowering agent needs of a card."""

    id: str
    title: str
    applied_by_schedule: bool
    invariants: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
    how: str = ""


class LoweringTask(BaseModel, frozen=True):
    """The whole user message of the lowering agent.

    Attributes:
        parent_text: The kernel to change; `parent_schedule` prints as it when set.
        schedule: The parent's schedule with the techniques applied; None where only text can express the change.
        draft: Text to begin with instead of printing the schedule.
        feedback: Whether refusals carry counterexamples.
    """

    contract: str
    target: str
    parent_text: str
    parent_schedule: dict[str, Any] | None = None
    techniques: tuple[TechniqueNote, ...] = ()
    params: Params = {}
    invariants: tuple[str, ...] = ()
    schedule: dict[str, Any] | None = None
    draft: str | None = None
    feedback: bool = True
    tries: int = 3
    seed: int = 0


class LoweredKernel(BaseModel, frozen=True, extra="forbid"):
    """The new kernel, whole: decorator, contract and body."""

    text: Annotated[str, Field(min_length=1, max_length=60_000)]


class Declined(BaseModel, frozen=True, extra="forbid"):
    """No kernel, and why."""

    reason: Annotated[str, Field(max_length=400)]


class CheckAnswer(BaseModel, frozen=True):
    """What `check_invariants` tells an agent.

    Attributes:
        counterexamples: Each refuted obligation's witness, smallest first; empty when feedback is off.
        code, line: The diagnostic's code and place when the text is no kernel at all.
        text: The same for reading, carets included.
    """

    ok: bool
    proved: int = 0
    refuted: int = 0
    unknown: int = 0
    counterexamples: tuple[dict[str, Any], ...] = ()
    code: str = ""
    line: int = 0
    text: str = ""
