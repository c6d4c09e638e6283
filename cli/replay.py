"""`argus runs replay`: a run's valid kernels checked, compiled, tested and estimated anew, and compared."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from argus.agents.attempt import Attempt, sha
from argus.agents.toolbox import Toolbox
from argus.agents.validation import Judgement, judge
from argus.cli.output import SCHEMA_VERSION
from argus.dsl.codegen.artifact import MANIFEST, Manifest
from argus.dsl.codegen.report import Report
from argus.dsl.diagnostics import CheckReport
from argus.graph.context import problem_of
from argus.graph.folder import RECORD
from argus.graph.record import RunRecord
from argus.tools.results import TestReport
from argus.tools.toolbox import open_toolbox

Model = TypeVar("Model", bound=BaseModel)


class ReplayLine(BaseModel, frozen=True):
    """One valid kernel; `note` says what it was found to be again, or what differs."""

    id: int
    same: bool
    note: str


class Replay(BaseModel, frozen=True):
    """`ok`: at least one kernel was replayed, and none differs."""

    schema_version: int = SCHEMA_VERSION
    run_id: str
    ok: bool
    lines: tuple[ReplayLine, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What the run folder holds of an attempt; None for a file that is missing or damaged."""

    attempt: Attempt | None
    check: CheckReport | None
    report: Report | None
    tests: TestReport | None
    manifest: Manifest | None

    @classmethod
    def read(cls, home: Path) -> Kept:
        return cls(
            _model(home / RECORD, Attempt),
            _model(home / "check.json", CheckReport),
            _model(home / "report.json", Report),
            _model(home / "tests.json", TestReport),
            _model(home / MANIFEST, Manifest),
        )


def replay_run(folder: Path, record: RunRecord) -> Replay:
    """Judge every valid kernel of a run again, with an empty cache.

    Measured times and the tests beside them are left alone: a clock never shows the same twice.

    Raises:
        ToolchainError: If no compiler can be had at all; trouble with one kernel is that kernel's line.
    """
    with (
        tempfile.TemporaryDirectory(prefix="argus-replay-") as scratch,
        open_toolbox(smt=record.config.smt, workers=record.config.concurrency, cache=Path(scratch) / "cache") as tools,
    ):
        lines = asyncio.run(replay_with(tools, folder, record, Path(scratch)))
    return Replay(run_id=record.run_id, ok=bool(lines) and all(x.same for x in lines), lines=lines)


async def replay_with(tools: Toolbox, folder: Path, record: RunRecord, scratch: Path) -> tuple[ReplayLine, ...]:
    """A line for each valid attempt, as many at a time as the run had."""
    assert record.result is not None, "only runs with a result are replayed"
    gate = asyncio.Semaphore(record.config.concurrency)

    async def one(number: int) -> ReplayLine:
        async with gate:
            return await _replayed(tools, folder / "attempts" / str(number), record, scratch / str(number))

    return tuple(await asyncio.gather(*(one(a.id) for a in record.result.attempts if a.status == "valid")))


async def _replayed(tools: Toolbox, home: Path, record: RunRecord, scratch: Path) -> ReplayLine:
    number, kept = int(home.name), Kept.read(home)
    try:
        text = (home / "kernel.py").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return ReplayLine(id=number, same=False, note=f"kernel.py cannot be read: {error}")
    if kept.attempt is None or kept.attempt.kernel_sha != sha(text):
        return ReplayLine(id=number, same=False, note="kernel.py is not the kernel that the run judged")
    scratch.mkdir()
    measured = kept.attempt.time_kind == "measured"
    again = await judge(text, tools, problem_of(record.task), scratch, checking=record.config.tags, measured=measured)
    found = tuple(differences(kept, again, _model(scratch / MANIFEST, Manifest)))
    return ReplayLine(id=number, same=not found, note="; ".join(found) or _summary(again))


