"""A run's live objects: handed to nodes, never checkpointed."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field
from pydantic_ai.models import Model

from argus.agents.models import resolve
from argus.agents.offline import OfflineModel
from argus.agents.policy.arms import Catalogue
from argus.agents.policy.lessons import Arm
from argus.agents.policy.reward import Reward, reward
from argus.agents.toolbox import Toolbox
from argus.dsl.kernels import Family, Problem, families, make_problem, task_named
from argus.graph.errors import RunError
from argus.graph.events import EventSink
from argus.graph.folder import RunFolder
from argus.graph.state import TaskKey
from argus.graph.store import Store
from argus.graph.timing.executor import Executor
from argus.graph.track import Tracker
from argus.retrieval.card import Card
from argus.retrieval.load import load_corpus

if TYPE_CHECKING:
    from argus.tools.toolbox import Toolbox as ProjectTools


class Config(BaseModel, frozen=True):
    """Switches of the ablation, and bounds that are no budgets.

    Attributes:
        tags: Check invariants at all; without, tests alone decide.
        smt: Let the solver decide what the cheaper tiers leave open; without, that stays unknown.
        feedback: Show counterexamples to the lowering agent.
        learning: Update beliefs and lessons from results.
        knowledge: Give the planner conditions, effects and texts of the cards; without, their bare changes.
        concurrency: Candidates lowered and compiled at a time.
        tries: Repairs of one kernel.
    """

    tags: bool = True
    smt: bool = True
    feedback: bool = True
    learning: bool = True
    knowledge: bool = True
    concurrency: int = Field(default=2, ge=1, le=64)
    tries: int = Field(default=3, ge=0, le=10)

    @property
    def switches(self) -> dict[str, bool]:
        names = ("tags", "smt", "feedback", "learning", "knowledge")
        return {name: getattr(self, name) for name in names}


class Budget(BaseModel, frozen=True):
    """What may be spent; None: no limit. `candidates` does not count the start kernel.

    After `minutes` no further candidate is begun, in the middle of a round as well; what has begun is finished.
    """

    rounds: int = Field(default=5, ge=0)
    candidates: int = Field(default=24, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    minutes: float | None = Field(default=None, gt=0)

    def over(self, seconds: float) -> bool:
        """Whether so many seconds are all that may be spent."""
        return self.minutes is not None and seconds >= 60 * self.minutes


@dataclass(slots=True)
class Stopwatch:
    """Seconds since the last lap; two laps never count the same second."""

    clock: Callable[[], float] = time.monotonic
    _mark: float = 0.0

    def __post_init__(self) -> None:
        self._mark = self.clock()

    def since(self) -> float:
        """Seconds since the last lap, which goes on."""
        return self.clock() - self._mark

    def lap(self) -> float:
        now = self.clock()
        passed, self._mark = now - self._mark, now
        return passed


@dataclass(frozen=True, eq=False)
class RunContext:
    """All that a run needs beside its state. What is left out is the project's own.

    Attributes:
        models: A model, or `PROVIDER:NAME`, by agent; `default` for the others; else the offline policy.
        arms: Beliefs to start from, for instance those of another task.
        reward: What a candidate earns against its parent.
        watch: Seconds, for time budgets.
        executor: Who measures kernels; None: their time is the estimate from compiled code.
        space: Names of the only schedules that the executor has times of; None where it can measure any.
    """

    models: Mapping[str, str | Model] = field(default_factory=dict[str, "str | Model"])
    toolbox: Toolbox | None = None
    cards: Mapping[str, Card] | None = None
    family: Family | None = None
    problem: Problem | None = None
    config: Config = field(default_factory=Config)
    budget: Budget = field(default_factory=Budget)
    folder: RunFolder | None = None
    store: Store | None = None
    tracker: Tracker | None = None
    sink: EventSink = field(default_factory=EventSink)
    episode: str = "episode"
    arms: Mapping[str, Arm] = field(default_factory=dict[str, Arm])
    reward: Reward = reward
    watch: Stopwatch = field(default_factory=Stopwatch)
    executor: Executor | None = None
    space: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """The context with every default filled in, for one task."""

    models: Mapping[str, Model]
    toolbox: Toolbox
    catalogue: Catalogue

    def offline(self, agent: str) -> bool:
        """Whether the policy answers for this agent."""
        return isinstance(self.models[agent], OfflineModel)

    @property
    def problem(self) -> Problem:
        return self.catalogue.problem

    @property
    def family(self) -> Family:
        return self.catalogue.family


def bench(context: RunContext, key: TaskKey | str) -> Bench:
    """What the nodes of a run work with.

    Raises:
        KernelError: Unknown task, size, dtype or target.
        ModelConfigError: A model that cannot be used.
    """
    return _bench(context, key if isinstance(key, str) else key.model_dump_json())


# Kept, because models hold connections and the toolbox its workers. Contexts compare by identity.
@lru_cache(maxsize=4)
def _bench(context: RunContext, key: str) -> Bench:
    task = TaskKey.model_validate_json(key) if key.startswith("{") else TaskKey(name=key)
    problem = context.problem or problem_of(task)
    family = context.family or families().get(problem.task.family)
    if family is None:
        message = f"kernels of {problem.task.name} for {problem.target} cannot be optimised by a run yet"
        raise RunError(message, f"families are {', '.join(families())}")
    cards = dict(load_corpus() if context.cards is None else context.cards)
    if not context.config.knowledge:
        cards = {name: _bare(card) for name, card in cards.items() if card.change is not None}
    toolbox = context.toolbox
    if toolbox is None:
        toolbox = default_toolbox(context.config)
        atexit.register(toolbox.close)  # nobody else knows of it
    return Bench(resolve(context.models), toolbox, Catalogue(cards, family, problem, context.space))


def problem_of(key: TaskKey) -> Problem:
    """The task's problem at this shape.

    Raises:
        KernelError: Unknown task, size, dtype or target.
    """
    return make_problem(task_named(key.name), shape=key.shape, dtype=key.dtype, target=key.target)


def default_toolbox(config: Config) -> ProjectTools:
    """The project's tools, which own worker processes: close them."""
    from argus.tools.toolbox import open_toolbox  # noqa: PLC0415 - compiler and index load on use

    return open_toolbox(smt=config.smt, workers=config.concurrency)


def _bare(card: Card) -> Card:
    """A knob without what is known about it."""
    return card.model_copy(
        update={"relieves": (), "applies_when": (), "avoid_when": (), "invariants": (), "mistakes": (), "sections": ()}
    )
