"""Who earned it: a bundle's residual, divided among its members."""

from __future__ import annotations

from collections.abc import Sequence


def divide(residual: float, variances: Sequence[float]) -> list[float]:
    """Parts in proportion to the members' variances: the least known member explains most of the surprise.

    This is the exact posterior mean of each part when the members are independent normals with known sum.
    """
    total = sum(variances)
    if total <= 0:
        return [residual / len(variances)] * len(variances)
    return [residual * v / total for v in variances]
