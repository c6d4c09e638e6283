"""A table of compiled schedules with their estimates: what searches are compared on without compiling anew."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from random import Random
from statistics import median

from pydantic import BaseModel

from argus.dsl.check import check
from argus.dsl.codegen.estimate import MODEL_VERSION
from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.diagnostics import KernelError, ToolchainError
from argus.dsl.frontend import parse
from argus.dsl.kernels import GemmSchedule, Problem, families
from argus.dsl.transform import to_core
from argus.evals.space import random_schedule
from argus.tools.compile import assembly_report

SCHEMA_VERSION = 1
DEFAULT = "gemm-bf16-4096.json"


class Entry(BaseModel, frozen=True):
    """One schedule: its estimate in microseconds, or why there is none."""

    schedule: GemmSchedule
    time_us: float | None = None
    spills: int = 0
    failure: str = ""


class Table(BaseModel, frozen=True):
    """Estimates of randomly drawn schedules, all of one problem and one version of the estimate."""

    task: str
    dtype: str
    shape: dict[str, int]
    model_version: str
    seed: int
    entries: tuple[Entry, ...]

    @property
    def times(self) -> list[float]:
        """Of the schedules that compiled, in the order they were drawn."""
        return [e.time_us for e in self.entries if e.time_us is not None]

    def random_search(self, budget: int, seed: int) -> float:
        """The best estimate of `budget` schedules drawn without replacement; failures cost budget, too."""
        drawn = Random(seed).sample(self.entries, min(budget, len(self.entries)))
        return min((e.time_us for e in drawn if e.time_us is not None), default=float("inf"))

    def random_median(self, budget: int, seeds: Iterable[int]) -> float:
        return median(self.random_search(budget, seed) for seed in seeds)


class TableSummary(BaseModel, frozen=True):
    """`argus eval table --json`. Times are estimates in microseconds."""

    schema_version: int = SCHEMA_VERSION
    path: str
    task: str
    dtype: str
    shape: dict[str, int]
    seed: int
    schedules: int
    compiled: int
    best_us: float | None = None
    median_us: float | None = None

    @classmethod
    def of(cls, table: Table, path: Path) -> TableSummary:
        """What there is to say about a table that was written to `path`."""
        return cls(
            path=str(path), task=table.task, dtype=table.dtype, shape=table.shape, seed=table.seed,
            schedules=len(table.entries), compiled=len(table.times), best_us=min(table.times, default=None),
            median_us=median(table.times) if table.times else None,
        )  # fmt: skip

    def render(self) -> str:
        """One line, two if anything compiled."""
        lines = [f"{self.path}: {self.compiled} of {self.schedules} schedules have an estimate"]
        if self.best_us is not None:
            lines.append(f"best {self.best_us:,.1f} us, median {self.median_us:,.1f} us, estimated")
        return "\n".join(lines)


def stored(name: str = DEFAULT) -> Table:
    """The table that ships with the package.

    Raises:
        FileNotFoundError: If there is none.
    """
    return Table.model_validate_json((files("argus.evals") / "data" / name).read_bytes())


def save(table: Table, path: Path) -> None:
    """Write a table, one entry a line, defaults left out: it is reviewed as a diff."""
    head = table.model_dump(mode="json", exclude={"entries"})
    lines = ",\n".join(json.dumps(e.model_dump(mode="json", exclude_defaults=True)) for e in table.entries)
    path.write_text(json.dumps(head)[:-1] + ', "entries": [\n' + lines + "\n]}\n", "utf-8")


async def build(
    problem: Problem, *, count: int, seed: int, cache: Path, progress: Callable[[int, Entry], None] | None = None
) -> Table:
    """Compile `count` distinct schedules and estimate each. Minutes to an hour."""
    random, seen = Random(seed), set[str]()
    schedules: list[GemmSchedule] = []
    while len(schedules) < count:
        schedule = random_schedule(random)
        if (key := schedule.model_dump_json()) not in seen:
            seen.add(key)
            schedules.append(schedule)
    with CompilerPool(cache, workers=2) as pool:
        gate, done = asyncio.Semaphore(4), 0

        async def one(schedule: GemmSchedule) -> Entry:
            nonlocal done
            async with gate:
                entry = await _entry(pool, problem, schedule)
            done += 1
            if progress is not None:
                progress(done, entry)
            return entry

        entries = await asyncio.gather(*(one(s) for s in schedules))
    return Table(
        task=problem.task.name,
        dtype=problem.dtype,
        shape=dict(problem.shape),
        model_version=MODEL_VERSION,
        seed=seed,
        entries=tuple(entries),
    )


async def _entry(pool: CompilerPool, problem: Problem, schedule: GemmSchedule) -> Entry:
    text = families()[problem.task.family].text(schedule, problem)
    try:
        artifact = await pool.compile(CompileRequest(text=text, target=problem.target))
        core = to_core(parse(text))
        checked = check(text, replay=False)
        report = assembly_report(artifact.asm_path.read_text("utf-8"), core, problem.sizes, checked)
    except (KernelError, ToolchainError) as error:
        return Entry(schedule=schedule, failure=str(error).splitlines()[0])
    if not checked.ok:
        return Entry(schedule=schedule, failure="not every obligation is proved")
    assert report.estimate is not None, "a GEMM with sizes has an estimate"
    return Entry(schedule=schedule, time_us=round(report.estimate.time_us, 2), spills=report.spills)
