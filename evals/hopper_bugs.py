"""`argus eval hopper-bugs`: what the checker says of each planted Hopper bug, beside what the bug did on a GPU.

The GPU's part was run once, from the bundle of `hopper_bundle`, and is stored; it is shown where the text of the bug is
the one that ran. A race need not show on hardware: "not shown" means that every launch was right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from argus.dsl.check import check
from argus.dsl.diagnostics import Counterexample, ObligationReport, Span, ToolchainError
from argus.evals.hopper_bundle import sha
from argus.evals.planted_hopper import BUGS, HopperBug, sources
from argus.tools.bundle import read_results

RESULTS = Path(__file__).with_name("results")
STORED = RESULTS / "h200-hopper-bugs-2026-11-29.json"
MEMCHECK = RESULTS / "h200-memcheck-2026-11-29.json"
TIMED = RESULTS / "h200-gemm-2026-11-29-three-runs.json"
ENOUGH = 10
# Both end in the same error of the driver and are told apart by time: 2^26 polls of a wait take over two seconds, and
# an error that the hardware finds by itself, such as an arrival too many at a barrier, shows at once.
TRAP_S = 1.0
# Nothing is wrong in what runs: the assembler says so.
MENDED: Mapping[str, str] = {
    "epilogue before the last MMAs are complete": "ptxas puts the missing wait in (C7517)",
}

Effect = Literal["wrong results", "hang", "fault", "not shown"]


class Launches(BaseModel, frozen=True):
    """At one size; `error` is the largest, as a multiple of what is allowed."""

    sizes: dict[str, int]
    launches: int
    wrong: int
    error: float
    nan: int


class Ran(BaseModel, frozen=True):
    """What one kernel did on the GPU; `at` and `fault_seconds` tell of the launch that ended its process."""

    id: str
    status: str
    message: str = ""
    at: dict[str, int] = {}
    fault_seconds: float = 0.0
    checks: tuple[Launches, ...] = ()
    kernel_sha: str = ""
    cubin_sha: str = ""
    device: dict[str, object] = {}

    @property
    def effects(self) -> tuple[Effect, ...]:
        """In the order in which they were seen."""
        seen: list[Effect] = ["wrong results"] if any(c.wrong for c in self.checks) else []
        if self.status == "killed" or (self.status == "fault" and self.fault_seconds >= TRAP_S):
            seen.append("hang")
        elif self.status in ("fault", "died"):
            seen.append("fault")
        elif self.status == "right":
            seen.append("not shown")
        return tuple(seen)

    def render(self) -> str:
        """The effects with their figures."""
        return ", then ".join(self._said(e) for e in self.effects) or f"{self.status}: {self.message}"

    def _said(self, effect: Effect) -> str:
        launches, wrong = sum(c.launches for c in self.checks), sum(c.wrong for c in self.checks)
        at = "×".join(map(str, self.at.values()))
        match effect:
            case "wrong results":
                return f"wrong in {wrong} of {launches} launches"
            case "hang" if self.status == "killed":
                return "hang, killed"
            case "hang":
                return f"hang: a wait traps at {at} after {self.fault_seconds:.1f} s"
            case "fault":
                return f"fault at {at} after {self.fault_seconds:.1f} s"
            case "not shown":
                return f"not shown in {launches} launches"


class BugRuns(BaseModel, frozen=True):
    """A results file of the bundle."""

    date: str
    driver: str | None
    results: tuple[Ran, ...]

    @property
    def gpu(self) -> str:
        name = next((r.device["name"] for r in self.results if r.device), "unknown GPU")
        return f"{name}, driver {self.driver}, {self.date}"


class Memchecked(BaseModel, frozen=True):
    """One kernel under `compute-sanitizer`. `short_c` is what the tool says where C lacks its last row."""

    name: str
    status: str
    message: str = ""
    sizes: tuple[dict[str, int], ...] = ()
    cubin_sha: str = ""
    tool: str = ""
    short_c: dict[str, object] = {}

    @property
    def sees_stores(self) -> bool:
        return bool(self.short_c.get("errors"))


class MemcheckRuns(BaseModel, frozen=True):
    """A results file of `run.py --memcheck`, and the cubins that are timed."""

    date: str
    results: tuple[Memchecked, ...]
    timed: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Every timed cubin ran under the tool, which found nothing."""
        return bool(self.timed) and not self.missing and all(r.status == "clean" for r in self.results)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(sha for sha in self.timed if sha not in {r.cubin_sha for r in self.results})

    def render(self) -> str:
        """What is clean, and of which kernels the tool can see the stores."""
        timed = [r for r in self.results if r.cubin_sha in self.timed]
        clean = sum(r.status == "clean" for r in timed)
        runs, tool = [len(r.sizes) for r in timed], next((r.tool for r in timed), "")
        lines = [
            f"compute-sanitizer {tool} memcheck, {self.date}: {clean} of {len(self.timed)} timed cubins clean, each at "
            f"{min(runs, default=0)} to {max(runs, default=0)} small sizes; it notices a C that is one row short in "
            f"{sum(r.sees_stores for r in timed)} of them, where threads store, and not where the copy engine does"
        ]
        lines += [f"  {r.name}: {r.status} {r.message}" for r in timed if r.status != "clean"]
        return "\n".join([*lines, *(f"  not run: cubin {sha[:16]}" for sha in self.missing)])


