"""What the validator agent is told and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from argus.agents.attempt import Status


class Failure(BaseModel, frozen=True):
    """The whole user message of the validator agent: a failed candidate in the tools' words."""

    techniques: tuple[str, ...]
    status: Status
    messages: tuple[str, ...]
    fix_classes: tuple[str, ...] = ()


class Explanation(BaseModel, frozen=True, extra="forbid"):
    """Why it failed, for the next planner. Verdicts come from tools; this never changes one."""

    note: Annotated[str, Field(max_length=200)]
