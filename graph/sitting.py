"""One sitting of a run: from its folder and record to the graph's end, whatever ends it."""

from __future__ import annotations

import asyncio
import sqlite3
import warnings
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import aiosqlite
from filelock import FileLock, Timeout
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from argus.agents.models import ModelChoice
from argus.agents.policy.lessons import planner_prompt
from argus.agents.toolbox import Toolbox
from argus.dsl.codegen.nvcc import nvcc_path
from argus.dsl.diagnostics import ToolchainError
from argus.graph.beliefs import beliefs_of
from argus.graph.build import Compiled, build_graph
from argus.graph.context import Budget, Config, RunContext, bench, default_toolbox, problem_of
from argus.graph.errors import RunError
from argus.graph.events import EventSink, OnEvent, RunFinished, RunStarted, Warned
from argus.graph.folder import RunFolder
from argus.graph.record import RunRecord
from argus.graph.report import REPORT, write_report
from argus.graph.result import RunResult, result
from argus.graph.routes import stop_reason
from argus.graph.state import CHECKPOINTED, RunState, Start, best_of
from argus.graph.store import Episode, Store
from argus.graph.timing.executor import Executor, StoredExecutor, executor_named
from argus.graph.track import Tracker, default_artifacts, default_uri
from argus.retrieval.card import Card

INTERRUPTED = "interrupted"
PARKED = "kernels wait for their times"


@dataclass(frozen=True, slots=True)
class Given:
    """Live objects of one sitting."""

    models: ModelChoice
    toolbox: Toolbox | None
    cards: Mapping[str, Card] | None
    events: Path | str | None
    on_event: OnEvent | None
    track: bool
    executor: Executor | None = None


async def run(folder: RunFolder, record: RunRecord, given: Given, *, fresh: bool) -> RunResult:
    """Drive a run to its end, or to what stops it; what was found is kept either way.

    Raises:
        RunError: Another process works on it, or its files cannot be used.
        ToolchainError: The planner's or selector's provider failed; the run can go on later.
    """
    with _locked(folder), _sink(folder, given) as sink, _tools(given, record.config) as toolbox:
        context = _context(folder, record, given, sink, toolbox)
        b = bench(context, record.task)  # what is wrong with cards, models or tools shows before anything runs
        if fresh and record.learned_from:
            context = replace(context, arms=beliefs_of(Path(record.learned_from), b.catalogue, context.reward))
        async with _graph(folder) as graph:
            return await _sitting(graph, folder, record, context, fresh=fresh)


async def _sitting(
    graph: Compiled, folder: RunFolder, record: RunRecord, context: RunContext, *, fresh: bool
) -> RunResult:
    """Drive the graph to its end; whatever ends it, what was found so far is kept."""
    settings = _settings(record)
    _announce(record, context, resumed=not fresh)
    tracking = asyncio.create_task(_track(folder, record, context))
    stop = ""
    try:
        start = None if await _reopened(graph, settings, record.budget) else Start(task=record.task)
        await graph.ainvoke(  # pyright: ignore[reportUnknownMemberType] - LangGraph's generics
            start, settings, context=context, durability="sync"
        )
    except asyncio.CancelledError:
        stop = INTERRUPTED
        # Branches that were still waiting for a place: LangGraph drops them, and Python would complain at exit.
        warnings.filterwarnings("ignore", "coroutine '.*' was never awaited", RuntimeWarning)
        raise
    except Exception as error:
        stop = f"stopped by an error: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise
    finally:
        record = await tracking
        snapshot = await graph.aget_state(settings)
        state = cast("RunState", snapshot.values)
        parked = not stop and bool(snapshot.interrupts)
        found = await _finished(folder, record, context, state, PARKED if parked else stop, parked=parked)
    return found


async def _reopened(graph: Compiled, settings: RunnableConfig, budget: Budget) -> bool:
    """Whether there is a checkpoint to go on from; a search that had ended is judged anew under its budget."""
    snapshot = await graph.aget_state(settings)
    if not snapshot.values:
        return False
    if not snapshot.next:
        state = cast("RunState", snapshot.values)
        await graph.aupdate_state(settings, {"stop_reason": stop_reason(state, budget)}, as_node="learn")
    return True


async def _finished(
    folder: RunFolder, record: RunRecord, context: RunContext, state: RunState, stop: str, *, parked: bool
) -> RunResult:
    """The result, in run.json, `best/`, report, events and tracking."""
    key = record.task
    found = result(
        state,
        run_id=record.run_id,
        task=key.name,
        target=key.target,
        seed=key.seed,
        stop_reason=stop or state.get("stop_reason", ""),
        parked=parked,
    )
    if found.best is not None:
        folder.keep_best(found.best)
    record = record.model_copy(update={"result": found})
    folder.write_run(record)
    _report(folder, record, context)
    context.sink.emit(
        RunFinished(
            status=found.status,
            stop_reason=found.stop_reason,
            best=found.best,
            seconds=found.seconds,
            tokens=state.get("tokens", 0),
        )
    )
    if context.tracker:
        metrics = {"attempts": float(len(found.attempts)), "tokens": float(state.get("tokens", 0))}
        if (best := best_of(state.get("attempts", []))) and best.time_us:
            metrics |= {"best_time_us": best.time_us, "speedup": best.speedup or 1.0}
        tags = {"argus.status": found.status, "argus.stop_reason": found.stop_reason}
        files = [folder.root / "best", folder.root / "run.json", folder.root / REPORT, folder.events]
        await context.tracker.finish(metrics, tags, files, failed=bool(stop) and not parked)
    return found


