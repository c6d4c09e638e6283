"""What agents are told and what they answer: one JSON document between fixed markers, and typed outputs.

A model reads the document; `OfflineModel` parses it back. Nothing else reaches either: both decide on the same facts.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from argus.agents.attempt import Params, Status, TimeKind
from argus.retrieval.card import Level, Scalar

BEGIN = "<<<argus:{kind}"
END = "argus>>>"

M = TypeVar("M", bound=BaseModel)


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True)


# -------------------------------------------------------------------------------------- planning


class TaskFacts(_Fact):
    """What is optimised. `contract` is the task's and no agent may change it."""

    name: str
    family: str
    target: str
    dtype: str
    shape: dict[str, int]
    contract: str
    lower_bound_us: float | None = None


class BudgetLeft(_Fact):
    rounds: int
    candidates: int
    tokens: int | None = None


class ReportFacts(_Fact):
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


class ParentView(_Fact):
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


class ReliefView(_Fact):
    resource: str
    low: float
    mid: float
    high: float
    basis: str


class CardView(_Fact):
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


class OptionView(_Fact):
    """One legal, untried choice of a card's parameters; `gain` is the log gain that card and closed form promise."""

    params: dict[str, Scalar] = {}
    gain: float


class ArmView(_Fact):
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


class PairView(_Fact):
    """Cards that the closed form sees promise more together than any of them alone; prerequisites are among them."""

    parent: int
    techniques: tuple[str, ...]
    params: Params
    gain: float


class Lesson(_Fact):
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


class AttemptView(_Fact):
    id: int
    parent: int | None
    techniques: tuple[str, ...]
    params: Params = {}
    status: Status
    time_us: float | None = None
    gain: float | None = None
    note: str = ""


class PlanningState(_Fact):
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


class Proposal(BaseModel):
    """One step to try: techniques applied together to a parent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    techniques: Annotated[tuple[str, ...], Field(min_length=1, max_length=3)]
    parent: int
    params: Params = Field(default={}, description="Values by parameter by card id; those left out take defaults.")
    invariants: tuple[str, ...] = Field(default=(), description="Assertions the new kernel should carry.")
    expected_speedup: float = Field(gt=0, le=100, description="Parent's time over the new kernel's.")
    confidence: float = Field(ge=0, le=1)
    reason: str = Field(default="", max_length=400)


class Plan(BaseModel):
    """Ranked proposals, best first; none when nothing is worth trying."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    proposals: Annotated[tuple[Proposal, ...], Field(max_length=40)]


# ------------------------------------------------------------------------------------- selection


class Belief(_Fact):
    """A Student-t belief on a log gain, and the share of tries that gave a valid kernel."""

    mean: float
    scale: float
    dof: float
    success: float


class ProposalView(_Fact):
    """A proposal as the selector sees it.

    Attributes:
        behind: log of the parent's time over the best kernel's: what must be gained before anything is won.
        score: log of the stated speedup over the parent.
        belief: On the log gain over the parent.
    """

    index: int
    techniques: tuple[str, ...]
    parent: int
    behind: float = 0.0
    level: Level
    open: bool
    schedule_sha: str
    score: float
    confidence: float
    belief: Belief


class SelectionState(_Fact):
    """The whole user message of the selector.

    Attributes:
        calibration: Weight of the planner's scores beside the beliefs, from how well past scores came true.
    """

    seed: int
    round: int
    slots: int
    calibration: float
    proposals: tuple[ProposalView, ...]


class Selection(BaseModel):
    """Indices of the proposals to try, best first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chosen: tuple[int, ...]


# -------------------------------------------------------------------------------------- lowering


class TechniqueNote(_Fact):
    """What the lowering agent needs of a card."""

    id: str
    title: str
    applied_by_schedule: bool
    invariants: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()
    how: str = ""


class LoweringTask(_Fact):
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


class LoweredKernel(BaseModel):
    """The new kernel, whole: decorator, contract and body."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Annotated[str, Field(min_length=1, max_length=60_000)]


class Declined(BaseModel):
    """No kernel, and why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Annotated[str, Field(max_length=400)]


class CheckAnswer(_Fact):
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


# ------------------------------------------------------------------------------------- explaining


class Failure(_Fact):
    """The whole user message of the validator agent: a failed candidate in the tools' words."""

    techniques: tuple[str, ...]
    status: Status
    messages: tuple[str, ...]
    fix_classes: tuple[str, ...] = ()


class Explanation(BaseModel):
    """Why it failed, for the next planner. Verdicts come from tools; this never changes one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    note: Annotated[str, Field(max_length=200)]


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
