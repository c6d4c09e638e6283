"""How far the checker can be trusted: mutants of right kernels, judged by it and by the interpreter."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from argus.dsl.tags.obligations import TIERS
from argus.evals.judge import Judged, judge
from argus.evals.mutation.draw import Draw
from argus.evals.mutation.operators import ARITHMETIC, OPERATORS
from argus.evals.subjects import Subject, subjects

SCHEMA_VERSION = 1
WORKERS = 2
MOST_REFUTED, FEW_UNDECIDED = 0.95, 0.03
WRONG_EACH = 20  # wrong mutants of each operator that a whole evaluation wants
MOST_ROUNDS = 4  # of drawing more of an operator that makes few
RIGHT = ARITHMETIC | {"harmless"}  # operators of which nothing is expected


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


class FamilyTally(Tally, frozen=True):
    """The counts of one family of kernels; `kernels` of it were mutated."""

    family: str
    kernels: int
    check_seconds: float


class CheckerReport(Tally, frozen=True):
    """`argus eval checker --json`.

    Attributes:
        seed: Of the draw; `edits` make one mutant.
        kernels: Right kernels that were mutated; `unproved` names those that the checker does not prove.
        rejected: Edits that the front end refused, or that have no meaning when executed, which are no mutants.
        by_operator: The counts for each operator; `by_family`: for each family of kernels.
        tiers: How many obligations of the right kernels each tier decided; `mutant_tiers`: of the mutants.
        widened: Loops of right kernels that the checker did not understand; `mutants_widened`: mutants with such loops.
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
    by_family: tuple[FamilyTally, ...] = ()
    tiers: dict[str, int] = {}
    mutant_tiers: dict[str, int] = {}
    widened: tuple[str, ...] = ()
    mutants_widened: int = 0
    faults: tuple[Judged, ...] = ()
    undecided: tuple[Judged, ...] = ()

    @property
    def refuted_share(self) -> float:
        """Of the wrong mutants."""
        return self.refuted / self.wrong if self.wrong else 0.0

    @property
    def undecided_share(self) -> float:
        """Of the mutants that are not wrong, those that the checker leaves unknown."""
        right = self.mutants - self.wrong - self.arithmetic
        return self.clean_unknown / right if right else 0.0

    @property
    def ok(self) -> bool:
        """Nothing wrong was proved, nothing right refuted, all originals proved without widening.

        And at least 95 % of the wrong mutants are refuted, at most 3 % of the others unknown.
        """
        clean = not self.faults and not self.unproved and not self.widened
        return clean and self.refuted_share >= MOST_REFUTED and self.undecided_share <= FEW_UNDECIDED

    def render(self) -> str:
        """Tables, an operator and a family a row, and everything that is amiss."""
        edits = "one edit" if self.edits == 1 else f"{self.edits} edits"
        lines = [f"seed {self.seed}: {self.mutants} mutants of {self.kernels} kernels by {edits}"]
        lines += _table("operator", [(row.operator, row) for row in self.by_operator])
        lines += ["", *_table("family", [(row.family, row) for row in self.by_family]), ""]
        lines += _table("", [("total", self)])[1:]
        lines += [
            f"{100 * self.refuted_share:.1f} % of the wrong ones are refuted with a replayed witness; "
            f"{100 * self.undecided_share:.1f} % of the others are unknown",
            f"obligations of the right kernels by tier: {_counts(self.tiers)}; of the mutants: "
            f"{_counts(self.mutant_tiers)}",
            f"{len(self.widened)} loops of right kernels were widened, and loops of {self.mutants_widened} mutants",
            f"{self.rejected} edits more are no kernels; {self.seconds:.0f} s",
        ]
        if self.arithmetic:
            lines.append(f"{self.arithmetic} more are wrong in their arithmetic alone, which no tag tells")
        lines += [f"not proved, though right: {name}" for name in self.unproved]
        lines += [f"widened: {where}" for where in self.widened]
        lines += [
            f"defect: {r.operator or 'original'} of {r.origin}: {r.verdict}, {r.broken or r.wrong or 'not wrong'}"
            for r in self.faults
        ]
        return "\n".join(lines)


_COLUMNS = ("mutants", "wrong:", "refuted", "unknown", "unsound", "right:", "refuted", "unknown", "arithm.")


def _table(head: str, rows: Sequence[tuple[str, Tally]]) -> list[str]:
    lines = [_row((head, *_COLUMNS))]
    for name, t in rows:
        right = t.mutants - t.wrong - t.arithmetic
        counts = (
            t.mutants, t.wrong, t.refuted, t.unknown, t.unsound, right, t.not_wrong_refuted, t.clean_unknown,
            t.arithmetic,
        )  # fmt: skip
        lines.append(_row((name, *map(str, counts))))
    return lines


