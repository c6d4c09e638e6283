"""The offline planner's answer, a pure function of the planning message."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from argus.agents.messages import (
    ArmView,
    CardView,
    Lesson,
    OptionView,
    PairView,
    ParentView,
    Plan,
    PlanningState,
    Proposal,
)
from argus.agents.policy.priors import DEFAULT_SPREAD

PER_ARM = 3
PAIRS = 3
MOST = 40


@dataclass(frozen=True, slots=True)
class _Idea:
    """One arm at one choice of parameters with its expected log gain and standard deviation."""

    arm: ArmView
    option: OptionView
    gain: float
    sd: float


def plan(state: PlanningState) -> Plan:
    """Every open arm at its best parameters, and pairs of the best, ranked by expected gain. Nothing is drawn."""
    cards = {card.id: card for card in state.cards}
    parents = {parent.attempt: parent for parent in state.parents}
    ideas = [
        idea
        for arm in state.arms
        if arm.options and arm.card in cards and arm.parent in parents
        for idea in _ideas(arm, parents[arm.parent], state.lessons)
    ]
    # What counts is the gain over the best kernel; proposals state it over their parent.
    best = min((p.time_us for p in state.parents), default=1.0)
    behind = {p.attempt: math.log(p.time_us / best) for p in state.parents}
    ideas.sort(key=lambda x: (behind[x.arm.parent] - x.gain, x.arm.card, x.arm.parent))
    found = [_proposal([idea], cards) for idea in ideas]
    found += [_proposal(pair, cards) for pair in _pairs(ideas, cards)]
    found += [_joint(pair, cards, state.lessons, parents[pair.parent].bottleneck) for pair in state.pairs]
    found.sort(key=lambda p: behind[p.parent] - math.log(p.expected_speedup))
    return Plan(proposals=tuple(found[:MOST]))


def without(answer: Plan, refused: Sequence[int]) -> Plan:
    """The plan again without the proposals of these positions."""
    return Plan(proposals=tuple(p for i, p in enumerate(answer.proposals) if i not in set(refused)))


def residual(lessons: Sequence[Lesson], card: str, bottleneck: str) -> tuple[float, float] | None:
    """Mean and deviation that lessons teach of a technique here; from elsewhere, when none is of this bottleneck."""
    same = [x for x in lessons if x.technique == card]
    here = [x for x in same if x.bottleneck == bottleneck] or same
    if not here:
        return None
    total = sum(x.n for x in here)
    mean = sum(x.n * x.mean for x in here) / total
    return mean, max(x.sd for x in here)


def _ideas(arm: ArmView, parent: ParentView, lessons: Sequence[Lesson]) -> list[_Idea]:
    taught = residual(lessons, arm.card, parent.bottleneck)
    shift, sd = taught if taught else (0.0, arm.spread or DEFAULT_SPREAD)
    return [_Idea(arm, option, option.gain + shift, sd) for option in arm.options[:PER_ARM]]


def _pairs(ideas: Sequence[_Idea], cards: dict[str, CardView]) -> list[list[_Idea]]:
    """Ideas of different open cards on one parent, two at a time, in their order, where nothing speaks against it."""
    best: dict[tuple[int, str], _Idea] = {}
    for idea in ideas:
        if idea.gain > 0 and cards[idea.arm.card].open:
            best.setdefault((idea.arm.parent, idea.arm.card), idea)
    singles = list(best.values())
    found = [
        [first, second]
        for i, first in enumerate(singles)
        for second in singles[i + 1 :]
        if first.arm.parent == second.arm.parent and _go_together(first.arm, second.arm, cards)
    ]
    return found[:PAIRS]


def _go_together(a: ArmView, b: ArmView, cards: dict[str, CardView]) -> bool:
    names = dict.fromkeys((*a.bundle, a.card, *b.bundle, b.card))
    x, y = cards[a.card], cards[b.card]
    shared = set(x.change or {}) & set(y.change or {})
    return len(names) <= 3 and not shared and b.card not in x.conflicts and a.card not in y.conflicts


def _joint(pair: PairView, cards: dict[str, CardView], lessons: Sequence[Lesson], bottleneck: str) -> Proposal:
    """A pair that the closed form evaluated as one, with what was learned of its members."""
    taught = [residual(lessons, card, bottleneck) or (0.0, DEFAULT_SPREAD) for card in pair.techniques]
    gain, sd = pair.gain + sum(mean for mean, _ in taught), math.sqrt(sum(s * s for _, s in taught))
    return Proposal(
        techniques=pair.techniques,
        parent=pair.parent,
        params=pair.params,
        invariants=tuple(dict.fromkeys(text for t in pair.techniques if t in cards for text in cards[t].invariants)),
        expected_speedup=min(100.0, max(0.01, math.exp(gain))),
        confidence=0.5 * (1 + math.erf(gain / (sd * math.sqrt(2)))),
        reason=f"together the closed form promises {math.exp(pair.gain):.2f} times the speed",
    )


def _proposal(ideas: Sequence[_Idea], cards: dict[str, CardView]) -> Proposal:
    techniques = tuple(dict.fromkeys(t for idea in ideas for t in (*idea.arm.bundle, idea.arm.card)))
    gain = sum(idea.gain for idea in ideas)
    sd = math.sqrt(sum(idea.sd**2 for idea in ideas))
    chance = 0.5 * (1 + math.erf(gain / (sd * math.sqrt(2))))
    basis = "closed form" if all(idea.arm.basis == "predict" for idea in ideas) else "card's effect"
    return Proposal(
        techniques=techniques,
        parent=ideas[0].arm.parent,
        params={idea.arm.card: idea.option.params for idea in ideas if idea.option.params},
        invariants=tuple(dict.fromkeys(text for t in techniques if t in cards for text in cards[t].invariants)),
        expected_speedup=min(100.0, max(0.01, math.exp(gain))),
        confidence=min(1.0, max(0.0, chance)),
        reason=f"the {basis} promises {math.exp(gain):.2f} times the speed, give or take a factor {math.exp(sd):.2f}",
    )
