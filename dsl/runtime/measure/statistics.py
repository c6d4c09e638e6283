"""Medians and their intervals, without assumptions about the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from statistics import median

CONFIDENCE = 0.95


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Median and an interval that holds the true median with at least 95 % (order statistics; binomial).

    With fewer than six values no such interval exists: then it is their whole range, which promises less.
    """
    ordered = sorted(values)
    n = len(ordered)
    out = 0  # how many are cut off at each end
    while out + 1 <= (n - 1) // 2 and 1 - 2 * _tail(n, out + 1) >= CONFIDENCE:
        out += 1
    return median(ordered), ordered[out], ordered[n - 1 - out]


def _tail(n: int, k: int) -> float:
    """P(at most k of n fair coins show heads)."""
    return sum(comb(n, i) for i in range(k + 1)) / 2**n
