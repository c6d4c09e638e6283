"""What survives a checkpoint, and how parallel branches join."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel

from argus.agents.attempt import Attempt, Fault, Params
from argus.agents.messages import LoweringTask, Plan
from argus.agents.policy.lessons import Arm
from argus.retrieval.card import Level


class TaskKey(BaseModel, frozen=True):
    """Which problem, and the seed of every draw."""

    name: str
    shape: dict[str, int] = {}
    dtype: str | None = None
    target: str = "gfx942"
    seed: int = 0


class Candidate(BaseModel, frozen=True):
    """A step chosen for trial: all that a branch needs, so that it can be run again after a crash."""

    id: int
    round: int
    parent: int | None = None
    techniques: tuple[str, ...] = ()
    params: Params = {}
    schedule: dict[str, Any] | None = None
    change: str = ""
    bottleneck: str = "unknown"
    parent_us: float | None = None
    lower_bound_us: float | None = None
    prior: float = 0.0
    score: float = 0.0
    confidence: float = 0.5
    prompt_sha: str = ""
    task: LoweringTask | None = None


class Draft(BaseModel, frozen=True):
    """A candidate with the kernel that lowering wrote for it, or without one.

    Attributes:
        skipped: The time was over before it was begun: no attempt, and nothing to learn.
    """

    candidate: Candidate
    text: str = ""
    schedule: dict[str, Any] | None = None
    fault: Fault = "none"
    note: str = ""
    tokens: int = 0
    repairs: int = 0
    seconds: float = 0.0
    skipped: bool = False


def by_id(old: Sequence[Attempt], new: Sequence[Attempt]) -> list[Attempt]:
    """Attempts of parallel branches joined; a later record of an attempt replaces the earlier one."""
    return [a for _, a in sorted(({a.id: a for a in old} | {a.id: a for a in new}).items())]


class RunState(TypedDict):
    """One optimisation.

    Attributes:
        round: 0 is the start kernel's.
        plan: The round's proposals; None when the planner gave no usable answer.
        candidates: What the selector chose, lowered and validated in parallel.
        arms: What was learned, by arm.
        best_by_round: Best time after each round, the start kernel's first.
        open: Levels that were open in the last plan.
        library_us: Where times are measured: the library's in the first round, which ratios are turned into times by.
        misses: Rounds in a row without a usable plan.
        allowance: Tokens that each branch of the round may spend.
        tokens, seconds: Spent so far, over all sittings.
        stop_reason: Why the search ended; empty while it goes on.
    """

    task: TaskKey | str
    round: int
    plan: Plan | None
    candidates: list[Candidate]
    attempts: Annotated[list[Attempt], by_id]
    arms: dict[str, Arm]
    best_by_round: list[float]
    open: tuple[Level, ...]
    allowance: int | None
    library_us: float | None
    misses: int
    tokens: Annotated[int, operator.add]
    seconds: Annotated[float, operator.add]
    stop_reason: str


class Start(TypedDict):
    """What a run begins with: a task's name, or with shape, dtype, target and seed."""

    task: TaskKey | str


class Update(TypedDict, total=False):
    """What a node changes of `RunState`; lists of attempts and counts are joined with what is there."""

    task: TaskKey | str
    round: int
    plan: Plan | None
    candidates: list[Candidate]
    attempts: list[Attempt]
    arms: dict[str, Arm]
    best_by_round: list[float]
    open: tuple[Level, ...]
    allowance: int | None
    library_us: float | None
    misses: int
    tokens: int
    seconds: float
    stop_reason: str


class LowerInput(TypedDict):
    """A branch's private state: one candidate, the tokens it may spend, the seconds spent before its round."""

    task: TaskKey | str
    candidate: Candidate
    allowance: int | None
    seconds: float


class ValidateInput(TypedDict):
    """Likewise: one draft."""

    task: TaskKey | str
    draft: Draft


# What a checkpoint may hold beside plain data; nothing else is built from one.
CHECKPOINTED: tuple[type[BaseModel], ...] = (TaskKey, Candidate, Draft, Attempt, Plan, Arm)


# Times this close are equal: estimates move by more when a kernel is merely reordered, and so do measurements.
SAME_TIME = 1.005


def best_of(attempts: Sequence[Attempt]) -> Attempt | None:
    """The fastest valid attempt; among those within 0.5 % of it the earliest, which has the fewest changes."""
    timed = [(a.time_us, a) for a in attempts if a.valid and a.time_us is not None]
    fastest = min((time for time, _ in timed), default=math.inf)
    near = [a for time, a in timed if time <= SAME_TIME * fastest]
    return min(near, key=lambda a: a.id, default=None)


def lower_bound(attempts: Sequence[Attempt]) -> float | None:
    """The floor of any kernel for the problem, from the first report that has one."""
    found = (a.report.estimate.lower_bound_us for a in attempts if a.report and a.report.estimate)
    return next(found, None)
