"""Whether the search is worth its rules: the offline policy against random choice with the same budget."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from pydantic import BaseModel

from argus.dsl.codegen.estimate import MODEL_VERSION
from argus.evals.table import Table
from argus.evals.tpe import Stored, knobs_of, tpe_search
from argus.graph.run import optimize
from argus.tools.toolbox import open_toolbox

SCHEMA_VERSION = 1
RANDOM_SEEDS = range(20)
TPE_SEEDS = range(5)


class OutdatedTable(Exception):
    """The table's estimates are another model's, so that nothing compares with them."""


class SearchRun(BaseModel, frozen=True):
    """One search; `time_us` is the estimate of its best kernel, None if none was valid.

    Attributes:
        candidates: Kernels tried beside the start.
        beats: Share of the random searches that found nothing as fast.
    """

    seed: int
    time_us: float | None
    candidates: int
    stop_reason: str
    beats: float
    seconds: float


class SearchReport(BaseModel, frozen=True):
    """`argus eval search --json`. Times are estimates in microseconds.

    Attributes:
        budget: Candidates that each search, random or not, may try.
        random_median_us: Of the best of `budget` stored schedules, over 20 seeds.
        tpe_median_us: Likewise, of flat TPE among the stored schedules, over 5 seeds.
        stored_best_us: The best of all stored schedules: what random choice finds with a budget of the whole table.
        median_us: Of the policy's searches; None if one found no valid kernel.
    """

    schema_version: int = SCHEMA_VERSION
    task: str
    dtype: str
    shape: dict[str, int]
    budget: int
    stored: int
    random_median_us: float
    tpe_median_us: float
    stored_best_us: float
    median_us: float | None
    runs: tuple[SearchRun, ...]

    @property
    def ok(self) -> bool:
        """Better than the median of random choice."""
        return self.median_us is not None and self.median_us < self.random_median_us

    def render(self) -> str:
        """One line for each side, one for each run."""
        sizes = "x".join(map(str, self.shape.values()))
        lines = [
            f"{self.task} {self.dtype} {sizes}: {self.budget} candidates; times are estimates",
            f"random choice, {len(RANDOM_SEEDS)} seeds: median {self.random_median_us:,.1f} us; "
            f"best of all {self.stored:,} stored {self.stored_best_us:,.1f} us",
            f"flat TPE among them, {len(TPE_SEEDS)} seeds: median {self.tpe_median_us:,.1f} us",
        ]
        for r in self.runs:
            found = "no valid kernel" if r.time_us is None else f"{r.time_us:,.1f} us"
            lines.append(
                f"policy, seed {r.seed}: {found} after {r.candidates} candidates, better than "
                f"{100 * r.beats:.0f} % of the random searches ({r.stop_reason}; {r.seconds:.0f} s)"
            )
        if self.median_us is not None:
            times = self.random_median_us / self.median_us
            lines.append(f"policy: median {self.median_us:,.1f} us, {times:.2f} times as fast")
        return "\n".join(lines)


def evaluate_search(
    table: Table,
    *,
    runs: int,
    candidates: int,
    seed: int,
    cache: Path,
    progress: Callable[[int, int], None] | None = None,
) -> SearchReport:
    """Search the table's problem with the offline policy, compiling what it chooses. A minute or so a run.

    Args:
        table: The stored schedules that random choice draws from.
        runs: How often, each with a seed of its own.
        candidates: The budget of every search.
        seed: Of the first run; the others follow.
        cache: Folder of compiled kernels.
        progress: Called with how many of how many runs are done.

    Raises:
        OutdatedTable: If the table was made with another version of the estimate.
        ToolchainError: If the compiler cannot be used.
    """
    if table.model_version != MODEL_VERSION:
        raise OutdatedTable(f"the table holds estimates of model {table.model_version}, this is {MODEL_VERSION}")
    known = [Stored(knobs_of(e.schedule.model_dump()), e.time_us) for e in table.entries]
    rivals = [table.random_search(candidates, s) for s in RANDOM_SEEDS]
    found: list[SearchRun] = []
    for number in range(runs):
        found.append(_search(table, rivals, candidates, seed + number, cache))
        if progress is not None:
            progress(number + 1, runs)
    times = [r.time_us for r in found if r.time_us is not None]
    return SearchReport(
        task=table.task,
        dtype=table.dtype,
        shape=table.shape,
        budget=candidates,
        stored=len(table.entries),
        random_median_us=median(rivals),
        tpe_median_us=median(tpe_search(known, candidates, s)[-1] for s in TPE_SEEDS),
        stored_best_us=min(table.times),
        median_us=median(times) if len(times) == len(found) and times else None,
        runs=tuple(found),
    )


def _search(table: Table, rivals: list[float], candidates: int, seed: int, cache: Path) -> SearchRun:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, open_toolbox(cache=cache) as tools:
        result = optimize(
            table.task, shape=table.shape, dtype=table.dtype, rounds=candidates, candidates=candidates, seed=seed,
            out=Path(folder) / "run", toolbox=tools, track=False,
        )  # fmt: skip
    time_us = next((a.time_us for a in result.attempts if a.id == result.best), None)
    return SearchRun(
        seed=seed,
        time_us=time_us,
        candidates=sum(a.parent is not None for a in result.attempts),
        stop_reason=result.stop_reason,
        beats=sum(time_us is not None and time_us < r for r in rivals) / len(rivals),
        seconds=time.perf_counter() - began,
    )
