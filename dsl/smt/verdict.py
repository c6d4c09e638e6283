"""Three verdicts. A refutation cannot lack its witness, and what is unknown cannot pass for a proof."""

from __future__ import annotations

from dataclasses import dataclass

from argus.dsl.diagnostics import Counterexample
from argus.dsl.tags.obligations import Tier


@dataclass(frozen=True, slots=True)
class Proved:
    tier: Tier


@dataclass(frozen=True, slots=True)
class Refuted:
    """`counterexample` was reproduced by the interpreter."""

    tier: Tier
    counterexample: Counterexample


@dataclass(frozen=True, slots=True)
class Unknown:
    """`reason` names what stands in the way; `internal` when solver and interpreter disagree."""

    tier: Tier
    reason: str


Verdict = Proved | Refuted | Unknown
