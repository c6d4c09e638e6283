"""The offline policy on a GPU's stored times, against random choice and flat TPE from the same schedules.

Closed, every search sees the same measured schedules and nothing else: all combinations of a few values of each knob.
Open, the policy may try any schedule, and one that was never measured is a candidate spent in vain; its rivals choose
from random draws of the whole space, each of which was measured.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import median

from pydantic import BaseModel

from argus.dsl.diagnostics import CheckReport
from argus.evals.measured import StoredToolbox
from argus.evals.tpe import Stored, knobs_of, tpe_search
from argus.graph.context import Config
from argus.graph.result import AttemptRecord, RunResult
from argus.graph.run import optimize
from argus.graph.timing import StoredExecutor, TimeTable

SCHEMA_VERSION = 1
RANDOM_SEEDS = 1000
MARKS = (6, 12, 18, 24, 36, 48, 60)


class MeasuredRun(BaseModel, frozen=True):
    """One search by the policy.

    Attributes:
        in_vain: Candidates that were never measured.
        unproved: Candidates with an obligation that is refuted or unknown.
        curve: The best time after each candidate; None while none was valid.
    """

    seed: int
    time_us: float | None
    peer_ratio: float | None
    candidates: int
    in_vain: int
    unproved: int
    rounds: int
    stop_reason: str
    beats: float
    techniques: tuple[str, ...]
    curve: tuple[float | None, ...]
    seconds: float


class Mark(BaseModel, frozen=True):
    """Medians of the best time after so many candidates; None where a search found nothing valid."""

    candidates: int
    policy_us: float | None
    random_us: float
    tpe_us: float | None


class MeasuredSearchReport(BaseModel, frozen=True):
    """`argus eval search --target sm_90a --json`. Times are measured, in microseconds against one library time.

    Attributes:
        open: Whether the policy could leave the measured schedules.
        schedules, valid, best_us: Of those that its rivals chose from.
        switches: The run's switches: what the policy did without.
        random_same_us: Median over random searches that tried as many candidates as the policy's median run.
    """

    schema_version: int = SCHEMA_VERSION
    task: str
    dtype: str
    shape: dict[str, int]
    gpu: str
    library_us: float
    open: bool
    schedules: int
    valid: int
    best_us: float
    budget: int
    switches: dict[str, bool]
    marks: tuple[Mark, ...]
    median_us: float | None
    random_same_us: float
    runs: tuple[MeasuredRun, ...]

    @property
    def ok(self) -> bool:
        """Better than the median of random choice at equal budget."""
        return self.median_us is not None and self.median_us < self.random_same_us

    def render(self) -> str:
        """A table of medians, then a line for each run of the policy."""

        def told(us: float | None) -> str:
            return "-" if us is None else f"{us:8.1f} ({100 * self.library_us / us:5.1f} %)"

        off = [name for name, on in self.switches.items() if not on]
        lines = [
            f"{self.task} {self.dtype} {'x'.join(map(str, self.shape.values()))} on {self.gpu}: "
            + ("the whole space; rivals choose from " if self.open else "")
            + f"{self.schedules} measured schedules, {self.valid} valid; library {self.library_us:.1f} us, best "
            f"{told(self.best_us).strip()}",
            f"policy: {len(self.runs)} seeds" + (f", without {', '.join(off)}" if off else ""),
            f"{'candidates':>10}  {'policy us (of library)':>24}  {'random':>24}  {'flat TPE':>24}",
        ]
        lines += [
            f"{m.candidates:>10}  {told(m.policy_us):>24}  {told(m.random_us):>24}  {told(m.tpe_us):>24}"
            for m in self.marks
        ]
        for r in self.runs:
            lines.append(
                f"seed {r.seed}: {told(r.time_us).strip()} after {r.candidates} candidates ({r.in_vain} never timed, "
                f"{r.unproved} not proved) in {r.rounds} rounds, better than {100 * r.beats:.0f} % of the random "
                f"searches of that length ({r.stop_reason}; {r.seconds:.0f} s)"
            )
        return "\n".join(lines)


def evaluate_measured_search(
    table: TimeTable,
    *,
    runs: int,
    candidates: int,
    rounds: int,
    seed: int,
    closed: bool = True,
    config: Config | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> MeasuredSearchReport:
    """Replay the policy's searches; seconds each, and no GPU or compiler is needed.

    Args:
        table: The measured schedules.
        runs: How often, each with a seed of its own.
        candidates: The budget of every search.
        rounds: The policy's rounds.
        seed: Of the first run; the others follow.
        closed: Whether the policy is held to the table; else its rivals choose among the entries that were drawn.
        config: Switches of the runs.
        progress: Called with how many of how many runs are done.
    """
    rivals = [e for e in table.entries if closed or e.drawn]
    times = [table.time_us(e) for e in rivals]
    executor, checks = StoredExecutor(table, closed=closed), dict[str, CheckReport]()
    drawn = [_curve(Random(s).sample(times, len(times))) for s in range(RANDOM_SEEDS)]
    stored = [Stored(knobs_of(e.schedule), t) for e, t in zip(rivals, times, strict=True)]
    tpe = [tpe_search(stored, candidates, seed + n) for n in range(runs)]
    found: list[MeasuredRun] = []
    for number in range(runs):
        tools = StoredToolbox(table, checks)
        result, seconds = _search(executor, tools, (candidates, rounds), seed + number, config or Config())
        found.append(_run(result, table, drawn, seconds))
        if progress is not None:
            progress(number + 1, runs)
    valid = [t for t in times if t is not None]
    best = [r.time_us for r in found]
    length = round(median(r.candidates for r in found))
    return MeasuredSearchReport(
        task=table.task,
        dtype=table.dtype,
        shape=table.shape,
        gpu=table.sources[0].gpu,
        library_us=table.reference_us,
        open=not closed,
        schedules=len(times),
        valid=len(valid),
        best_us=min(valid),
        budget=candidates,
        switches=(config or Config()).switches,
        marks=_marks(candidates, [r.curve for r in found], drawn, tpe),
        median_us=median(t for t in best if t is not None) if None not in best else None,
        random_same_us=median(curve[min(len(curve), max(1, length)) - 1] for curve in drawn),
        runs=tuple(found),
    )


def _marks(
    candidates: int,
    policy: Sequence[Sequence[float | None]],
    drawn: Sequence[Sequence[float]],
    tpe: Sequence[Sequence[float | None]],
) -> tuple[Mark, ...]:
    """Medians of the best times so far, at each number of candidates that is reported."""
    return tuple(
        Mark(
            candidates=m,
            policy_us=_finite(median(_at(curve, m) for curve in policy)),
            random_us=median(curve[min(m, len(curve)) - 1] for curve in drawn),
            tpe_us=_finite(median(_at(curve, m) for curve in tpe)),
        )
        for m in (*(m for m in MARKS if m < candidates), candidates)
    )


def _search(
    executor: StoredExecutor, tools: StoredToolbox, budget: tuple[int, int], seed: int, config: Config
) -> tuple[RunResult, float]:
    """One search with so many candidates in so many rounds, and its seconds."""
    began, (candidates, rounds), table = time.perf_counter(), budget, executor.table
    with tempfile.TemporaryDirectory() as folder:
        result = optimize(
            table.task, shape=table.shape, dtype=table.dtype, target=table.target, rounds=rounds,
            candidates=candidates, seed=seed, out=Path(folder) / "run", toolbox=tools, track=False,
            executor=executor, config=config,
        )  # fmt: skip
    return result, time.perf_counter() - began


def _run(result: RunResult, table: TimeTable, drawn: Sequence[Sequence[float]], seconds: float) -> MeasuredRun:
    tried = [a for a in result.attempts if a.parent is not None]
    best = next((a for a in result.attempts if a.id == result.best), None)
    curve = _curve([a.time_us if a.status == "valid" else None for a in tried])
    last = min(len(curve), len(drawn[0])) - 1
    us = best.time_us if best else None
    rivals = [c[last] for c in drawn]
    return MeasuredRun(
        seed=result.seed,
        time_us=us,
        peer_ratio=table.reference_us / us if us else None,
        candidates=len(tried),
        in_vain=sum(a.status == "rejected" for a in tried),
        unproved=sum(a.status in ("refuted", "unknown") for a in tried),
        rounds=max((a.round for a in result.attempts), default=0),
        stop_reason=result.stop_reason,
        beats=sum(us is not None and us < r for r in rivals) / len(rivals),
        techniques=_path(result.attempts, result.best),
        curve=tuple(_finite(x) for x in curve),
        seconds=seconds,
    )


def _path(attempts: Sequence[AttemptRecord], best: int | None) -> tuple[str, ...]:
    """Techniques from the start kernel to the best."""
    known: Mapping[int, AttemptRecord] = {a.id: a for a in attempts}
    steps: list[str] = []
    at = best
    while at is not None:
        steps.append("+".join(known[at].techniques) or "start")
        at = known[at].parent
    return tuple(reversed(steps))


def _curve(times: Sequence[float | None]) -> list[float]:
    """Best so far; infinite while nothing was valid."""
    return list(accumulate((math.inf if t is None else t for t in times), min))


def _at(curve: Sequence[float | None], candidates: int) -> float:
    """The best after so many candidates, or at the search's end if that came earlier."""
    found = curve[min(candidates, len(curve)) - 1] if curve else None
    return math.inf if found is None else found


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isinf(value) else value