def _report(folder: RunFolder, record: RunRecord, context: RunContext) -> None:
    """The page that people read; the result stands without it."""
    try:
        write_report(folder.root, record)
    except Exception as error:  # whatever an old file, a full disk or a mistake of ours comes up with
        context.sink.emit(Warned(message=f"no report was written: {type(error).__name__}: {error}"))


async def _track(folder: RunFolder, record: RunRecord, context: RunContext) -> RunRecord:
    """Open the parent run and remember it; in the background, since a new database takes seconds."""
    if context.tracker is None:
        return record
    key = record.task
    params = {**context.config.model_dump(), **record.budget.model_dump(), "seed": key.seed, **key.shape}
    models = {f"model.{node}": name for node, name in record.models.items()}
    tags = {"argus.run": record.run_id, "argus.task": key.name, "argus.target": key.target}
    await context.tracker.start(f"{key.name} {record.run_id}", tags, {**params, **models})
    if context.tracker.parent == record.tracking:
        return record
    record = record.model_copy(update={"tracking": context.tracker.parent})
    folder.write_run(record)
    return record


def _context(folder: RunFolder, record: RunRecord, given: Given, sink: EventSink, toolbox: Toolbox) -> RunContext:
    key, problem = record.task, problem_of(record.task)
    store = Store.open(folder.episodes)
    store.add_episode(
        Episode(
            id=record.run_id,
            run=folder.root.name,
            task=key.name,
            target=key.target,
            family=problem.task.family,
            prompt_sha=planner_prompt(()).sha,
            model=record.models["planner"],
            seed=key.seed,
            switches=record.config.switches,
        )
    )
    runs = folder.root.resolve().parent
    tracker = Tracker(
        default_uri(runs),
        warn=lambda message: sink.emit(Warned(message=message)),
        artifacts=default_artifacts(runs),
        parent=record.tracking,
    )
    executor = given.executor or executor_named(record.timing)
    return RunContext(
        models=given.models,
        toolbox=toolbox,
        cards=given.cards,
        problem=problem,
        config=record.config,
        budget=record.budget,
        folder=folder,
        store=store,
        tracker=tracker if given.track else None,
        sink=sink,
        episode=record.run_id,
        executor=executor,
        space=executor.schedules if isinstance(executor, StoredExecutor) else None,
    )


def _announce(record: RunRecord, context: RunContext, *, resumed: bool) -> None:
    b = bench(context, record.task)
    context.sink.emit(
        RunStarted(
            run_id=record.run_id,
            task=record.task.name,
            shape=dict(b.problem.shape),
            dtype=b.problem.dtype,
            target=b.problem.target,
            seed=record.task.seed,
            models=record.models,
            cards=len(b.catalogue.optimisations()),
            resumed=resumed,
            timing=record.timing,
        )
    )
    if record.timing in ("local", "file") and (lack := _missing_tools()):
        context.sink.emit(Warned(message=lack))


def _missing_tools() -> str:
    """What this machine lacks for compiling what is to be timed; empty if nothing."""
    try:
        nvcc_path()
    except ToolchainError as error:
        return f"{error}; kernels are checked and written as CUDA C (kernel.cu), and none can be timed"
    return ""


def _settings(record: RunRecord) -> RunnableConfig:
    return {
        "configurable": {"thread_id": record.run_id},
        "max_concurrency": record.config.concurrency,
        # Six steps a round, and the start; the default of 25 would end a search in its fifth round.
        "recursion_limit": 10 + 6 * (record.budget.rounds + 1),
    }


@asynccontextmanager
async def _graph(folder: RunFolder) -> AsyncGenerator[Compiled]:
    try:
        async with aiosqlite.connect(folder.checkpoints) as connection:
            known = JsonPlusSerializer(allowed_msgpack_modules=[(t.__module__, t.__name__) for t in CHECKPOINTED])
            saver = AsyncSqliteSaver(connection, serde=known)
            await saver.setup()
            yield build_graph(saver)
    except sqlite3.DatabaseError as error:
        raise RunError(
            f"cannot use {folder.checkpoints}: {error}",
            "the folder's kernels are intact; start a new run in another folder",
            where=str(folder.checkpoints),
        ) from error


@contextmanager
def _locked(folder: RunFolder) -> Generator[None]:
    """Only one process works on a run; the lock of a killed one is free."""
    try:
        lock = FileLock(folder.lock, timeout=0)
        lock.acquire()
    except Timeout as error:
        raise RunError(f"another process works on {folder.root}", "wait for it", where=str(folder.root)) from error
    except OSError as error:
        raise _unwritable(folder.root, error) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _tools(given: Given, config: Config) -> Generator[Toolbox]:
    """The tools given, or the project's, whose processes end with the run."""
    if given.toolbox is not None:
        yield given.toolbox
        return
    with default_toolbox(config) as toolbox:
        toolbox.warm()
        yield toolbox


@contextmanager
def _sink(folder: RunFolder, given: Given) -> Generator[EventSink]:
    extra = Path(given.events) if given.events is not None else None
    try:
        sink = EventSink(folder.events, given.on_event, extra)
    except OSError as error:
        raise _unwritable(extra or folder.events, error) from error
    try:
        yield sink
    finally:
        sink.close()


def _unwritable(path: Path, error: OSError) -> RunError:
    return RunError(f"cannot write to {path}: {error.strerror}", "choose a place you may write to", where=str(path))
