"""The checker's answer: `argus check --format json` prints exactly this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from pydantic import BaseModel, computed_field

from argus.dsl.diagnostics.counterexample import Counterexample
from argus.dsl.diagnostics.edit import Advice

SCHEMA_VERSION = 1
Tier = Literal["structure", "affine", "gf2", "table", "smt", "bitvector"]  # cheapest first


class ObligationReport(BaseModel, frozen=True):
    """One thing that was to be proved, and the verdict on it.

    `id` hashes kind, normalised text and ordinal, never the line: an edit elsewhere keeps it.
    """

    id: str
    kind: str
    origin: Literal["implicit", "written"]
    text: str
    file: str
    line: int
    col: int
    end_line: int
    end_col: int
    verdict: Literal["proved", "refuted", "unknown"]
    tier: Tier
    counterexample: Counterexample | None = None
    reason: str | None = None

    def render(self, lines: Sequence[str]) -> str:
        """The counterexample, or one line that says why nothing is known."""
        if self.counterexample is not None:
            return self.counterexample.render(lines)
        where = f"{self.file}:{self.line}:{self.col}"
        return f"{where}: {self.verdict}[{self.kind}]: {self.text}" + (f" ({self.reason})" if self.reason else "")


class CheckReport(BaseModel, frozen=True):
    """All obligations of one kernel, with what is reported beside them.

    Attributes:
        assumed: Whether any proof leans on `assume` or an explicit `tag`.
        bank_conflicts: Worst ways of LDS access, e.g. `{"read_way": 2, "write_way": 1}`, and one row an access site.
        resources: Budgets, e.g. `lds_bytes`, `accumulator_registers`.
        assumptions: Preconditions the proofs rest on, as text.
        vacuous: Why the preconditions admit no execution, if they do not.
        widened: What the analysis gave up on, such as a loop that it did not understand, with its place.
        advice: Edits that would make the kernel faster, such as a swizzle without bank conflicts.
    """

    schema_version: int = SCHEMA_VERSION
    kernel: str
    target: str
    contract_sha: str
    assumed: bool = False
    seconds: float = 0.0
    obligations: tuple[ObligationReport, ...] = ()
    bank_conflicts: dict[str, Any] = {}
    resources: dict[str, Any] = {}
    assumptions: tuple[str, ...] = ()
    vacuous: str | None = None
    widened: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()

    @computed_field
    @property
    def ok(self) -> bool:
        """At least one obligation, all proved, preconditions satisfiable: deleting assertions must not pay."""
        return bool(self.obligations) and self.vacuous is None and self.count("proved") == len(self.obligations)

    @computed_field
    @property
    def tiers(self) -> dict[str, int]:
        """How many obligations each tier decided, cheapest first."""
        counts = {tier: sum(o.tier == tier for o in self.obligations) for tier in get_args(Tier)}
        return {tier: n for tier, n in counts.items() if n}

    def count(self, verdict: Literal["proved", "refuted", "unknown"]) -> int:
        return sum(o.verdict == verdict for o in self.obligations)

    @property
    def counterexamples(self) -> tuple[Counterexample, ...]:
        return tuple(o.counterexample for o in self.obligations if o.counterexample is not None)

    def render(self, source: str) -> str:
        """Everything that is not proved, everything widened, then a summary in two lines."""
        lines = source.splitlines()
        out = [o.render(lines) for o in self.obligations if o.verdict != "proved"]
        if self.vacuous:
            out.append(
                f"{self.kernel}: preconditions contradict each other: {self.vacuous}; a vacuous proof is no proof"
            )
        out += [f"{self.kernel}: widened: {loop}" for loop in self.widened]
        out += [f"{self.kernel}: advice: {a.text}" for a in self.advice]
        out.append(
            f"{self.kernel} ({self.target}): {self.count('proved')} of {len(self.obligations)} obligations proved, "
            f"{self.count('refuted')} refuted, {self.count('unknown')} unknown"
            + (", leaning on assumptions" if self.assumed else "")
            + f" ({self.seconds * 1e3:.0f} ms)"
        )
        if self.tiers:
            out.append(f"decided by {', '.join(f'{tier} {n}' for tier, n in self.tiers.items())}")
        return "\n".join(out)
