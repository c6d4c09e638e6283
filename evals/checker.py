"""How far the checker can be trusted: mutants of right kernels, judged by it and by the interpreter."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from argus.evals.judge import Judged, judge
from argus.evals.mutation.draw import draw
from argus.evals.mutation.operators import ARITHMETIC, OPERATORS
from argus.evals.subjects import Subject, subjects

SCHEMA_VERSION = 1
WORKERS = 2


class Tally(BaseModel, frozen=True):
    """Counts over mutants. Every wrong one is refuted, unknown, crashed or unsound.

    Attributes:
        wrong: Mutants that the interpreter finds wrong, those by arithmetic alone left out.
        refuted: Wrong, and refuted with a replayed witness.
        unknown: Wrong, and neither proved nor refuted.
        unsound: Wrong, and proved.
        clean_unknown: Not wrong, and neither proved nor refuted.
        not_wrong_refuted: Not wrong, and refuted.
        arithmetic: Wrong only in what is computed from the right elements: tests find these, tags do not.
        internal: Solver and interpreter disagreed on some obligation.
        crashed: The checker failed, or the interpreter did, and then nobody knows.
    """

    mutants: int = 0
    wrong: int = 0
    refuted: int = 0
    unknown: int = 0
    unsound: int = 0
    clean_unknown: int = 0
    not_wrong_refuted: int = 0
    arithmetic: int = 0
    internal: int = 0
    crashed: int = 0


class OperatorTally(Tally, frozen=True):
    """The counts of one operator."""

    operator: str


class CheckerReport(Tally, frozen=True):
    """`argus eval checker --json`.

    Attributes:
        seed: Of the draw; `edits` make one mutant.
        kernels: Right kernels that were mutated; `unproved` names those that the checker does not prove.
        rejected: Edits that the front end refused, which are no mutants.
        by_operator: The counts for each operator.
        faults: Mutants with a defect of the checker: unsound, falsely refuted, internal or crashed.
        undecided: The other wrong mutants left unknown, and right ones left unknown.
    """

    schema_version: int = SCHEMA_VERSION
    seed: int
    edits: int = 1
    kernels: int
    unproved: tuple[str, ...] = ()
    rejected: int = 0
    seconds: float = 0.0
    by_operator: tuple[OperatorTally, ...] = ()
    faults: tuple[Judged, ...] = ()
    undecided: tuple[Judged, ...] = ()

    @property
    def refuted_share(self) -> float:
        """Of the wrong mutants."""
        return self.refuted / self.wrong if self.wrong else 0.0

    @property
    def ok(self) -> bool:
        """Nothing wrong was proved, nothing right refuted, all originals proved, at least 90 % refuted."""
        clean = not self.faults and not self.unproved
        return clean and self.refuted_share >= 0.9

    def render(self) -> str:
        """A table, one operator a row, and everything that is amiss."""
        names = ("operator", "mutants", "wrong:", "refuted", "unknown", "unsound", "right:", "refuted", "unknown")
        edits = "one edit" if self.edits == 1 else f"{self.edits} edits"
        head = f"seed {self.seed}: {self.mutants} mutants of {self.kernels} kernels by {edits}"
        lines = [head, _row(names)]
        for name, t in (*((row.operator, row) for row in self.by_operator), ("total", self)):
            right = t.mutants - t.wrong - t.arithmetic
            counts = (t.mutants, t.wrong, t.refuted, t.unknown, t.unsound, right, t.not_wrong_refuted, t.clean_unknown)
            lines.append(_row((name, *map(str, counts))))
        lines += [
            f"{100 * self.refuted_share:.1f} % of the wrong ones are refuted with a replayed witness",
            f"{self.rejected} edits more were refused by the front end; {self.seconds:.0f} s",
        ]
        if self.arithmetic:
            lines.append(f"{self.arithmetic} more are wrong in their arithmetic alone, which no tag tells")
        lines += [f"not proved, though right: {name}" for name in self.unproved]
        lines += [
            f"defect: {r.operator or 'original'} of {r.origin}: {r.verdict}, {r.broken or r.wrong or 'not wrong'}"
            for r in self.faults
        ]
        return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"{cells[0]:16}" + "".join(f"{cell:>9}" for cell in cells[1:])


def evaluate_checker(
    *,
    count: int,
    seed: int,
    edits: int = 1,
    kernels: Sequence[Subject] | None = None,
    workers: int = WORKERS,
    progress: Callable[[int, int], None] | None = None,
) -> CheckerReport:
    """Draw mutants and judge them.

    Args:
        count: Mutants wanted; fewer if the operators yield fewer.
        seed: Of the draw.
        edits: How many edits make a mutant.
        kernels: Which kernels to mutate; by default all subjects.
        workers: Processes; 1: this one.
        progress: Called with how many of how many are judged.
    """
    began = time.perf_counter()
    by_name = {s.name: s for s in (subjects() if kernels is None else kernels)}
    drawn = draw([(s.name, s.text) for s in by_name.values()], count=count, seed=seed, edits=edits)
    jobs = [_Job(s, s.text) for s in by_name.values()]
    jobs += [_Job(by_name[m.origin], m.text, m.operator, m.sha) for m in drawn.mutants]
    results: list[Judged] = []
    for result in _judged(jobs, workers):
        results.append(result)
        if progress is not None:
            progress(len(results), len(jobs))
    clean, judged = results[: len(by_name)], results[len(by_name) :]
    return CheckerReport(
        seed=seed,
        edits=edits,
        kernels=len(by_name),
        unproved=tuple(r.origin for r in clean if r.verdict != "proved" or r.wrong),
        rejected=drawn.rejected,
        seconds=time.perf_counter() - began,
        by_operator=tuple(
            OperatorTally(operator=name, **tally(r for r in judged if r.operator == name).model_dump())
            for name in OPERATORS
        ),
        faults=tuple(r for r in (*clean, *judged) if is_fault(r)),
        undecided=tuple(r for r in judged if r.verdict == "unknown" and not is_fault(r)),
        **tally(judged).model_dump(),
    )


def is_fault(r: Judged) -> bool:
    """Whether the checker proved a wrong kernel, refuted a right one, contradicted itself or crashed."""
    unsound = bool(r.wrong) and r.verdict == "proved" and r.operator not in ARITHMETIC
    return unsound or (not r.wrong and r.verdict == "refuted") or r.internal or is_crash(r)


def is_crash(r: Judged) -> bool:
    """Whether one of the judges gave no verdict."""
    return r.verdict == "crashed" or bool(r.broken)


def tally(judged: Iterable[Judged]) -> Tally:
    """The counts of some mutants."""
    all_of = list(judged)
    arithmetic = [r for r in all_of if r.operator in ARITHMETIC and r.wrong]
    rest = [r for r in all_of if r not in arithmetic and not r.broken]
    wrong, right = [r for r in rest if r.wrong], [r for r in rest if not r.wrong]
    return Tally(
        mutants=len(all_of),
        wrong=len(wrong),
        refuted=sum(r.verdict == "refuted" for r in wrong),
        unknown=sum(r.verdict == "unknown" for r in wrong),
        unsound=sum(r.verdict == "proved" for r in wrong),
        clean_unknown=sum(r.verdict == "unknown" for r in right),
        not_wrong_refuted=sum(r.verdict == "refuted" for r in right),
        arithmetic=len(arithmetic),
        internal=sum(r.internal for r in all_of),
        crashed=sum(map(is_crash, all_of)),
    )


def save_faults(report: CheckerReport, folder: Path) -> list[Path]:
    """One file for each mutant that shows a defect: its text, what the checker says, what the interpreter says."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for r in (*report.faults, *report.undecided):
        said = r.verdict if r.verdict != "proved" else "unsound"
        path = folder / f"{said}-{r.operator or 'original'}-{r.origin}-{r.sha[:8]}.py"
        notes = [
            *f"interpreter: {r.broken or r.wrong or 'not wrong'}".splitlines(),
            *f"checker: {r.verdict}\n{r.found}".splitlines(),
        ]
        path.write_text(r.text + "".join(f"# {line}\n" for line in notes), "utf-8")
        paths.append(path)
    return paths


# --------------------------------------------------------------------------------------------- processes


class _Job(NamedTuple):
    """What one process is told to judge; sent to it whole."""

    subject: Subject
    text: str
    operator: str = ""
    sha: str = ""


def _judged(jobs: Sequence[_Job], workers: int) -> Iterator[Judged]:
    if workers == 1:
        yield from map(_judge, jobs)
        return
    # Spawned, not forked: the parent may hold threads (a solver's, a test runner's).
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_judge, jobs)


def _judge(job: _Job) -> Judged:
    subject = job.subject
    return judge(
        job.text,
        subject.reference,
        operator=job.operator,
        origin=subject.name,
        sha=job.sha,
        contract=subject.text,
    )
