"""When a search ends, and what it says then."""

from __future__ import annotations

import math
from collections.abc import Sequence

GAIN = math.log(1.01)
CHANCE = 0.10
NEAR_FLOOR = 1.05
PATIENCE = 2

NO_PROMISE = "no remaining technique has a 10 % chance of gaining 1 %"
AT_FLOOR = "the best kernel is within 5 % of the lower bound"
NO_PROPOSAL = "the planner proposes nothing more"
NO_ANSWER = "the planner gave no usable answer in two rounds"
NO_START = "the start kernel is not valid"
STALLED = "two rounds passed without a gain and every level was open"


def no_promise(chances: Sequence[float]) -> bool:
    """Whether no arm has more than a 10 % chance of gaining 1 %."""
    return all(chance <= CHANCE for chance in chances)


def at_floor(best_us: float | None, lower_bound_us: float | None) -> bool:
    """Whether the best time lies so near the lower bound that no gain is left. Unknown times never do."""
    return best_us is not None and lower_bound_us is not None and best_us <= NEAR_FLOOR * lower_bound_us


def stalled(best_by_round: Sequence[float], *, all_open: bool) -> bool:
    """Whether the best time did not fall in the last two rounds; the first entry is the start kernel."""
    if not all_open or len(best_by_round) <= PATIENCE:
        return False
    return min(best_by_round[-PATIENCE:]) >= best_by_round[-PATIENCE - 1]