def differences(kept: Kept, again: Judgement, built: Manifest | None) -> Iterator[str]:
    """What is not as it was: verdicts, compiled code, tests, estimate."""
    if again.status not in ("valid", "pending"):
        reason = again.messages[0].splitlines()[0] if again.messages else ""
        yield f"now {again.status}" + (f": {reason}" if reason else "")
    if (was := _verdicts(kept.check)) != (now := _verdicts(again.check)):
        yield f"verdicts: {was}, now {now}"
    yield from _object_differences(kept, again, built)
    if again.status != "pending":  # else tests and time are a GPU's, and not repeated here
        yield from _test_differences(kept.tests, again.tested)
    if kept.attempt is not None and kept.attempt.time_kind == "estimated":
        was_us, now_us = _estimate(kept.report), _estimate(again.report)
        if was_us is None or now_us is None or not math.isclose(was_us, now_us, rel_tol=1e-9):
            yield f"estimate: {_us(was_us)}, now {_us(now_us)}"


def _object_differences(kept: Kept, again: Judgement, built: Manifest | None) -> Iterator[str]:
    """Equal objects are the same code; after a change of the compiler, equal counts are."""
    if kept.manifest and built and kept.manifest.files.get("object") == built.files.get("object"):
        return
    if kept.report is None or again.report is None:
        yield "compiled code: nothing to compare with"
        return
    was, now = _counts(kept.report), _counts(again.report)
    changed = [f"{name} {was[name]}→{now[name]}" for name in was if was[name] != now[name]]
    if kept.report.main_loop.waits != again.report.main_loop.waits:
        changed.append("other waits")
    if changed:
        yield f"compiled code{_compiler_change(kept.manifest, built)}: {', '.join(changed)}"


def _counts(report: Report) -> dict[str, int]:
    budgets = report.model_dump(include={"spills", "scratch_bytes", "lds_bytes", "occupancy_waves"})
    return {**report.registers.model_dump(), **budgets, **report.main_loop.model_dump(exclude={"waits"})}


def _compiler_change(was: Manifest | None, now: Manifest | None) -> str:
    """Which tools are not those that compiled the run's kernel; empty if all are."""
    if was is None or now is None:
        return ""
    changed = [name for name, version in now.versions.items() if was.versions.get(name) != version]
    return f" (changed since: {', '.join(changed)})" if changed else ""


def _test_differences(was: TestReport | None, now: TestReport | None) -> Iterator[str]:
    if was is None or now is None:
        if was is not now:
            yield "tests: none, now some" if was is None else "tests: some, now none"
        return
    if len(was.cases) != len(now.cases):
        yield f"tests: {len(was.cases)} cases, now {len(now.cases)}"
        return
    for a, b in zip(was.cases, now.cases, strict=True):
        # The seconds in the message may differ, what was computed may not.
        if (a.sizes, a.inputs, a.executed, a.passed, a.error) != (b.sizes, b.inputs, b.executed, b.passed, b.error):
            yield f"test {a.sizes} {a.inputs}: {_case(a.passed, a.error)}, now {_case(b.passed, b.error)} at {b.sizes}"


def _summary(again: Judgement) -> str:
    tested = f"{again.tested.passed} tests passed" if again.tested else "no tests"
    return f"{_verdicts(again.check)}, {tested}, est {_us(_estimate(again.report))}"


def _verdicts(check: CheckReport | None) -> str:
    if check is None:
        return "unchecked"
    told = ((check.count("proved"), "proved"), (check.count("refuted"), "refuted"), (check.count("unknown"), "unknown"))
    return ", ".join(f"{n} {verdict}" for n, verdict in told if n) or "no obligations"


def _case(passed: bool, error: float | None) -> str:
    return f"{'passed' if passed else 'failed'}{'' if error is None else f' with error {error:.6g}'}"


def _estimate(report: Report | None) -> float | None:
    return report.estimate.time_us if report and report.estimate else None


def _us(time: float | None) -> str:
    return "none" if time is None else f"{time:,.1f} us"


def _model(path: Path, model: type[Model]) -> Model | None:
    try:
        return model.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
