"""A run's report with what only the evaluations know: how random choice does on the same problem."""

from __future__ import annotations

from pathlib import Path

from argus.evals.table import Table, stored
from argus.graph.context import problem_of
from argus.graph.record import RunRecord
from argus.graph.report import RandomSearch, write_report

_SEEDS = range(20)


def report_run(folder: Path, record: RunRecord) -> Path:
    """Write the report and answer its path.

    Raises:
        OSError: If it cannot be written.
    """
    try:
        table = stored()
    except FileNotFoundError:
        return write_report(folder, record)
    return write_report(folder, record, random=random_search(table, record))


def random_search(table: Table, record: RunRecord) -> RandomSearch | None:
    """Random choice on the table, candidate by candidate; None if the table is of another problem."""
    problem = problem_of(record.task)
    known = (table.task, table.dtype, table.shape, problem.target)
    if known != (problem.task.name, problem.dtype, dict(problem.shape), "gfx942"):
        return None
    most = max((a.id for a in record.result.attempts), default=0) if record.result else record.budget.candidates
    return RandomSearch(
        median_us=tuple(table.random_median(n, _SEEDS) for n in range(1, most + 1)),
        seeds=len(_SEEDS),
        stored=len(table.entries),
        best_us=min(table.times, default=float("inf")),
        model_version=table.model_version,
    )