def _counts(tiers: Mapping[str, int]) -> str:
    return ", ".join(f"{tier} {count:,}" for tier, count in tiers.items()) or "none"


def _row(cells: Sequence[str]) -> str:
    return f"{cells[0]:18}" + "".join(f"{cell:>9}" for cell in cells[1:])


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
        count: Mutants wanted; fewer if the operators yield fewer. From `WRONG_EACH` for each operator on, more are
            drawn of operators with too few wrong ones.
        seed: Of the draw.
        edits: How many edits make a mutant.
        kernels: Which kernels to mutate, by default all subjects; with several workers, of `subjects()`.
        workers: Processes; 1: this one.
        progress: Called with how many of how many are judged.
    """
    began = time.perf_counter()
    by_name = {s.name: s for s in (subjects() if kernels is None else kernels)}
    drawn = Draw([(s.name, s.text) for s in by_name.values()], count=count, seed=seed, edits=edits)
    jobs = chain(
        (_Job(s.name, s.text) for s in by_name.values()),
        (_Job(m.origin, m.text, m.operator, m.sha) for m in drawn),
    )
    results: list[Judged] = []

    def judged_all(some: Iterable[_Job], total: int) -> None:
        for result in _judged(some, by_name, workers):
            results.append(result)
            if progress is not None:
                progress(len(results), max(total, len(results)))

    judged_all(jobs, len(by_name) + count)
    if count >= WRONG_EACH * len(OPERATORS):
        for _ in range(MOST_ROUNDS):
            further = [m for name, lacking in _lacking(results).items() for m in drawn.more(name, 2 * lacking)]
            judged_all((_Job(m.origin, m.text, m.operator, m.sha) for m in further), len(results) + len(further))
    clean = results[: len(by_name)]
    judged = [r for r in results[len(by_name) :] if r.verdict != "refused"]
    return CheckerReport(
        seed=seed,
        edits=edits,
        kernels=len(by_name),
        unproved=tuple(r.origin for r in clean if r.verdict != "proved" or r.wrong),
        rejected=drawn.rejected + len(results) - len(clean) - len(judged),
        seconds=time.perf_counter() - began,
        by_operator=tuple(
            OperatorTally(operator=name, **tally(r for r in judged if r.operator == name).model_dump())
            for name in OPERATORS
        ),
        by_family=tuple(
            FamilyTally(
                family=name,
                kernels=sum(s.family == name for s in by_name.values()),
                check_seconds=round(sum(r.check_seconds for r in judged if r.family == name), 3),
                **tally(r for r in judged if r.family == name).model_dump(),
            )
            for name in dict.fromkeys(s.family for s in by_name.values())
        ),
        tiers=_summed(r.tiers for r in clean),
        mutant_tiers=_summed(r.tiers for r in judged),
        widened=tuple(f"{r.origin}: {loop}" for r in clean for loop in r.widened),
        mutants_widened=sum(bool(r.widened) for r in judged),
        faults=tuple(r for r in (*clean, *judged) if is_fault(r)),
        undecided=tuple(r for r in judged if r.verdict == "unknown" and not is_fault(r)),
        **tally(judged).model_dump(),
    )


def _lacking(results: Sequence[Judged]) -> dict[str, int]:
    """Operators that have made too few wrong mutants, and how many more are wanted."""
    wrong = Counter(r.operator for r in results if r.wrong and r.verdict != "refused")
    return {name: WRONG_EACH - wrong[name] for name in OPERATORS if name not in RIGHT and wrong[name] < WRONG_EACH}


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return {tier: total[tier] for tier in TIERS if total[tier]}


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
        origin = r.origin.replace("/", "-")
        path = folder / f"{said}-{r.operator or 'original'}-{origin}-{r.sha[:8]}.py"
        notes = [
            *f"interpreter: {r.broken or r.wrong or 'not wrong'}".splitlines(),
            *f"checker: {r.verdict}\n{r.found}".splitlines(),
        ]
        path.write_text(r.text + "".join(f"# {line}\n" for line in notes), "utf-8")
        paths.append(path)
    return paths


# --------------------------------------------------------------------------------------------- processes


class _Job(NamedTuple):
    """What one process is told to judge; the original goes by its name, since functions cannot be sent."""

    origin: str
    text: str
    operator: str = ""
    sha: str = ""


def _judged(jobs: Iterable[_Job], known: Mapping[str, Subject], workers: int) -> Iterator[Judged]:
    if workers == 1:
        yield from (_judge(job, known) for job in jobs)
        return
    # Spawned, not forked: the parent may hold threads (a solver's, a test runner's).
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_judge, jobs)  # which begins while `jobs` are still being drawn


def _judge(job: _Job, known: Mapping[str, Subject] | None = None) -> Judged:
    known = known or {s.name: s for s in subjects()}
    return judge(job.text, known[job.origin], operator=job.operator, sha=job.sha)
