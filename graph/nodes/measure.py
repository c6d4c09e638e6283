"""Node: the round's compiled kernels get their times, now or after the run was parked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from argus.agents.attempt import Attempt
from argus.dsl.diagnostics import ToolchainError
from argus.graph.context import Bench, RunContext, bench
from argus.graph.drafts import validated
from argus.graph.errors import RunError
from argus.graph.events import Parked
from argus.graph.state import RunState, Update, lower_bound
from argus.graph.timing.order import Order, Wanted
from argus.graph.timing.outcome import library_us, measured
from argus.tools.bundle import Result, Results

COMMAND = "python run.py --fork --out times.json"


async def measure(state: RunState, runtime: Runtime[RunContext]) -> Update:
    """Ask the executor for the times of what is pending; without an answer the run waits for one."""
    context = runtime.context
    pending = [a for a in state["attempts"] if a.status == "pending"]
    if not pending or context.executor is None:
        return {}
    b = bench(context, state["task"])
    order = _order(pending, context, b)
    try:
        found = await context.executor.measure(order)
    except ToolchainError as error:
        return _told(state, context, [_broken(a, str(error)) for a in pending], state["library_us"])
    if found is None:
        _park(state, context, order)
        raise AssertionError("a parked run goes on with the node's next run")
    return _answered(state, context, pending, found)


def _order(pending: Sequence[Attempt], context: RunContext, b: Bench) -> Order:
    if context.folder is None:
        raise RunError("kernels are timed from a run's folder, and this run has none")
    folder = context.folder
    unique = {a.kernel_sha: a for a in reversed(pending)}
    kernels = tuple(
        Wanted(f"kernel-{a.id}", sha256(a.text.encode()).hexdigest(), folder.attempt(a.id), a.schedule or {})
        for a in sorted(unique.values(), key=lambda a: a.id)
    )
    p = b.problem
    return Order(folder.round(pending[0].round), p.task.name, p.dtype, p.sizes, kernels)


def _park(state: RunState, context: RunContext, order: Order) -> None:
    """End this sitting; the node runs again when the run is resumed."""
    kernels = len(order.kernels)
    context.sink.emit(Parked(round=state["round"], kernels=kernels, bundle=str(order.bundle), command=COMMAND))
    interrupt({"bundle": str(order.bundle), "kernels": kernels, "command": COMMAND})


def _answered(state: RunState, context: RunContext, pending: Sequence[Attempt], found: Results) -> Update:
    reference = state["library_us"] or library_us(found)
    if reference is None:
        return _told(state, context, [_broken(a, "the library was not timed") for a in pending], None)
    by_sha: Mapping[str, Result] = {r.kernel_sha[:12]: r for r in found.results if r.kernel_sha}
    attempts: list[Attempt] = []
    for a in pending:
        result = by_sha.get(a.kernel_sha)
        if result is None:
            attempts.append(_broken(a, "it was not timed"))
            continue
        timed, tests = measured(a, result, reference)
        if context.folder:
            context.folder.write_tests(a.id, tests)
        attempts.append(timed)
    return _told(state, context, attempts, reference)


def _told(state: RunState, context: RunContext, attempts: list[Attempt], reference: float | None) -> Update:
    """Keep the attempts and say what became of them."""
    known = {a.id: a for a in state["attempts"]}
    changes = {c.id: c.change for c in state["candidates"]}
    for a in attempts:
        if context.folder:
            context.folder.write_attempt(a)
        parent = known.get(a.parent) if a.parent is not None else None
        context.sink.emit(
            validated(
                a,
                change=changes.get(a.id, "start"),
                parent_us=parent.time_us if parent else None,
                lower_bound_us=lower_bound(state["attempts"]),
            )
        )
    return {"attempts": attempts, "library_us": reference}


def _broken(a: Attempt, note: str) -> Attempt:
    return a.model_copy(update={"status": "broken", "fault": "toolchain", "note": note[:400]})
