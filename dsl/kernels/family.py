"""A kernel family: from a schedule to readable kernel text, with a closed form that proposes (and never rewards)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from argus.dsl.kernels.task import Problem

# A frozen model of plain fields, each family's own.
Schedule = BaseModel


@dataclass(frozen=True, slots=True)
class Family:
    """Everything the planner and the lowering need to know of a family.

    Attributes:
        parse_schedule: A mapping of fields to a legal schedule; ValueError names the first problem.
        start: The competent first kernel's schedule.
        text: Kernel text of a schedule for a problem. Equal schedules give equal text.
        predict: Microseconds by a closed form, used only to propose. See POLICY: `estimate` rewards.
        covered: Schedule fields whose effect `predict` models.
    """

    name: str
    parse_schedule: Callable[[dict[str, Any]], Schedule]
    start: Callable[[Problem], Schedule]
    text: Callable[[Any, Problem], str]
    predict: Callable[[Any, Problem], float]
    covered: frozenset[str]
