"""What an optimisation answers: `argus optimize --json` prints exactly this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from argus.agents.attempt import Attempt, Fault, Params, Status, TimeKind, Verdicts
from argus.agents.attempt import Tests as TestCounts
from argus.graph.state import RunState, best_of, lower_bound

SCHEMA_VERSION = 1
RunStatus = Literal["improved", "no_gain", "no_valid", "parked"]


class AttemptRecord(BaseModel, frozen=True):
    """One candidate. Paths are relative to the run folder; `speedup` is over the start kernel."""

    id: int
    round: int
    parent: int | None
    techniques: tuple[str, ...]
    params: Params
    status: Status
    kernel: str | None
    report: str | None
    kernel_sha: str | None
    obligations: Verdicts
    tests: TestCounts
    time_us: float | None
    time_kind: TimeKind
    speedup: float | None
    reward: float | None
    prompt_sha: str | None
    fault: Fault
    tokens: int


class RunResult(BaseModel, frozen=True):
    """A finished, parked, stopped or interrupted optimisation; `baseline` and `best` are attempt ids."""

    schema_version: int = SCHEMA_VERSION
    run_id: str
    task: str
    target: str
    seed: int
    status: RunStatus
    stop_reason: str
    seconds: float
    lower_bound_us: float | None
    baseline: int | None
    best: int | None
    attempts: tuple[AttemptRecord, ...]

    @property
    def exit_code(self) -> int:
        """0: improved, no gain or parked; 1: no valid kernel; 3: none because the toolchain failed each time."""
        if self.status != "no_valid":
            return 0
        faults = [a.fault for a in self.attempts]
        return 3 if faults and all(f == "toolchain" for f in faults) else 1


def result(
    state: RunState, *, run_id: str, task: str, target: str, seed: int, stop_reason: str, parked: bool = False
) -> RunResult:
    """The contract's view of a state, at whatever point it stands."""
    attempts = state.get("attempts", [])
    return RunResult(
        run_id=run_id,
        task=task,
        target=target,
        seed=seed,
        status="parked" if parked else _status(attempts),
        stop_reason=stop_reason,
        seconds=round(state.get("seconds", 0.0), 3),
        lower_bound_us=lower_bound(attempts),
        baseline=next((a.id for a in attempts if a.id == 0), None),
        best=best.id if (best := best_of(attempts)) else None,
        attempts=tuple(_record(a) for a in attempts),
    )


def _status(attempts: Sequence[Attempt]) -> RunStatus:
    best = best_of(attempts)
    if best is None:
        return "no_valid"
    return "improved" if best.id != 0 else "no_gain"


def _record(a: Attempt) -> AttemptRecord:
    fields = a.model_dump(include=set(AttemptRecord.model_fields) - {"report", "kernel", "kernel_sha", "prompt_sha"})
    return AttemptRecord(
        **fields,
        kernel=a.kernel or None,
        report=a.report_path or None,
        kernel_sha=a.kernel_sha or None,
        prompt_sha=a.prompt_sha or None,
    )
