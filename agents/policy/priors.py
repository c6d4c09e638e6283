"""What a technique promises before anything was learned: a log gain and how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from argus.agents.messages import ReliefView

# A card without effects, or one whose closed form decides: still uncertain by this much.
DEFAULT_SPREAD = 0.2
FLOOR_SPREAD = 0.03
# Distance of the 10 % and 90 % points of a normal, in standard deviations.
_TENTHS = 2 * 1.2815515655446004

# Resources that the estimate does not time apart: occupancy hides latency, and a tail is idle matrix time.
_SHOWS_AS = {"occupancy": "latency", "tail": "mfma"}


def shares(resources_us: Mapping[str, float]) -> dict[str, float]:
    """Each resource's part of the summed resource times: what Amdahl's law needs when they overlap only in part."""
    total = sum(resources_us.values())
    return {name: us / total for name, us in resources_us.items()} if total > 0 else {}


def promised(relieves: Sequence[ReliefView], resources_us: Mapping[str, float]) -> float:
    """Middle log gain of a card on a parent with these resource times."""
    return _gain([(r.resource, r.mid) for r in relieves], shares(resources_us))


def spread(relieves: Sequence[ReliefView], resources_us: Mapping[str, float]) -> float:
    """Standard deviation of the log gain from the cards' 10 % and 90 % points; folklore doubles it."""
    if not relieves:
        return DEFAULT_SPREAD
    part = shares(resources_us)
    low = _gain([(r.resource, r.low) for r in relieves], part)
    high = _gain([(r.resource, r.high) for r in relieves], part)
    width = (high - low) / _TENTHS
    return max(FLOOR_SPREAD, 2 * width if any(r.basis == "folklore" for r in relieves) else width)


def _gain(effects: Sequence[tuple[str, float]], part: Mapping[str, float]) -> float:
    """Amdahl's law: the log gain when each resource named shrinks by its factor."""
    saved = sum(part.get(_SHOWS_AS.get(name, name), 0.0) * (1 - 1 / effect) for name, effect in effects)
    # Several effects may claim more than there is; a twentieth of the time always remains.
    return -math.log1p(-min(saved, 0.95))
