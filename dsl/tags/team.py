"""Waves that work together: those of one group of a role."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argus.dsl.tags.tables import LANES, Places


@dataclass(frozen=True, slots=True)
class Team:
    """Waves `first` to `first + waves - 1` of a block."""

    first: int
    waves: int

    @property
    def bits(self) -> int:
        return ((1 << self.waves) - 1) << self.first

    def seated(self, places: Places) -> Places:
        """Places among the team's threads as places among the block's."""
        if self.first == 0:
            return places
        before = np.full((self.first * LANES, places.element.shape[1]), -1)
        return Places(np.concatenate((before, places.element)), places.waves << self.first)
