"""Global before tile before instruction: a level opens when those above promise too little."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from argus.retrieval.card import Level

LEVELS: tuple[Level, ...] = ("global", "tile", "instruction")
OPENS_BELOW = math.log(1.02)


def open_levels(promises: Mapping[Level, float]) -> tuple[Level, ...]:
    """Levels to try, from above until one promises at least 2 %; `promises` is the best expected log gain by level."""
    found: list[Level] = []
    for level in LEVELS:
        found.append(level)
        if promises.get(level, 0.0) >= OPENS_BELOW:
            break
    return tuple(found)


def deepest(levels: Iterable[Level]) -> Level:
    """The level of a bundle: its members' deepest, so that it waits for all of them."""
    return max(levels, key=LEVELS.index)