class Judged(BaseModel, frozen=True):
    """One bug; `lines` are those of the consumer and of what it collides with, in the bug's text."""

    name: str
    expected: tuple[str, ...]
    found: str
    lines: tuple[int, ...]
    fix_class: str
    as_expected: bool
    hangs: bool
    effects: tuple[Effect, ...]
    gpu: str

    @property
    def shown(self) -> bool:
        return bool({*self.effects} - {"not shown"})

    def render(self) -> str:
        where = ", ".join(map(str, self.lines))
        said = f"{self.found} at {where}, {self.fix_class or 'no fix class'}" if self.as_expected else "NOT AS EXPECTED"
        return f"{self.name:51} {self.expected[0]:13} {said:48} {self.gpu}"


class HopperBugsReport(BaseModel, frozen=True):
    """All of them."""

    judged: tuple[Judged, ...]
    controls: dict[str, str]
    gpu: str
    memcheck: MemcheckRuns

    @property
    def ok(self) -> bool:
        """Each is refuted as expected, enough of them show on the GPU and the right kernels do not, memory is clean."""
        return (
            all(j.as_expected for j in self.judged)
            and sum(j.shown for j in self.judged) >= ENOUGH
            and bool(self.controls)
            and all(said.startswith("right") for said in self.controls.values())
            and self.memcheck.clean
        )

    def render(self) -> str:
        """A line a bug, then the counts."""
        refuted, shown = sum(j.as_expected for j in self.judged), sum(j.shown for j in self.judged)
        return "\n".join(
            [
                f"{'planted bug':51} {'expected':13} {'the checker: kind, lines, class of the edit':48} on {self.gpu}",
                *(j.render() for j in self.judged),
                *(f"{f'right kernel, {name}':114} {said}" for name, said in self.controls.items()),
                f"{refuted} of {len(self.judged)} refuted as expected; {shown} show on the GPU",
                self.memcheck.render(),
            ]
        )


def evaluate_hopper_bugs(
    runs: BugRuns,
    memcheck: MemcheckRuns,
    *,
    bugs: Sequence[HopperBug] = BUGS,
    progress: Callable[[int, int], None] | None = None,
) -> HopperBugsReport:
    """Check every bug, and join what the GPU did with the same text."""
    ran = {r.kernel_sha: r for r in runs.results}
    judged: list[Judged] = []
    for number, bug in enumerate(bugs, 1):
        judged.append(_judged(bug, ran.get(sha(bug.text))))
        if progress is not None:
            progress(number, len(bugs))
    controls = {name: _control(ran.get(sha(text))) for name, text in sources().items()}
    return HopperBugsReport(judged=tuple(judged), controls=controls, gpu=runs.gpu, memcheck=memcheck)


def _control(ran: Ran | None) -> str:
    if ran is None:
        return "no run of this text is stored"
    return f"right in {sum(c.launches for c in ran.checks)} launches" if ran.status == "right" else ran.render()


def _judged(bug: HopperBug, ran: Ran | None) -> Judged:
    refuted = [o for o in check(bug.text, fixes=False).obligations if o.verdict == "refuted"]
    found = next((o for o in refuted if as_expected(o, bug)), None)
    example = None if found is None else found.counterexample
    said = "no run of this text is stored" if ran is None else ran.render()
    if ran is not None and "not shown" in ran.effects and bug.name in MENDED:
        said += f": {MENDED[bug.name]}"
    return Judged(
        name=bug.name,
        expected=bug.kinds,
        found="" if found is None else found.kind,
        lines=() if example is None else _numbers(bug, example),
        fix_class="" if example is None else example.fix_class or "",
        as_expected=found is not None,
        hangs=bug.hangs,
        effects=() if ran is None else ran.effects,
        gpu=said,
    )


def as_expected(o: ObligationReport, bug: HopperBug) -> bool:
    """Whether a refuted obligation is of an expected kind, replayed, and names the lines and the class of the edit."""
    found, lines = o.counterexample, bug.text.splitlines()
    return found is not None and (
        bool(found.replayed)
        and o.kind in bug.kinds
        and bug.consumer in _line(lines, found.consumer)
        and any(bug.other in _line(lines, s) for s in _others(found))
        and found.fix_class == bug.fix_class
    )


def _others(found: Counterexample) -> list[Span | None]:
    return [None if found.other is None else found.other.span, found.producer]


def _line(lines: Sequence[str], span: Span | None) -> str:
    return "" if span is None else lines[span.line - 1]


def _numbers(bug: HopperBug, found: Counterexample) -> tuple[int, ...]:
    lines = bug.text.splitlines()
    other = next((s for s in _others(found) if s is not None and bug.other and bug.other in _line(lines, s)), None)
    return (found.consumer.line, *(() if other is None else (other.line,)))


def stored_runs(path: Path = STORED) -> BugRuns:
    """What the bugs' bundle wrote.

    Raises:
        ToolchainError: If the file cannot be read, or is no such file.
    """
    try:
        return BugRuns.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ToolchainError(f"no results of planted bugs in {path}: {error}") from error


def stored_memcheck(path: Path = MEMCHECK, timed: Path = TIMED) -> MemcheckRuns:
    """What `run.py --memcheck` wrote, and the cubins of the table of times.

    Raises:
        ToolchainError: If a file cannot be read, or is no such file.
    """
    cubins = tuple(dict.fromkeys(r.cubin_sha for r in read_results(timed).results if r.cubin_sha))
    try:
        found = MemcheckRuns.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ToolchainError(f"no results of memcheck in {path}: {error}") from error
    return found.model_copy(update={"timed": cubins})
