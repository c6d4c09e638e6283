"""What the planner is told and answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from argus.agents.attempt import Params, Status, TimeKind
from argus.retrieval.card import Level, Scalar


class TaskFacts(BaseModel, frozen=True):
    """What is optimised. `contract` is the task's and no agent may change it."""

    name: str
    family: str
    target: str
    dtype: str
    shape: dict[str, int]
    contract: str
    lower_bound_us: float | None = None


class BudgetLeft(BaseModel, frozen=True):
    """What may still be spent; None: no limit."""

    rounds: int
    candidates: int
    tokens: int | None = None


class ReportFacts(BaseModel, frozen=True):
    """The static report in the numbers that decide; resource times in microseconds."""

    bound: str
    next_bound: str
    resources_us: dict[str, float]
    vgpr: int
    agpr: int
    spills: int
    lds_bytes: int
    occupancy_waves: int
    main_loop: dict[str, int]
    bank_conflicts: dict[str, float] = {}


class ParentView(BaseModel, frozen=True):
    """A kernel to start from. Without `schedule` it is free text that only a model can change."""

    attempt: int
    schedule: dict[str, Any] | None
    time_us: float
    time_kind: TimeKind
    verdict: str
    kernel_sha: str
    active: tuple[str, ...] = ()
    report: ReportFacts | None = None

    @property
    def bottleneck(self) -> str:
        return self.report.bound if self.report else "unknown"


class ReliefView(BaseModel, frozen=True):
    """By what factor a card shrinks a resource's time: 10 %, 50 % and 90 % points, and what they rest on."""

    resource: str
    low: float
    mid: float
    high: float
    basis: str


class CardView(BaseModel, frozen=True):
    """A technique of the knowledge base as data.

    Attributes:
        open: Whether its level may be tried now; levels open from global to instruction.
        change: Schedule fields it sets; `$name` stands for a parameter. None: only a model can apply it.
        params: Values by parameter, the default first.
    """

    id: str
    title: str
    level: Level
    open: bool = True
    relieves: tuple[ReliefView, ...] = ()
    change: dict[str, Scalar] | None = None
    params: dict[str, tuple[Scalar, ...]] = {}
    constraints: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    invariants: tuple[str, ...] = ()
    how: str = ""


class OptionView(BaseModel, frozen=True):
    """One legal, untried choice of a card's parameters; `gain` is the log gain that card and closed form promise."""

    params: dict[str, Scalar] = {}
    gain: float


class ArmView(BaseModel, frozen=True):
    """A card that may be applied to a parent.

    Attributes:
        conditions: The card's `applies_when` with the values found, e.g. `{"bank_conflicts.read_way >= 2": 8}`.
        bundle: Prerequisites that are not there yet and come along, in order.
        spread: Standard deviation of `gain` before anything was learned.
        basis: Where `gain` comes from: `predict` (the family's closed form) or `card` (effect on a resource's share).
    """

    parent: int
    card: str
    conditions: dict[str, float] = {}
    bundle: tuple[str, ...] = ()
    options: tuple[OptionView, ...] = ()
    spread: float
    basis: Literal["predict", "card"]


class PairView(BaseModel, frozen=True):
    """Cards that the closed form sees promise more together than any of them alone; prerequisites are among them."""

    parent: int
    techniques: tuple[str, ...]
    params: Params
    gain: float


class Lesson(BaseModel, frozen=True):
    """What an arm taught: the residual, observed minus promised log gain, of a technique under a bottleneck.

    Attributes:
        steps: The attempts it rests on; at least two.
        note: Without sizes, kernel text or schedules: it has to hold on other tasks.
    """

    id: str
    technique: str
    bottleneck: str
    target: str
    family: str
    mean: float
    sd: float
    n: float
    steps: Annotated[tuple[str, ...], Field(min_length=2)]
    note: Annotated[str, Field(max_length=200, pattern=r"^[^0-9\n=(){}\[\]]*$")] = ""


class AttemptView(BaseModel, frozen=True):
    """An attempt of this run; `gain` is its log gain over the parent, `time_us` microseconds."""

    id: int
    parent: int | None
    techniques: tuple[str, ...]
    params: Params = {}
    status: Status
    time_us: float | None = None
    gain: float | None = None
    note: str = ""


class PlanningState(BaseModel, frozen=True):
    """The whole user message of the planner."""

    task: TaskFacts
    seed: int
    round: int
    wanted: int
    budget: BudgetLeft
    parents: Annotated[tuple[ParentView, ...], Field(max_length=3)]
    cards: tuple[CardView, ...] = ()
    arms: tuple[ArmView, ...] = ()
    pairs: tuple[PairView, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    attempts: Annotated[tuple[AttemptView, ...], Field(max_length=12)] = ()


class Proposal(BaseModel, frozen=True, extra="forbid"):
    """One step to try: techniques applied together to a parent."""

    techniques: Annotated[tuple[str, ...], Field(min_length=1, max_length=3)]
    parent: int
    params: Params = Field(default={}, description="Values by parameter by card id; those left out take defaults.")
    invariants: tuple[str, ...] = Field(default=(), description="Assertions the new kernel should carry.")
    expected_speedup: float = Field(gt=0, le=100, description="Parent's time over the new kernel's.")
    confidence: float = Field(ge=0, le=1)
    reason: str = Field(default="", max_length=400)


class Plan(BaseModel, frozen=True, extra="forbid"):
    """Ranked proposals, best first; none when nothing is worth trying."""

    proposals: Annotated[tuple[Proposal, ...], Field(max_length=40)]
