"""What a candidate earns."""

from __future__ import annotations

import math
from collections.abc import Callable

from argus.agents.attempt import Attempt

REWARD_VERSION = "1"
# A violation costs about what losing a third of the speed would; a wrong result that passed the checker costs more.
VIOLATION = -0.4
WRONG = -0.7

Reward = Callable[[Attempt, Attempt], "float | None"]


def log_gain(attempt: Attempt, parent: Attempt) -> float | None:
    """log(parent's time / its time); None unless both are valid and timed in the same way."""
    if not (attempt.valid and parent.valid) or attempt.time_us is None or parent.time_us is None:
        return None
    if attempt.time_kind != parent.time_kind:
        return None
    return math.log(parent.time_us / attempt.time_us)


def reward(attempt: Attempt, parent: Attempt) -> float | None:
    """The log gain; a fixed penalty for a violation; nothing when the toolchain or the proposal is to blame."""
    if attempt.fault in ("toolchain", "proposal"):
        return None
    if attempt.valid:
        return log_gain(attempt, parent)
    return WRONG if attempt.status == "wrong" else VIOLATION
