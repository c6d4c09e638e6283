"""How the selector explores: Thompson sampling over the planner's proposals. Nobody else rolls dice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from argus.agents.messages import Belief, ProposalView, SelectionState
from argus.agents.policy.levels import LEVELS

# A planner without a record is believed a little; perfect scores would be believed this much.
START_WEIGHT, TOP_WEIGHT = 0.2, 0.6


def choose(state: SelectionState) -> tuple[int, ...]:
    """Indices of at most `slots` proposals, best first.

    Proposals of open levels come first; they differ in schedule and in techniques. Slots that stay free go to the next
    level, then to further parameters of the techniques chosen: an idle slot teaches nothing.
    """
    rng = np.random.default_rng([state.seed, state.round])
    drawn = {p.index: utility(p, state.calibration, rng) for p in state.proposals}
    ranked = sorted(state.proposals, key=lambda p: (-drawn[p.index], p.index))
    chosen: list[ProposalView] = []
    for group in _groups(ranked):
        for p in group:
            if len(chosen) >= state.slots:
                break
            if drawn[p.index] > 0 and p.schedule_sha not in {c.schedule_sha for c in chosen}:
                chosen.append(p)
    if not chosen and ranked and state.slots > 0:
        chosen = ranked[:1]  # every draw was a loss; one try still narrows the beliefs
    return tuple(p.index for p in chosen)


def utility(proposal: ProposalView, calibration: float, rng: np.random.Generator) -> float:
    """A draw of the log gain over the best kernel, times the chance of a valid one; failing makes no loss smaller."""
    b = proposal.belief
    drawn = b.mean + b.scale * float(rng.standard_t(b.dof))
    weight = calibration * proposal.confidence
    gain = (1 - weight) * drawn + weight * proposal.score - proposal.behind
    return gain * b.success if gain > 0 else gain


def calibration(stated: Sequence[tuple[float, float]]) -> float:
    """Weight of a planner's scores from (stated, observed) log gains: falls with their mean square error.

    At an error of one standard deviation of a typical gain (0.2) half the weight is left.
    """
    if not stated:
        return START_WEIGHT
    error = sum((s - o) ** 2 for s, o in stated) / len(stated)
    earned = TOP_WEIGHT / (1 + error / 0.2**2)
    n = len(stated)
    return (2 * START_WEIGHT + n * earned) / (2 + n)


def combined(prior_gain: float, parts: Sequence[tuple[float, float, float]], success: float) -> Belief:
    """The belief on a bundle: its promise plus the members' residuals (mean, scale, dof), independent of each other."""
    mean = prior_gain + sum(m for m, _, _ in parts)
    scale = math.sqrt(sum(s * s for _, s, _ in parts))
    return Belief(mean=mean, scale=scale, dof=min(d for _, _, d in parts), success=success)


def _groups(ranked: Sequence[ProposalView]) -> Iterator[list[ProposalView]]:
    """Passes over the proposals: new techniques by level, open ones first; then everything else in the same order."""
    order = [[p for p in ranked if p.open], *([p for p in ranked if not p.open and p.level == x] for x in LEVELS)]
    seen: set[tuple[str, ...]] = set()
    again: list[list[ProposalView]] = []
    for group in order:
        fresh: list[ProposalView] = []
        rest: list[ProposalView] = []
        for p in group:
            name = tuple(sorted(p.techniques))
            (rest if name in seen else fresh).append(p)
            seen.add(name)
        yield fresh
        again.append(rest)
    yield from again
