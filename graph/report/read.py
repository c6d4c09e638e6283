"""What a run folder holds, read once; whatever is missing or damaged is left out and said so."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from argus.agents.attempt import Attempt
from argus.dsl.codegen.artifact import FILES, MANIFEST, Manifest
from argus.dsl.codegen.nvcc import CudaManifest
from argus.dsl.diagnostics import CheckReport
from argus.dsl.kernels import Problem
from argus.graph.context import problem_of
from argus.graph.events import Event, Refused, RunStarted, Selected, Validated
from argus.graph.events import read as read_events
from argus.graph.facts import change_text
from argus.graph.folder import RECORD, RunFolder
from argus.graph.record import RunRecord
from argus.graph.result import AttemptRecord
from argus.graph.state import best_of, lower_bound
from argus.graph.store import Store
from argus.tools.results import TestReport

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Random choice on a stored table of estimates of the same problem: what a search should beat.

    Attributes:
        median_us: Median over seeds of the best time after 1, 2, … candidates.
        seeds: Over how many draws.
        stored: Schedules in the table; `best_us` is the fastest of them.
        model_version: Of the estimates; they compare with those of the same version alone.
    """

    median_us: tuple[float, ...]
    seeds: int
    stored: int
    best_us: float
    model_version: str


@dataclass(frozen=True, slots=True)
class Judged:
    """An attempt with what the tools wrote of it; None for a file that is not there."""

    attempt: Attempt
    home: Path
    change: str = ""
    check: CheckReport | None = None
    tests: TestReport | None = None
    manifest: Manifest | None = None

    @property
    def name(self) -> str:
        return " + ".join(self.attempt.techniques) or ("start" if self.attempt.parent is None else "no plan")

    @property
    def asm(self) -> str:
        """The assembly; empty if there is none."""
        try:
            return (self.home / FILES["asm"]).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return ""


@dataclass(frozen=True, slots=True)
class RunData:
    """A run as its report tells it.

    Attributes:
        attempts: By number.
        best: The winner's number.
        lessons, prompts: Rows of the episode store, oldest first.
        damaged: Files that could not be read.
    """

    folder: Path
    record: RunRecord
    problem: Problem
    attempts: Mapping[int, Judged]
    best: int | None
    floor_us: float | None
    events: tuple[Event, ...]
    lessons: tuple[Mapping[str, Any], ...] = ()
    prompts: tuple[Mapping[str, Any], ...] = ()
    damaged: tuple[str, ...] = ()
    random: RandomSearch | None = None

    @property
    def winner(self) -> Judged | None:
        return None if self.best is None else self.attempts[self.best]

    @property
    def path(self) -> tuple[Judged, ...]:
        """From the start kernel to the winner; empty without one."""
        found: list[Judged] = []
        at = self.best
        while at is not None and at in self.attempts:
            found.append(self.attempts[at])
            at = self.attempts[at].attempt.parent
        return tuple(reversed(found))

    @property
    def started(self) -> RunStarted | None:
        return next((e for e in self.events if isinstance(e, RunStarted)), None)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Texts that the checker refused before a candidate had its kernel."""
        return tuple(e for e in self.events if isinstance(e, Refused))


def read_run(folder: Path, record: RunRecord, random: RandomSearch | None = None) -> RunData:
    """Read everything that the report tells of."""
    reader = _Reader(folder)
    events = reader.events()
    told = {r.id: r for r in record.result.attempts} if record.result else {}
    numbers = sorted({*told, *_numbered(folder)})
    attempts = {n: found for n in numbers if (found := reader.judged(n, told.get(n), events)) is not None}
    _fill_changes(attempts)
    every = [j.attempt for j in attempts.values()]
    best = record.result.best if record.result else None
    if best not in attempts:
        best = found.id if (found := best_of(every)) else None
    return RunData(
        folder=folder,
        record=record,
        problem=problem_of(record.task),
        attempts=attempts,
        best=best,
        floor_us=lower_bound(every),
        events=events,
        lessons=reader.rows("lesson"),
        prompts=reader.rows("prompt"),
        damaged=tuple(reader.damaged),
        random=random if random and estimators(every) == {random.model_version} else None,
    )


@dataclass(slots=True)
class _Reader:
    folder: Path
    damaged: list[str] = field(default_factory=list[str])

    def events(self) -> tuple[Event, ...]:
        path = RunFolder(self.folder).events
        try:
            return tuple(read_events(path)) if path.exists() else ()
        except (OSError, ValueError):
            self._damaged(path)
            return ()

    def judged(self, number: int, told: AttemptRecord | None, events: tuple[Event, ...]) -> Judged | None:
        home = self.folder / "attempts" / str(number)
        written = self._model(home / RECORD, Attempt)
        if written is None and told is None:
            return None
        attempt = _merged(number, written, told, events)
        steps = (e.change for e in events if isinstance(e, Validated | Selected) and e.id == number)
        change = "" if attempt.parent is None else next(steps, "")
        return Judged(
            attempt=attempt,
            home=home,
            change=change,
            check=self._model(home / "check.json", CheckReport),
            tests=self._model(home / "tests.json", TestReport),
            manifest=self._manifest(home / MANIFEST),
        )

    def _manifest(self, path: Path) -> Manifest | None:
        """None for a kernel of another target as well, whose manifest is another model."""
        try:
            CudaManifest.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return self._model(path, Manifest)
        return None

    def rows(self, table: str) -> tuple[Mapping[str, Any], ...]:
        path = RunFolder(self.folder).episodes
        if not path.exists():  # opening it would make an empty one
            return ()
        try:
            return tuple(Store(path).rows(table))
        except sqlite3.Error:
            self._damaged(path)
            return ()

    def _model(self, path: Path, model: type[Model]) -> Model | None:
        try:
            return model.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            self._damaged(path)
            return None

    def _damaged(self, path: Path) -> None:
        name = str(path.relative_to(self.folder))
        if name not in self.damaged:
            self.damaged.append(name)


def _merged(number: int, written: Attempt | None, told: AttemptRecord | None, events: tuple[Event, ...]) -> Attempt:
    """The folder's record, completed by what was known only when its round was over."""
    if written is None:
        assert told is not None, "an attempt that nothing tells of"
        fields = told.model_dump(exclude={"report"}, exclude_none=True)
        note = next((e.note for e in events if isinstance(e, Validated) and e.id == number), "")
        return Attempt.model_validate({**fields, "note": note})
    if told is None:
        return written
    return written.model_copy(update={"reward": told.reward, "speedup": told.speedup})


def _fill_changes(attempts: dict[int, Judged]) -> None:
    """Where the events are lost, schedules still tell what a step changed."""
    for number, judged in attempts.items():
        parent = attempts.get(judged.attempt.parent) if judged.attempt.parent is not None else None
        if not judged.change and parent is not None and judged.attempt.schedule is not None:
            told = change_text(parent.attempt.schedule, judged.attempt.schedule)
            attempts[number] = Judged(judged.attempt, judged.home, told, judged.check, judged.tests, judged.manifest)


def estimators(attempts: Iterable[Attempt]) -> set[str]:
    """Versions of the estimate that the run's times come from."""
    return {a.report.estimate.model_version for a in attempts if a.report and a.report.estimate}


def _numbered(folder: Path) -> list[int]:
    """Attempts that were finished, whether or not the result tells of them."""
    return [int(p.parent.name) for p in folder.glob(f"attempts/*/{RECORD}") if p.parent.name.isdigit()]
