"""In which order an execution does what the language leaves open: async landings and wave interleaving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Landing = Literal["earliest", "latest", "random"]
Interleaving = Literal["round-robin", "first", "last", "random"]


@dataclass(frozen=True, slots=True)
class Policy:
    """One way to schedule a block.

    Attributes:
        landing: When an async copy (or a pending MMA) takes effect: at issue, at the wait that retires it (or at the
            end), or at a random step between, drawn per copy and wave.
        interleaving: Which runnable wave executes the next statement: each in turn, the lowest number, the highest
            number, or a random one (with an odd seed: by random priorities, so that some waves starve).
        seed: Of the random choices.
    """

    landing: Landing = "latest"
    interleaving: Interleaving = "round-robin"
    seed: int = 0

    def __str__(self) -> str:
        seed = f" {self.seed}" if "random" in (self.landing, self.interleaving) else ""
        return f"copies land {self.landing}, waves {self.interleaving}{seed}"


_INTERLEAVINGS: tuple[tuple[Interleaving, int], ...] = (
    ("round-robin", 0), ("first", 0), ("last", 0), ("random", 0), ("random", 1), ("random", 2), ("random", 3),
)  # fmt: skip
_LANDINGS: tuple[Landing, ...] = ("earliest", "latest", "random")

# Early entries differ most, so that a wrong kernel is found out soon.
POLICIES: tuple[Policy, ...] = tuple(
    Policy(landing, interleaving, seed) for interleaving, seed in _INTERLEAVINGS for landing in _LANDINGS
)
