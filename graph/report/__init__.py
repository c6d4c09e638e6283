"""A run as one HTML file: what was found, how, and why it may be believed. `argus runs report` writes it.

Everything is read from the run folder, so a report can be written again at any time, by any process.
"""

from __future__ import annotations

from pathlib import Path

from argus.graph.folder import write_text
from argus.graph.record import RunRecord
from argus.graph.report.page import page
from argus.graph.report.read import RandomSearch, read_run

__all__ = ["REPORT", "RandomSearch", "write_report"]

REPORT = "report.html"


def write_report(folder: Path, record: RunRecord, *, random: RandomSearch | None = None) -> Path:
    """Write `report.html` into a run's folder and answer its path.

    Args:
        folder: The run's.
        record: What `run.json` holds; a run without a result is reported as far as it got.
        random: Random choice on the same problem, to compare the search with.

    Raises:
        OSError: If the file cannot be written.
    """
    path = folder / REPORT
    write_text(path, page(read_run(folder, record, random)))
    return path
