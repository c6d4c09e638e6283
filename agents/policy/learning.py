"""One round's results turned into rewards and beliefs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argus.agents.attempt import Attempt
from argus.agents.policy.arms import Catalogue, spread_of
from argus.agents.policy.credit import divide
from argus.agents.policy.lessons import Arm, belief, blank
from argus.agents.policy.reward import Reward


@dataclass(frozen=True, slots=True)
class Learned:
    """Attempts with reward and speedup filled in, and the arms after them."""

    attempts: list[Attempt]
    arms: dict[str, Arm]


def scored(attempt: Attempt, known: Mapping[int, Attempt], reward: Reward) -> Attempt:
    """The attempt with its reward against its parent and its speedup over attempt 0."""
    baseline = known.get(0)
    parent = known.get(attempt.parent) if attempt.parent is not None else None
    speedup = None
    if baseline and attempt.valid and baseline.valid and attempt.time_kind == baseline.time_kind:
        speedup = (baseline.time_us or 0.0) / (attempt.time_us or 1.0)
    earned = reward(attempt, parent) if parent is not None else None
    return attempt.model_copy(update={"reward": earned, "speedup": speedup})


def learn(
    arms: Mapping[str, Arm],
    fresh: Sequence[Attempt],
    known: Mapping[int, Attempt],
    catalogue: Catalogue,
    reward: Reward,
) -> Learned:
    """Update every arm that the fresh attempts pulled; the order is theirs."""
    out = dict(arms)
    done: list[Attempt] = []
    for raw in fresh:
        attempt = scored(raw, known, reward)
        done.append(attempt)
        if attempt.parent is not None and attempt.techniques:
            _pull(out, attempt, known[attempt.parent], catalogue)
    return Learned(done, out)


def _pull(arms: dict[str, Arm], attempt: Attempt, parent: Attempt, catalogue: Catalogue) -> None:
    members = [
        blank(
            name,
            attempt,
            target=catalogue.problem.target,
            family=catalogue.family.name,
            spread=spread_of(catalogue, name, parent),
        )
        for name in attempt.techniques
    ]
    parts: list[float | None] = [None] * len(members)
    if attempt.valid and attempt.reward is not None:
        variances = [belief(arms, arm).sd ** 2 for arm in members]
        parts = [*divide(attempt.reward - attempt.prior, variances)]
    for arm, part in zip(members, parts, strict=True):
        old = arms.get(arm.key, arm)
        update: dict[str, object] = {
            "spread": arm.spread,
            "wins": old.wins + attempt.valid,
            "losses": old.losses + (not attempt.valid),
        }
        if part is not None:
            update |= {"residuals": old.residuals.add(part), "steps": (*old.steps, str(attempt.id))}
        arms[arm.key] = old.model_copy(update=update)
