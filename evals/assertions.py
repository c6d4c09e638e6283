"""What written assertions are worth: the mutants that each rejects, alone and beyond the implicit obligations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from pydantic import BaseModel

from argus.dsl.check import check_kernel
from argus.dsl.diagnostics import CheckReport, ObligationReport
from argus.dsl.frontend import parse
from argus.dsl.ir.printer import show
from argus.evals.mutation.draw import draw
from argus.evals.mutation.operators import ARITHMETIC

# Tags say nothing of what is computed, and edits that change nothing cannot be told by anybody.
LEFT_OUT = ARITHMETIC | {"harmless"}
MUTANTS = 96


class AssertionWorth(BaseModel, frozen=True):
    """One written assertion.

    Attributes:
        kills: Mutants in which it is violated.
        beyond: Those of them in which every implicit obligation is proved: without it they would pass.
        operators: Kills by the operator that made the mutant.
        weak: No kills at all. None where the assertion is not proved of the kernel itself.
    """

    id: str
    text: str
    file: str
    line: int
    col: int
    kills: int
    beyond: int
    operators: dict[str, int] = {}
    weak: bool | None


class MutantReport(BaseModel, frozen=True):
    """`mutants` of `argus check --mutants --format json`.

    Attributes:
        seed: Of the draw.
        mutants: Kernels with one edit that keep contract and assertions.
        implicit: Those in which an implicit obligation is violated.
        unknown: Those in which nothing is violated and something is unknown.
        assertions: In the order of the text.
    """

    seed: int
    mutants: int
    implicit: int
    unknown: int
    assertions: tuple[AssertionWorth, ...]

    def render(self) -> str:
        """A line for each assertion, after one about the mutants."""
        rest = f", {self.unknown} more left unknown" if self.unknown else ""
        lines = [
            f"{self.mutants} mutants (seed {self.seed}): {self.implicit} violate implicit obligations{rest}",
            *map(_line, self.assertions),
        ]
        if not self.assertions:
            lines.append("the kernel has no written assertion")
        return "\n".join(lines)


def _line(a: AssertionWorth) -> str:
    head = f"{a.file}:{a.line}:{a.col}: {a.text}: "
    if a.weak is None:
        return head + "not proved of the kernel itself, so that its kills would mean nothing"
    if a.weak:
        return head + "weak: kills no mutant"
    by = ", ".join(f"{name} {n}" for name, n in sorted(a.operators.items(), key=lambda item: (-item[1], item[0])))
    return head + f"kills {a.kills}, {a.beyond} beyond the implicit obligations ({by})"


class MutatedReport(CheckReport, frozen=True):
    """A check report with the mutants' verdict on the assertions."""

    mutants: MutantReport


class _Judged(NamedTuple):
    operator: str
    violated: frozenset[str]  # written assertions, by id
    implicit_violated: bool
    implicit_proved: bool
    unknown: bool


def judge_assertions(
    text: str,
    report: CheckReport,
    *,
    count: int = MUTANTS,
    seed: int = 0,
    kernel: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MutantReport:
    """Mutate a kernel and see which written assertions notice.

    Violations are the analysis's word, not replayed: an assertion may be violated where no output is wrong.

    Args:
        text: Of the kernel; `kernel` says which, if it holds several.
        report: Its check.
        count: Mutants wanted; fewer come back when the operators yield fewer.
        seed: Of the draw.
        kernel: Name of the kernel.
        progress: Called with how many of how many are judged.

    Raises:
        KernelError: If the text is no kernel.
    """
    written = [o for o in report.obligations if o.origin == "written"]
    drawn = draw([(report.kernel, show(parse(text, kernel=kernel)))], count=count, seed=seed)
    mutants = [m for m in drawn.mutants if m.operator not in LEFT_OUT]
    ids = {o.id for o in written}
    judged: list[_Judged] = []
    for number, mutant in enumerate(mutants, 1):
        found = check_kernel(parse(mutant.text), replay=False).obligations
        # An edit of an assertion, or of the loop that holds it, says nothing about the assertion's worth.
        if {o.id for o in found if o.origin == "written"} == ids:
            judged.append(_judged(mutant.operator, found))
        if progress is not None:
            progress(number, len(mutants))
    return MutantReport(
        seed=seed,
        mutants=len(judged),
        implicit=sum(j.implicit_violated for j in judged),
        unknown=sum(j.unknown for j in judged),
        assertions=tuple(_worth(o, judged) for o in written),
    )


def _judged(operator: str, found: tuple[ObligationReport, ...]) -> _Judged:
    implicit = [o for o in found if o.origin == "implicit"]
    violated = frozenset(o.id for o in found if o.origin == "written" and _violated(o))
    implicit_violated = any(map(_violated, implicit))
    return _Judged(
        operator,
        violated,
        implicit_violated,
        all(o.verdict == "proved" for o in implicit),
        not violated and not implicit_violated and any(o.verdict == "unknown" for o in found),
    )


def _violated(o: ObligationReport) -> bool:
    return o.verdict == "refuted" or (o.reason or "").startswith("violated")


def _worth(o: ObligationReport, judged: list[_Judged]) -> AssertionWorth:
    kills = [j for j in judged if o.id in j.violated] if o.verdict == "proved" else []
    return AssertionWorth(
        id=o.id, text=o.text, file=o.file, line=o.line, col=o.col, kills=len(kills),
        beyond=sum(j.implicit_proved for j in kills), operators=dict(Counter(j.operator for j in kills)),
        weak=not kills if o.verdict == "proved" else None,
    )  # fmt: skip
