"""Running the graph: from Python, in a folder for each optimisation, and going on after a crash."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict, Unpack

from argus.agents.models import ModelChoice as Models
from argus.agents.toolbox import Toolbox
from argus.graph.context import Budget, Config, problem_of
from argus.graph.events import OnEvent
from argus.graph.folder import RunFolder
from argus.graph.record import RunRecord, named, read_record, refuse_changes
from argus.graph.result import RunResult
from argus.graph.sitting import Given
from argus.graph.sitting import run as drive
from argus.graph.state import TaskKey
from argus.graph.timing.executor import Executor, timing_for
from argus.graph.timing.park import accept_times
from argus.retrieval.card import Card

__all__ = ["RUNS", "RunRecord", "RunResult", "aoptimize", "aresume", "optimize", "resume"]

RUNS = Path("runs")


class Options(TypedDict, total=False):
    """Keywords of `aoptimize`, for its synchronous form."""

    shape: Mapping[str, int] | None
    dtype: str | None
    target: str
    models: Models | None
    rounds: int
    candidates: int
    budget_tokens: int | None
    minutes: float | None
    seed: int
    out: Path | str | None
    events: Path | str | None
    on_event: OnEvent | None
    config: Config | None
    toolbox: Toolbox | None
    cards: Mapping[str, Card] | None
    track: bool
    executor: Executor | None
    learn_from: Path | str | None


def optimize(task: str, **options: Unpack[Options]) -> RunResult:
    """`aoptimize` for callers without an event loop."""
    return asyncio.run(aoptimize(task, **options))


def resume(run: Path | str, **options: Any) -> RunResult:  # noqa: ANN401 - those of `aresume`
    """`aresume` for callers without an event loop."""
    return asyncio.run(aresume(run, **options))


async def aoptimize(
    task: str,
    *,
    shape: Mapping[str, int] | None = None,
    dtype: str | None = None,
    target: str = "gfx942",
    models: Models | None = None,
    rounds: int = 5,
    candidates: int = 24,
    budget_tokens: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    events: Path | str | None = None,
    on_event: OnEvent | None = None,
    config: Config | None = None,
    toolbox: Toolbox | None = None,
    cards: Mapping[str, Card] | None = None,
    track: bool = True,
    executor: Executor | None = None,
    learn_from: Path | str | None = None,
) -> RunResult:
    """Optimise a task's kernel.

    Kernels for sm_90a are timed by a GPU of this machine, or, where there is none, by another machine: then the run
    parks with a bundle for each round, and `aresume(run, times=FILE)` goes on with its times.

    Args:
        task: A task's name, e.g. `gemm`.
        shape: Sizes by lower-case name; those left out are the task's.
        dtype: Element type of the inputs; the task's first if left out.
        target: `gfx942` or `sm_90a`.
        models: A model or `PROVIDER:NAME` by agent (`planner`, `selector`, `lowering`, `validator`, `default`); the
            offline policy answers for the others.
        rounds: Planning rounds after the start kernel.
        candidates: Kernels tried beside the start kernel.
        budget_tokens: Tokens over all agents.
        minutes: Time after which no further candidate is begun.
        seed: Of every draw.
        out: The run's folder; `runs/<id>` if left out.
        events: A file that gets every event as a JSON line, beside the folder's own.
        on_event: Called with every event.
        config: Switches and bounds.
        toolbox: Tools in place of the project's.
        cards: Techniques in place of the corpus.
        track: Whether MLflow gets the run.
        executor: Who measures, in place of what fits this machine.
        learn_from: An earlier run's folder: what its attempts taught is believed from the start, as a few tries' worth.

    Raises:
        KernelError: Unknown task, size, dtype or target.
        ModelConfigError: A model that cannot be used as asked.
        RunError: A folder or store that cannot be used.
        ToolchainError: The planner's or selector's provider failed; the run can be resumed.
    """
    key = TaskKey(name=task, shape=dict(shape or {}), dtype=dtype, target=target, seed=seed)
    problem_of(key)
    names = named(models or {})
    run_id = secrets.token_hex(4)
    earlier = "" if learn_from is None else str(RunFolder.open(Path(learn_from)).root.resolve())
    folder = RunFolder.create(Path(out) if out is not None else RUNS / run_id)
    record = RunRecord(
        run_id=run_id,
        task=key,
        models=names,
        config=config or Config(),
        budget=Budget(rounds=rounds, candidates=candidates, tokens=budget_tokens, minutes=minutes),
        timing=executor.timing if executor else timing_for(target),
        learned_from=earlier,
    )
    folder.write_run(record)
    given = Given(models or {}, toolbox, cards, events, on_event, track, executor)
    return await drive(folder, record, given, fresh=True)


async def aresume(
    run: Path | str,
    *,
    rounds: int | None = None,
    candidates: int | None = None,
    budget_tokens: int | None = None,
    minutes: float | None = None,
    models: Models | None = None,
    events: Path | str | None = None,
    on_event: OnEvent | None = None,
    toolbox: Toolbox | None = None,
    cards: Mapping[str, Card] | None = None,
    track: bool = True,
    executor: Executor | None = None,
    times: Path | str | None = None,
    **changed: Any,  # noqa: ANN401 - compared with what the run had
) -> RunResult:
    """Go on with a run that was killed, interrupted or ended by a budget. Only budgets may change.

    Args:
        run: The run's folder.
        rounds: In all, what is done included; likewise the other budgets.
        candidates: See above.
        budget_tokens: See above.
        minutes: See above.
        models: The same models as before, where they were given as objects.
        events: A further file for events.
        on_event: Called with every event.
        toolbox: Tools in place of the project's.
        cards: Techniques in place of the corpus.
        track: Whether MLflow gets the run.
        executor: Who measures, where the run was given one.
        times: What the bundle of a parked run wrote on the machine with the GPU.
        changed: Anything else is refused when it differs from what the run was started with.

    Raises:
        RunError: No run there, options that differ, times of other kernels, or another process works on it.
    """
    folder = RunFolder.open(Path(run))
    record = read_record(folder)
    refuse_changes(folder, record, models, changed)
    asked = {"rounds": rounds, "candidates": candidates, "tokens": budget_tokens, "minutes": minutes}
    budget = Budget.model_validate(
        {**record.budget.model_dump(), **{name: value for name, value in asked.items() if value is not None}}
    )
    record = record.model_copy(update={"budget": budget})
    if times is not None:
        accept_times(folder, Path(times))
    given = Given(models or record.models, toolbox, cards, events, on_event, track, executor)
    return await drive(folder, record, given, fresh=False)
