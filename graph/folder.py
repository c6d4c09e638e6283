"""A run's folder: what is written where, and what is found there again.

run.json  events.jsonl  checkpoints.sqlite  episodes.sqlite
attempts/<id>/{kernel.py, check.json, report.json, tests.json, attempt.json, kernel.s, ...}
rounds/<n>/{bundle/, times.json}, where times are measured
best/
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from argus.agents.attempt import Attempt
from argus.agents.validation import Judgement
from argus.graph.errors import RunError

RECORD = "attempt.json"  # written last: an attempt that has one is finished


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths below one run's root."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> RunFolder:
        """A new run's folder.

        Raises:
            RunError: If it holds a run already, or cannot be written.
        """
        if (root / "run.json").exists():
            raise RunError(f"{root} already holds a run", "resume it, or choose another folder", where=str(root))
        try:
            (root / "attempts").mkdir(parents=True, exist_ok=True)
            probe = root / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise RunError(
                f"cannot write to {root}: {error.strerror}", "choose a folder you may write to", where=str(root)
            ) from error
        return cls(root)

    @classmethod
    def open(cls, root: Path) -> RunFolder:
        """A run that was started before.

        Raises:
            RunError: If there is none.
        """
        if not (root / "run.json").is_file():
            raise RunError(f"no run in {root}", "give the folder that holds run.json", where=str(root))
        return cls(root)

    @property
    def events(self) -> Path:
        return self.root / "events.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints.sqlite"

    @property
    def episodes(self) -> Path:
        return self.root / "episodes.sqlite"

    @property
    def lock(self) -> Path:
        return self.root / ".lock"

    def attempt(self, number: int) -> Path:
        """The attempt's folder, made if need be."""
        path = self.root / "attempts" / str(number)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def write_run(self, record: BaseModel) -> None:
        write_text(self.root / "run.json", record.model_dump_json(indent=1))

    def read_run(self) -> dict[str, Any]:
        """The run's record.

        Raises:
            RunError: If it cannot be read.
        """
        try:
            return json.loads((self.root / "run.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"run.json cannot be read: {error}", where=str(self.root)) from error

    def write_kernel(self, number: int, text: str) -> str:
        """The kernel's path, relative to the root."""
        path = self.attempt(number) / "kernel.py"
        write_text(path, text)
        return str(path.relative_to(self.root))

    def write_findings(self, number: int, judgement: Judgement) -> str:
        """Check, report and tests as JSON; answers the report's path, empty when there is none."""
        path = self.attempt(number)
        found: dict[str, BaseModel | None] = {
            "check.json": judgement.check,
            "report.json": judgement.report,
            "tests.json": judgement.tested,
        }
        for name, model in found.items():
            if model is not None:
                write_text(path / name, model.model_dump_json(indent=1))
        return str((path / "report.json").relative_to(self.root)) if judgement.report else ""

    def round(self, number: int) -> Path:
        """The folder of a round that is timed on a GPU, made if need be."""
        path = self.root / "rounds" / str(number)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def write_tests(self, number: int, tests: BaseModel) -> None:
        """Numeric tests that ran where the kernel was timed."""
        write_text(self.attempt(number) / "tests.json", tests.model_dump_json(indent=1))

    def write_attempt(self, attempt: Attempt) -> None:
        write_text(self.attempt(attempt.id) / RECORD, attempt.model_dump_json(indent=1))

    def finished(self, number: int, kernel_sha: str) -> Attempt | None:
        """The attempt as it was validated before, if it is that kernel's."""
        try:
            record = Attempt.model_validate_json((self.root / "attempts" / str(number) / RECORD).read_bytes())
        except (OSError, ValidationError):
            return None
        return record if record.kernel_sha == kernel_sha and record.status != "broken" else None

    def keep_best(self, number: int) -> None:
        """Copy an attempt's files to `best/`."""
        best = self.root / "best"
        fresh = self.root / ".best"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(self.attempt(number), fresh)
        shutil.rmtree(best, ignore_errors=True)
        fresh.rename(best)


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a reader never sees half of one."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, "utf-8")
    os.replace(part, path)
