"""The IR executed: the independent truth about a kernel.

Blocks of a core-form kernel run on fp64 data without dtype rounding, as unkindly as the language allows: memory and
registers start as poison, async copies land early, late or at random, waves interleave by a seeded policy, and
happens-before is tracked for every cell, so that a race is found even where the values come out right. Nothing here
is shared with the checker but the IR itself.
"""

from argus.dsl.interp.fault import Fault, FaultKind
from argus.dsl.interp.policy import POLICIES, Interleaving, Landing, Policy
from argus.dsl.interp.program import Program, prepare
from argus.dsl.interp.run import Inputs, Outcome, execute, run
from argus.dsl.interp.trips import trip_sizes
from argus.dsl.interp.truth import Reference, Wrong, wrong

__all__ = [
    "POLICIES",
    "Fault",
    "FaultKind",
    "Inputs",
    "Interleaving",
    "Landing",
    "Outcome",
    "Policy",
    "Program",
    "Reference",
    "Wrong",
    "execute",
    "prepare",
    "run",
    "trip_sizes",
    "wrong",
]
