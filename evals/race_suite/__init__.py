"""Small kernels, each about one hazard: half of them right, half wrong in a way that only ordering or coverage shows.

The ideas are those of public suites for races and barrier divergence on GPUs; the texts are this project's own.
"""

from argus.evals.race_suite import async_copies, blocks, lds, mbarriers, participants, registers
from argus.evals.race_suite.case import Case

CASES: tuple[Case, ...] = (
    *lds.CASES,
    *async_copies.CASES,
    *participants.CASES,
    *blocks.CASES,
    *mbarriers.CASES,
    *registers.CASES,
)

__all__ = ["CASES", "Case"]
