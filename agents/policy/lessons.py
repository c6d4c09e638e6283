"""What a run learned, in a form that reaches planners: arm statistics rendered into the prompt."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel

from argus.agents.attempt import Attempt, TimeKind, sha
from argus.agents.messages import Lesson
from argus.agents.policy.posterior import CARRY_LIMIT, Moments, NormalInverseGamma, posterior
from argus.agents.prompts import Prompt, load

MIN_STEPS = 2
MAX_LESSONS = 20


class Arm(BaseModel, frozen=True):
    """A technique under a bottleneck. Estimated and measured rewards never share one: the kind is part of its name.

    Attributes:
        residuals: Observed minus promised log gains.
        spread: Prior standard deviation of the gain, from the card.
        wins, losses: Tries that gave a valid kernel, and that did not.
        steps: The attempts whose gains are in `residuals`.
    """

    technique: str
    bottleneck: str
    target: str
    family: str
    time_kind: TimeKind = "estimated"
    spread: float = 0.2
    residuals: Moments = Moments()
    wins: float = 0.0
    losses: float = 0.0
    steps: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return "|".join((self.technique, self.bottleneck, self.target, self.family, self.time_kind))


Arms = Mapping[str, Arm]


def blank(technique: str, attempt: Attempt, *, target: str, family: str, spread: float) -> Arm:
    """The arm that an attempt's technique belongs to, before anything was seen."""
    return Arm(
        technique=technique,
        bottleneck=attempt.bottleneck,
        target=target,
        family=family,
        time_kind=attempt.time_kind,
        spread=spread,
    )


def siblings(arms: Arms, arm: Arm) -> Moments:
    """What the same technique taught under other bottlenecks, pooled."""
    pooled = Moments()
    for key in sorted(arms):
        other = arms[key]
        if other.key != arm.key and _same_but_bottleneck(other, arm):
            pooled = pooled.merge(other.residuals)
    return pooled


def belief(arms: Arms, arm: Arm) -> NormalInverseGamma:
    """The posterior of an arm's residual, its technique's other arms taken along."""
    own = arms.get(arm.key, arm)
    return posterior(arm.spread, own.residuals, siblings(arms, arm))


def success(arms: Arms, arm: Arm) -> float:
    """Expected share of tries that give a valid kernel, over all bottlenecks: Beta(4, 1) before anything was seen."""
    same = [a for a in arms.values() if a.key == arm.key or _same_but_bottleneck(a, arm)]
    wins, losses = sum(a.wins for a in same), sum(a.losses for a in same)
    return (4 + wins) / (5 + wins + losses)


def carried(arms: Iterable[Arm]) -> dict[str, Arm]:
    """Arms taken to another task: they count for at most six observations there."""
    out: dict[str, Arm] = {}
    for arm in arms:
        tries = arm.wins + arm.losses
        scale = min(1.0, CARRY_LIMIT / tries) if tries else 1.0
        capped = {
            "residuals": arm.residuals.capped(CARRY_LIMIT),
            "wins": arm.wins * scale,
            "losses": arm.losses * scale,
        }
        out[arm.key] = arm.model_copy(update=capped)
    return out


def lessons(arms: Arms) -> tuple[Lesson, ...]:
    """One lesson an arm with at least two steps, best known first."""
    found = [_lesson(arms, arms[key]) for key in sorted(arms) if len(arms[key].steps) >= MIN_STEPS]
    found.sort(key=lambda lesson: (-lesson.n, lesson.id))
    return tuple(found[:MAX_LESSONS])


def render(found: Sequence[Lesson]) -> str:
    """Lessons as text, the same for the same lessons; empty without any."""
    if not found:
        return ""
    lines = [
        f"- {x.technique} on {x.bottleneck}-bound {x.family} kernels ({x.target}): {math.exp(x.mean):.2f} times what "
        f"was promised, give or take {100 * (math.exp(x.sd) - 1):.0f} % ({x.n:.0f} tries). {x.note}".rstrip()
        for x in found
    ]
    return "\n".join(("## What earlier attempts taught", *lines))


def prompt_text(seed_text: str, found: Sequence[Lesson]) -> str:
    """A prompt: its reviewed seed, then the lessons."""
    told = render(found)
    return f"{seed_text.rstrip()}\n\n{told}\n" if told else f"{seed_text.rstrip()}\n"


def planner_prompt(found: Sequence[Lesson]) -> Prompt:
    """The planner's prompt as these lessons leave it."""
    return Prompt("planner", prompt_text(load("planner").text, found))


def _lesson(arms: Arms, arm: Arm) -> Lesson:
    b = belief(arms, arm)
    return Lesson(
        id=sha(arm.key),
        technique=arm.technique,
        bottleneck=arm.bottleneck,
        target=arm.target,
        family=arm.family,
        mean=b.mean,
        sd=b.sd,
        n=arm.residuals.n,
        steps=arm.steps,
        note=_note(arm, b),
    )


def _note(arm: Arm, b: NormalInverseGamma) -> str:
    rate = "often fails to give a valid kernel" if arm.losses > arm.wins else ""
    if b.above(0.0) > 0.9:
        surprise = "gains more than promised"
    elif b.above(0.0) < 0.1:
        surprise = "gains less than promised"
    else:
        surprise = "gains about what is promised"
    return "; ".join(part for part in (surprise, rate) if part)


def _same_but_bottleneck(a: Arm, b: Arm) -> bool:
    return (a.technique, a.target, a.family, a.time_kind) == (b.technique, b.target, b.family, b.time_kind)
