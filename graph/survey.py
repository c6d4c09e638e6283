"""Where a search stands: arms, levels, chances, and what is left of its budgets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.agents.attempt import Attempt
from argus.agents.messages import ArmView, PairView
from argus.agents.policy.arms import Catalogue, eligible, schedule_sha, spread_of
from argus.agents.policy.lessons import Arm, belief, success
from argus.agents.policy.levels import deepest, open_levels
from argus.agents.policy.pairs import promising_pairs
from argus.agents.policy.stopping import GAIN
from argus.agents.policy.tuner import Trial, Tuner
from argus.graph.context import Budget
from argus.graph.state import SAME_TIME, RunState, TaskKey, best_of
from argus.retrieval.card import Level

PARENTS = 3


@dataclass(frozen=True, slots=True)
class Survey:
    """The arms of a round.

    Attributes:
        parents: The kernels to start from, fastest first.
        open: Levels that may be tried now.
        pairs: Arms that promise more together.
        chances: Each arm's and pair's probability of beating the best kernel by 1 %, its success rate included.
    """

    parents: tuple[Attempt, ...]
    arms: tuple[ArmView, ...]
    pairs: tuple[PairView, ...]
    open: tuple[Level, ...]
    chances: tuple[float, ...]


def survey(state: RunState, catalogue: Catalogue) -> Survey:
    """Which techniques may be tried on which parents now, and what they promise."""
    attempts, beliefs = state["attempts"], state["arms"]
    parents = parents_of(attempts, catalogue)
    tuner = tuner_of(catalogue, attempts, seed_of(state) + state["round"])
    tried = tried_schedules(attempts)
    arms = tuple(arm for parent in parents for arm in eligible(catalogue, parent, tried, tuner.order))
    known = {a.id: a for a in parents}
    best = best_of(attempts)
    promised: dict[Level, float] = {}
    chances: list[float] = []
    for view in arms:
        parent = known[view.parent]
        arm = arm_of(view.card, parent, catalogue, view.spread)
        b = belief(beliefs, arm)
        promise = max(option.gain for option in view.options)
        level = catalogue.cards[view.card].level
        # A gain counts against the best kernel, not against the arm's own parent.
        handicap = behind(parent, best)
        promised[level] = max(promised.get(level, -math.inf), promise + b.mean - handicap)
        chances.append(success(beliefs, arm) * b.above(GAIN + handicap - promise))
    pairs = tuple(pair for parent in parents for pair in promising_pairs(catalogue, parent, arms, tried))
    for pair in pairs:
        parent, cards = known[pair.parent], [catalogue.cards[name] for name in pair.techniques]
        handicap = behind(parent, best)
        level = deepest(card.level for card in cards)
        promised[level] = max(promised.get(level, -math.inf), pair.gain - handicap)
        beliefs_of = [arm_of(card.id, parent, catalogue, spread_of(catalogue, card.id, parent)) for card in cards]
        chances.append(
            min(success(beliefs, arm) * belief(beliefs, arm).above(GAIN + handicap - pair.gain) for arm in beliefs_of)
        )
    return Survey(tuple(parents), arms, pairs, open_levels(promised), tuple(chances))


def parents_of(attempts: Sequence[Attempt], catalogue: Catalogue) -> list[Attempt]:
    """Up to three kernels to start from: the fastest that differ in their techniques, then the fastest that differ.

    Variants of one kernel would otherwise take all places, and a technique that excludes another could never be undone.
    A step that gained nothing over its own parent is kept out: what pays only together is proposed as a bundle.
    """
    known = {a.id: a for a in attempts}
    gained = [a for a in attempts if a.valid and _gained(a, known)]
    ranked = sorted(gained, key=lambda a: (a.time_us or math.inf, a.id))
    by_techniques: dict[object, Attempt] = {}
    by_text: dict[str, Attempt] = {}
    for a in ranked:
        by_techniques.setdefault(catalogue.active(a.schedule) or a.kernel_sha, a)
        by_text.setdefault(a.kernel_sha, a)
    distinct = list(by_techniques.values())[:PARENTS]
    others = [a for a in by_text.values() if a not in distinct]
    return sorted([*distinct, *others[: PARENTS - len(distinct)]], key=ranked.index)


def _gained(a: Attempt, known: Mapping[int, Attempt]) -> bool:
    """Whether a kernel beats the one it was made from by more than chance; the start kernel counts as a gain."""
    gain = gain_of(a, known)
    return gain is None or gain > math.log(SAME_TIME)


def behind(parent: Attempt, best: Attempt | None) -> float:
    """The log of a parent's time over the best kernel's; 0 for the best, and where times do not compare."""
    if best is None or parent.time_kind != best.time_kind or not (parent.time_us and best.time_us):
        return 0.0
    return math.log(parent.time_us / best.time_us)


def arm_of(card: str, parent: Attempt, catalogue: Catalogue, spread: float) -> Arm:
    """The blank arm of a technique on a parent."""
    return Arm(
        technique=card,
        bottleneck=parent.bound,
        target=catalogue.problem.target,
        family=catalogue.family.name,
        time_kind=parent.time_kind,
        spread=spread,
    )


def tried_schedules(attempts: Sequence[Attempt]) -> frozenset[str]:
    """Schedules that need no second trial; a broken toolchain says nothing about one."""
    return frozenset(schedule_sha(a.schedule) for a in attempts if a.schedule is not None and a.status != "broken")


def tuner_of(catalogue: Catalogue, attempts: Sequence[Attempt], seed: int) -> Tuner:
    """The sampler of parameters with everything evaluated so far told back."""
    space = {
        card.id: {name: (p.default, *(v for v in p.values if v != p.default)) for name, p in card.change.params.items()}
        for card in catalogue.optimisations()
        if card.change is not None and card.change.params
    }
    known = {a.id: a for a in attempts}
    told = [
        Trial(card, params, None if (gain := gain_of(a, known)) is None else -gain)
        for a in attempts
        for card, params in a.params.items()
        if a.status != "broken"
    ]
    return Tuner(space, told, seed)


def gain_of(a: Attempt, known: Mapping[int, Attempt]) -> float | None:
    """Log gain over the parent, for valid kernels."""
    parent = known.get(a.parent) if a.parent is not None else None
    if parent is None or not (a.valid and a.time_us and parent.time_us):
        return None
    return math.log(parent.time_us / a.time_us)


def seed_of(state: RunState) -> int:
    task = state["task"]
    return task.seed if isinstance(task, TaskKey) else 0


def next_id(attempts: Sequence[Attempt]) -> int:
    return 1 + max((a.id for a in attempts), default=-1)


def candidates_left(attempts: Sequence[Attempt], budget: Budget) -> int:
    return max(0, budget.candidates - sum(a.parent is not None for a in attempts))


def slots(attempts: Sequence[Attempt], round_number: int, budget: Budget, concurrency: int) -> int:
    """Candidates of a round: what is left, spread over it and the rounds after it, but no worker stays idle."""
    left = candidates_left(attempts, budget)
    return min(left, max(concurrency, math.ceil(left / max(1, budget.rounds - round_number + 1))))


def tokens_left(state: RunState, budget: Budget) -> int | None:
    return None if budget.tokens is None else max(0, budget.tokens - state["tokens"])
