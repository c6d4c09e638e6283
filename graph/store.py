"""The facts of learning in sqlite: episodes, steps, lessons, prompts. Writing a fact twice leaves it once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from argus.agents.attempt import Attempt
from argus.agents.messages import Lesson
from argus.agents.policy.reward import REWARD_VERSION
from argus.graph.errors import RunError

_SCHEMA = """
create table if not exists episode(
    id text primary key, run text not null, task text not null, target text not null, family text not null,
    prompt_sha text not null, model text not null, seed integer not null, switches text not null);
create table if not exists step(
    id text primary key, episode text not null references episode(id), round integer not null, parent integer,
    techniques text not null, params text not null, score real, confidence real, kernel_sha text not null,
    schedule text, verdicts text not null, tests text not null, time_us real, time_kind text not null,
    estimator_version text, reward real, reward_version text not null,
    fault text not null check (fault in ('none', 'proposal', 'lowering', 'toolchain')));
create table if not exists lesson(
    id text not null, episode text not null references episode(id), technique text not null, bottleneck text not null,
    target text not null, family text not null, mean real not null, sd real not null, n real not null,
    step_ids text not null, note text not null check (length(note) <= 200), primary key (id, episode, n));
create table if not exists prompt(
    sha text primary key, parent text, seed_sha text not null, lesson_ids text not null, status text not null,
    gate text);
"""


class Episode(BaseModel, frozen=True):
    """One optimisation as the policy sees it; `switches` are the ablation's."""

    id: str
    run: str
    task: str
    target: str
    family: str
    prompt_sha: str
    model: str
    seed: int
    switches: dict[str, bool]


@dataclass(frozen=True, slots=True)
class Store:
    """One sqlite file, opened for each write: nothing is left open by a crash."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> Store:
        """Create the tables if need be.

        Raises:
            RunError: If the file is no store or cannot be written.
        """
        store = cls(path)
        try:
            with closing(sqlite3.connect(path)) as db, db:
                db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise RunError(
                f"cannot use the store {path}: {error}", "move the file away, or give another folder", where=str(path)
            ) from error
        return store

    def add_episode(self, episode: Episode) -> None:
        self._put("episode", [{**episode.model_dump(), "switches": _json(episode.switches)}])

    def add_steps(self, episode: str, attempts: Iterable[Attempt]) -> None:
        """Attempts by their number within the episode; a reward that came later replaces its absence."""
        self._put("step", [_step(episode, a) for a in attempts])

    def add_lessons(self, episode: str, lessons: Iterable[Lesson]) -> None:
        rows = [
            {
                **lesson.model_dump(exclude={"steps"}),
                "episode": episode,
                "step_ids": _json([step_id(episode, s) for s in lesson.steps]),
            }
            for lesson in lessons
        ]
        self._put("lesson", rows)

    def add_prompt(
        self, sha: str, *, parent: str | None, seed_sha: str, lesson_ids: Iterable[str], status: str = "trial"
    ) -> None:
        row = {"sha": sha, "parent": parent, "seed_sha": seed_sha, "lesson_ids": _json(list(lesson_ids))}
        self._put("prompt", [{**row, "status": status, "gate": None}], keep=True)

    def decide_prompt(self, sha: str, status: str, gate: str) -> None:
        """What a gate said of a prompt, as JSON; a prompt that is not there stays unknown."""
        with closing(sqlite3.connect(self.path, timeout=30)) as db, db:
            db.execute("update prompt set status = ?, gate = ? where sha = ?", (status, gate, sha))

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A whole table, for reports and tests."""
        if table not in ("episode", "step", "lesson", "prompt"):
            raise ValueError(f"no table {table!r}")
        with closing(sqlite3.connect(self.path)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(f"select * from {table}")]

    def _put(self, table: str, rows: list[dict[str, Any]], *, keep: bool = False) -> None:
        if not rows:
            return
        names = list(rows[0])
        verb = "insert or ignore" if keep else "insert or replace"
        marks = ", ".join(f":{name}" for name in names)
        with closing(sqlite3.connect(self.path, timeout=30)) as db, db:
            db.executemany(f"{verb} into {table}({', '.join(names)}) values ({marks})", rows)


def step_id(episode: str, attempt: int | str) -> str:
    """A step's name among all episodes; a name that is one already stays."""
    return str(attempt) if "/" in str(attempt) else f"{episode}/{attempt}"


def _step(episode: str, a: Attempt) -> dict[str, Any]:
    estimate = a.report.estimate if a.report else None
    return {
        "id": step_id(episode, a.id),
        "episode": episode,
        "round": a.round,
        "parent": a.parent,
        "techniques": _json(a.techniques),
        "params": _json(a.params),
        "score": a.score,
        "confidence": a.confidence,
        "kernel_sha": a.kernel_sha,
        "schedule": _json(a.schedule) if a.schedule is not None else None,
        "verdicts": a.obligations.model_dump_json(),
        "tests": a.tests.model_dump_json(),
        "time_us": a.time_us,
        "time_kind": a.time_kind,
        "estimator_version": estimate.model_version if estimate else None,
        "reward": a.reward,
        "reward_version": REWARD_VERSION,
        "fault": a.fault,
    }


def _json(value: Mapping[str, Any] | list[Any] | tuple[Any, ...]) -> str:
    return json.dumps(value, sort_keys=True)
