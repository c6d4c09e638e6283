"""The race suite: what the checker says of small kernels whose verdicts are known, and the confusion matrix."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor

from pydantic import BaseModel

from argus.evals.judge import Judged, judge
from argus.evals.race_suite import CASES, Case

SCHEMA_VERSION = 1
WORKERS = 2
SAID = ("proved", "refuted", "unknown", "refused", "crashed")


class Decided(BaseModel, frozen=True):
    """One kernel of the suite and both judges' words.

    Attributes:
        right: The expected verdict.
        confirmed: Whether the interpreter agrees with it.
        said: The checker's verdict; `kinds` of the obligations that are not proved.
        named: Of a wrong and refuted kernel: whether an obligation of an expected kind is refuted.
        wrong: How the interpreter saw it go wrong.
    """

    name: str
    hazard: str
    target: str
    right: bool
    confirmed: bool
    said: str
    kinds: tuple[str, ...]
    named: bool
    wrong: str
    reason: str

    @property
    def agrees(self) -> bool:
        """Right and proved, or wrong and refuted by the expected kind of obligation."""
        return self.said == "proved" if self.right else self.said == "refuted" and self.named

    @property
    def is_fault(self) -> bool:
        """A wrong kernel proved, a right one refuted, a crash, or a verdict that nobody confirms."""
        contrary = self.said == ("refuted" if self.right else "proved")
        return contrary or self.said == "crashed" or not self.confirmed


class RacesReport(BaseModel, frozen=True):
    """`argus eval races --json`.

    Attributes:
        matrix: Expected verdict, then the checker's, to how many.
        by_hazard: Hazard to (kernels, of which the checker and expectation agree).
    """

    schema_version: int = SCHEMA_VERSION
    kernels: int
    right: int
    confirmed: int
    agreed: int
    matrix: dict[str, dict[str, int]]
    by_hazard: dict[str, tuple[int, int]]
    decided: tuple[Decided, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Every verdict is as expected, and the interpreter confirms each."""
        return self.agreed == self.kernels == self.confirmed

    def render(self) -> str:
        """The confusion matrix, hazards, and every kernel on which someone disagrees."""
        lines = [
            f"{self.kernels} kernels, {self.right} of them right; the interpreter confirms {self.confirmed}; "
            f"{self.seconds:.0f} s",
            f"{'':10}" + "".join(f"{said:>9}" for said in SAID),
        ]
        lines += [
            f"{expected:10}" + "".join(f"{row.get(said, 0):9}" for said in SAID)
            for expected, row in self.matrix.items()
        ]
        lines += [f"{hazard:32}{good:4} of {count:3}" for hazard, (count, good) in self.by_hazard.items()]
        for d in self.decided:
            if not d.confirmed:
                lines.append(f"not confirmed: {d.name}: {d.wrong or 'the interpreter finds nothing wrong'}")
            elif not d.agrees:
                kinds = ", ".join(d.kinds)
                lines.append(f"{'right' if d.right else 'wrong'}, {d.said}: {d.name} ({kinds}): {d.reason or d.wrong}")
        return "\n".join(lines)


def evaluate_races(
    *,
    cases: Sequence[Case] = CASES,
    workers: int = WORKERS,
    progress: Callable[[int, int], None] | None = None,
) -> RacesReport:
    """Judge the suite; with several workers, all of it."""
    began = time.perf_counter()
    decided: list[Decided] = []

    def add(judged: Judged) -> None:
        decided.append(_decided(cases[len(decided)], judged))
        if progress is not None:
            progress(len(decided), len(cases))

    if workers == 1 or tuple(cases) != CASES:
        for case in cases:
            add(judge(case.text, case.subject))
    else:
        # Spawned, not forked: the parent may hold threads (a solver's, a test runner's).
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            for judged in pool.map(_judge, range(len(CASES)), chunksize=4):
                add(judged)
    matrix = {
        name: dict(Counter(d.said for d in decided if d.right is right))
        for name, right in (("right", True), ("wrong", False))
    }
    return RacesReport(
        kernels=len(decided),
        right=sum(d.right for d in decided),
        confirmed=sum(d.confirmed for d in decided),
        agreed=sum(d.agrees for d in decided),
        matrix=matrix,
        by_hazard={
            hazard: (sum(d.hazard == hazard for d in decided), sum(d.agrees for d in decided if d.hazard == hazard))
            for hazard in dict.fromkeys(d.hazard for d in decided)
        },
        decided=tuple(decided),
        seconds=time.perf_counter() - began,
    )


def _judge(index: int) -> Judged:
    case = CASES[index]
    return judge(case.text, case.subject)


def _decided(case: Case, judged: Judged) -> Decided:
    return Decided(
        name=case.name, hazard=case.hazard, target=case.subject.target, right=case.right,
        confirmed=not judged.broken and (not judged.wrong) is case.right,
        said=judged.verdict, kinds=judged.kinds, named=bool({*judged.kinds} & {*case.kinds}),
        wrong=judged.broken or judged.wrong, reason=judged.reasons[0] if judged.reasons else "",
    )  # fmt: skip
