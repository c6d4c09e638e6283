"""The table of measured times, made: a bundle of the enumerated space, and what came back from a GPU."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from argus.dsl.codegen.report import Report
from argus.dsl.diagnostics import KernelError, ToolchainError
from argus.dsl.kernels import Problem, families, make_problem, task_named
from argus.dsl.kernels.hopper_search import HopperSearchSchedule
from argus.graph.timing import Order, TimeTable, Wanted
from argus.graph.timing.order import verified
from argus.graph.timing.table import TimedSchedule, source_of, timed
from argus.tools.cuda import compile_cuda

SCHEDULE, STATIC = "schedule.json", "static.json"


def write_space(
    out: Path,
    schedules: Sequence[HopperSearchSchedule],
    *,
    cache: Path,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, str]:
    """Compile schedules and write their bundle to `out/bundle`; answers those that were left out, and why.

    What `out/kernels` holds already is not compiled anew.

    Raises:
        ToolchainError: If nothing compiles or the folder cannot be written.
    """
    problem, family = gemm_problem(), families()["hopper_gemm"]
    wanted: list[Wanted] = []
    failed: dict[str, str] = {}
    for number, schedule in enumerate(schedules, 1):
        text = family.text(schedule, problem)
        sha = hashlib.sha256(text.encode()).hexdigest()
        folder = out / "kernels" / sha[:16]
        try:
            if not (folder / SCHEDULE).exists():
                _compile(text, schedule, problem, folder, cache)
        except (KernelError, ToolchainError) as error:
            failed[schedule.name] = str(error)
            continue
        wanted.append(Wanted(sha[:16], sha, folder, schedule.model_dump(mode="json")))
        if progress is not None:
            progress(number, len(schedules))
    if not wanted:
        raise ToolchainError(next(iter(failed.values()), "no schedule was given"))
    Order(out, problem.task.name, problem.dtype, problem.sizes, tuple(wanted)).write()
    return failed


def table_of(results: Path, out: Path) -> TimeTable:
    """The table of a bundle's results; what ran must be what the bundle holds.

    Raises:
        ToolchainError: If the results are of other kernels, or hold no time of the library.
    """
    problem = gemm_problem()
    found = verified(results, out / "bundle")
    try:
        source = source_of(found)
    except ValueError as error:
        raise ToolchainError(str(error)) from error
    entries: list[TimedSchedule] = []
    for r in found.results:
        folder = out / "kernels" / r.kernel_sha[:16]
        if r.kind != "candidate" or not (folder / SCHEDULE).exists():
            continue
        schedule = json.loads((folder / SCHEDULE).read_text("utf-8"))
        report = Report.model_validate_json((folder / STATIC).read_bytes())
        entries.append(timed(r, schedule, report, drawn=False))
    return TimeTable(
        task=problem.task.name,
        target=problem.target,
        dtype=problem.dtype,
        shape=dict(problem.shape),
        reference_us=source.library_us,
        draw="every combination of argus.evals.hopper_space",
        sources=(source,),
        entries=tuple(entries),
    )


def gemm_problem() -> Problem:
    """The problem that the table is about."""
    return make_problem(task_named("gemm"), target="sm_90a")


def _compile(text: str, schedule: HopperSearchSchedule, problem: Problem, folder: Path, cache: Path) -> None:
    made = compile_cuda(text, problem, folder, cache)
    (folder / "kernel.py").write_text(text, "utf-8")
    (folder / STATIC).write_text(made.report.model_dump_json(indent=1), "utf-8")
    # Written last: a folder that has it is whole.
    (folder / SCHEDULE).write_text(schedule.model_dump_json(), "utf-8")
