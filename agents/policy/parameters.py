"""Which parameters of a technique to try: ranked by the closed form where it sees them, else left to a sampler."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from argus.retrieval.card import Scalar

KEEP = 8
TIE = math.log(1.02)


@dataclass(frozen=True, slots=True)
class Choice:
    """A legal choice of parameters with the closed form's log gain, None where it does not see the fields."""

    params: dict[str, Scalar]
    gain: float | None


Ask = Callable[[Sequence[Choice], int], list[Choice]]


def shortlist(choices: Sequence[Choice], ask: Ask) -> list[Choice]:
    """At most eight choices, best first.

    Args:
        choices: All that are legal and untried, the card's defaults first.
        ask: Orders choices that the closed form cannot tell apart, given how many are wanted.
    """
    if not choices:
        return []
    known = [c for c in choices if c.gain is not None]
    if not known:
        return ask(choices, KEEP) if len(choices) > 1 else list(choices)
    # Stable: among equals the card's defaults come first.
    ranked = sorted(known, key=lambda c: -_gain(c))[:KEEP]
    if len(ranked) > 1 and _gain(ranked[0]) - _gain(ranked[-1]) < TIE:
        return ask(ranked, KEEP)
    return ranked


def _gain(choice: Choice) -> float:
    return choice.gain if choice.gain is not None else 0.0
