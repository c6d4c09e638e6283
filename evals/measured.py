"""The stored H200 times of sm_90a schedules, and tools that work from them where no compiler and no GPU is."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from argus.dsl.codegen.cuda_report import CudaRegisters, CudaReport
from argus.dsl.codegen.report import Report
from argus.dsl.diagnostics import CheckReport, Code, Diagnostic, KernelError, Span, ToolchainError
from argus.dsl.frontend import parse
from argus.dsl.kernels import Problem, families, make_problem, task_named
from argus.dsl.transform import to_core
from argus.graph.timing import TimedSchedule, TimeTable
from argus.retrieval.query import SearchResult
from argus.tools.check import check_invariants
from argus.tools.cuda import cuda_report
from argus.tools.results import CompileResult, TestReport
from argus.tools.search import search_knowledge

MEASURED = "hopper-gemm-bf16-4096.json"  # the enumerated space
RANDOM = "hopper-gemm-bf16-4096-random.json"  # drawn at random from a larger one
SEARCHED = "hopper-gemm-bf16-4096-searched.json"  # drawn from all of it, and what searches in all of it asked for


def stored_times(name: str = MEASURED) -> TimeTable:
    """The table that ships with the package.

    Raises:
        FileNotFoundError: If there is none.
    """
    return whole(TimeTable.model_validate_json((files("argus.evals") / "data" / name).read_bytes()))


def whole(table: TimeTable) -> TimeTable:
    """The table with every field of every schedule: knobs that came later have their defaults."""
    parse = families()[problem_of(table).task.family].parse_schedule
    entries = [
        e.model_copy(update={"schedule": parse(dict(e.schedule)).model_dump(mode="json")}) for e in table.entries
    ]
    return table.model_copy(update={"entries": tuple(entries)})


def merged(tables: Sequence[TimeTable]) -> TimeTable:
    """All entries in one table; of a kernel measured twice the later counts, and draws are the last table's alone."""
    first, last = tables[0], tables[-1]
    entries = [e.model_copy(update={"drawn": e.drawn and table is last}) for table in tables for e in table.entries]
    return first.model_copy(update={"entries": tuple(entries), "draw": last.draw})


def problem_of(table: TimeTable) -> Problem:
    return make_problem(task_named(table.task), shape=table.shape, dtype=table.dtype, target=table.target)


def stored_report(text: str, entry: TimedSchedule, problem: Problem) -> Report:
    """The static report of a stored kernel, with the estimate as it is computed today."""
    core = to_core(parse(text))
    found = CudaReport(
        kernel=core.name,
        registers=CudaRegisters(regs=entry.registers),
        spills=entry.spills,
        scratch_bytes=0,
        lds_bytes=entry.shared_bytes,
        occupancy_waves=core.waves,
    )
    return cuda_report(core, found, problem)


class StoredToolbox:
    """The tools of a replay: what was compiled and measured before is told again, what was not is refused.

    Tests ran where the kernel was timed; invariants are checked anew.

    Args:
        table: What was measured.
        checks: Reports by kernel text, shared by replays.
    """

    def __init__(self, table: TimeTable, checks: dict[str, CheckReport] | None = None) -> None:
        self._known = table.by_sha
        self._checks = {} if checks is None else checks
        self.asked_in_vain: set[str] = set()

    def check_invariants(self, text: str, problem: Problem) -> CheckReport:
        if text not in self._checks:
            self._checks[text] = check_invariants(text, problem)
        return self._checks[text]

    async def compile_kernel(self, text: str, problem: Problem, directory: Path) -> CompileResult:
        """The stored report of a kernel.

        Raises:
            KernelError: LIMIT, if it was never measured: the step is spent, and nothing is learned from it.
        """
        sha = hashlib.sha256(text.encode()).hexdigest()
        entry = self._known.get(sha)
        if entry is None:
            self.asked_in_vain.add(sha)
            where, message = Span("<kernel>", 1, 1, 1, 1), "this kernel was never timed: a replay cannot tell its time"
            raise KernelError(Diagnostic(code=Code.LIMIT, message=message, span=where))
        nothing = directory / "kernel.cubin"
        report = stored_report(text, entry, problem)
        return CompileResult(directory=directory, object_path=nothing, asm_path=nothing, report=report, seconds=0.0)

    async def run_tests(self, text: str, problem: Problem, compiled: CompileResult) -> TestReport:
        del text, problem, compiled
        raise ToolchainError("tests of stored kernels ran where they were timed")

    def search_knowledge(self, query: str, *, problem: Problem, top: int = 5) -> SearchResult:
        return search_knowledge(query, problem=problem, top=top, mode="bm25")
