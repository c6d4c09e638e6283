"""Times that were measured before: what a search can be replayed from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from argus.dsl.codegen.report import Report
from argus.tools.bundle import Result, Results

SCHEMA_VERSION = 1


class TimedSchedule(BaseModel, frozen=True):
    """One kernel as it was measured.

    Attributes:
        schedule: The family's fields, for readers.
        kernel_sha, cubin_sha: sha256 of the kernel text and of the cubin that ran.
        ratio: The library's time over the kernel's, measured in turns, with its 95 % interval; None if it was not.
        time_us: The kernel's own median at the clock of that moment: compare ratios.
        checks: Sizes at which the result was compared with the reference.
        source: Which of the table's sources it is from.
        drawn: Whether it belongs to the random draw from the space; the others were asked for by searches.
        fitted: Whether constants of the estimate were fitted with it.
        registers, spills, shared_bytes: What ptxas said of the cubin.
    """

    schedule: dict[str, Any]
    kernel_sha: str
    cubin_sha: str
    status: str = "ok"
    message: str = ""
    ratio: tuple[float, float, float] | None = None
    time_us: float | None = None
    checks: int = 0
    source: int = 0
    drawn: bool = False
    fitted: bool = False
    registers: int = 0
    spills: int = 0
    shared_bytes: int = 0


class Source(BaseModel, frozen=True):
    """One run on a GPU; `library_us` is what the library took there."""

    gpu: str
    driver: str
    torch: str
    date: str
    library: str
    library_us: float


class TimeTable(BaseModel, frozen=True):
    """Measured schedules of one problem.

    Attributes:
        reference_us: The library's time by which ratios become microseconds, the same for all.
        draw: How the random schedules were drawn.
    """

    schema_version: int = SCHEMA_VERSION
    task: str
    target: str
    dtype: str
    shape: dict[str, int]
    reference_us: float
    draw: str = ""
    sources: tuple[Source, ...]
    entries: tuple[TimedSchedule, ...]

    @cached_property
    def by_sha(self) -> dict[str, TimedSchedule]:
        """Entries by the sha256 of the kernel text; the later measurement of a kernel counts."""
        return {e.kernel_sha: e for e in self.entries}

    def time_us(self, entry: TimedSchedule) -> float | None:
        """The kernel's time against the one library time of the table; None if it is not valid."""
        return self.reference_us / entry.ratio[0] if entry.ratio and entry.status == "ok" else None

    def with_entries(self, source: Source, entries: Iterable[TimedSchedule]) -> TimeTable:
        """The table with another run's entries."""
        number = len(self.sources)
        new = tuple(e.model_copy(update={"source": number}) for e in entries)
        return self.model_copy(update={"sources": (*self.sources, source), "entries": (*self.entries, *new)})


def timed(result: Result, schedule: dict[str, Any], report: Report, *, drawn: bool) -> TimedSchedule:
    """A result as a table's entry, with the static report of what ran."""
    return TimedSchedule(
        schedule=schedule,
        kernel_sha=result.kernel_sha,
        cubin_sha=result.cubin_sha,
        status=result.status,
        message=result.message[:200],
        ratio=None if result.ratio is None else _rounded(result.ratio),
        time_us=None if result.time_us is None else round(result.time_us[0], 2),
        checks=sum(bool(c.get("ok")) for c in result.checks),
        drawn=drawn,
        registers=report.registers.vgpr,
        spills=report.spills,
        shared_bytes=report.lds_bytes,
    )


def source_of(found: Results) -> Source:
    """Where and when results were measured.

    Raises:
        ValueError: If no library was timed.
    """
    peer = next((r for r in found.results if r.kind == "peer" and r.time_us), None)
    if peer is None or peer.time_us is None:
        raise ValueError("the results hold no time of the library")
    device = peer.device
    return Source(
        gpu=str(device.get("name", "unknown")),
        driver=found.driver or "unknown",
        torch=str(device.get("torch", "unknown")),
        date=found.date,
        library=peer.library or "cublas",
        library_us=round(peer.time_us[0], 2),
    )


def save(table: TimeTable, path: Path) -> None:
    """Write a table, one entry a line, defaults left out: it is reviewed as a diff."""
    head = table.model_dump(mode="json", exclude={"entries"})
    lines = ",\n".join(json.dumps(e.model_dump(mode="json", exclude_defaults=True)) for e in table.entries)
    path.write_text(json.dumps(head)[:-1] + ', "entries": [\n' + lines + "\n]}\n", "utf-8")


def _rounded(ratio: tuple[float, float, float]) -> tuple[float, float, float]:
    low, middle, high = (round(x, 5) for x in ratio)
    return low, middle, high
