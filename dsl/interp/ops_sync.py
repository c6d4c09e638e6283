"""Barriers, mbarriers and fences."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from argus.dsl.interp.barriers import MBarrier
from argus.dsl.interp.gate import Gate
from argus.dsl.interp.machine import Wave
from argus.dsl.ir.nodes import Arrive, AwaitPhase, Barrier, Fence, Shift

Waits = Generator[Gate, None, None]


def barrier(w: Wave, node: Barrier | Shift) -> Waits:
    """Wait for the other participants."""
    if w.lanes == 1:
        w.fault("divergence", "a single elected lane cannot pass a barrier", node.span)
    gate = w.machine.barriers.arrive(w, node)
    while not gate.open:
        yield gate


def shift(w: Wave, node: Shift) -> Waits:
    """The first `waves` waves arrive once more than the others, which puts the two parts a phase apart."""
    if w.index < node.waves:
        yield from barrier(w, node)


def fence(w: Wave, node: Fence) -> None:
    """The wave's ordinary writes so far become visible to async copies and MMAs."""
    w.machine.clocks.fence(w.index)


def arrive(w: Wave, node: Arrive) -> None:
    """One arrival; with bytes, the TMA loads of the wave's open group now belong to this barrier."""
    bar = _slot(w, node)
    clocks = w.machine.clocks
    if bar is None:
        return
    if bar.missing == 0:
        text = f"{bar.name} counts {bar.arrivals} arrivals a phase, and this is one more"
        w.fault("deadlock", text, node.span)
        return
    bar.missing -= 1
    bar.release(*clocks.snapshot(w.index))
    clocks.tick(w.index)
    if node.bytes is not None:
        bar.bytes_awaited += node.bytes
        _bind(w, bar)
    bar.try_complete(lambda: _wake(w, bar))


def _slot(w: Wave, node: Arrive | AwaitPhase) -> MBarrier | None:
    bars = w.machine.mbars[node.bar]
    slot = w.machine.program.expr(node.slot)(w.env)
    if 0 <= slot < len(bars):
        return bars[slot]
    w.fault("bounds", f"{node.bar}[{slot}] does not exist: there are {len(bars)}", node.span)
    return None


def _bind(w: Wave, bar: MBarrier) -> None:
    loads = [c for c in w.open if c.loads]
    w.open = [c for c in w.open if not c.loads]
    bar.bound += loads
    for operation in loads:
        if operation.landed:
            bar.copy_landed(operation, lambda: _wake(w, bar))
        else:
            operation.on_landing = partial(bar.copy_landed, operation, lambda: _wake(w, bar))


def _wake(w: Wave, bar: MBarrier) -> None:
    for completion, gate in bar.gates:
        gate.open = gate.open or completion < bar.completed
    bar.gates = [(c, g) for c, g in bar.gates if not g.open]
    w.machine.woken = True


def await_phase(w: Wave, node: AwaitPhase) -> Waits:
    """Wait until the barrier has completed `completion` + 1 times; -1 passes at once.

    Hardware sees the parity of a phase only. A waiter that is two completions behind, or one ahead, mistakes one
    phase for another: that is reported as a deadlock.
    """
    bar = _slot(w, node)
    if bar is None:
        return
    wanted = w.machine.program.expr(node.completion)(w.env)
    if wanted < 0:
        return
    if wanted > bar.completed or wanted <= bar.completed - 2:
        text = f"waits for completion {wanted} of {bar.name}, which has completed {bar.completed} times"
        w.fault("deadlock", f"{text}: its parity stands for another phase", node.span)
    bar.note_await(wanted, w, node.span)
    if wanted >= bar.completed:
        gate = Gate(f"await_phase({bar.name}, {wanted})", node.span)
        bar.gates.append((wanted, gate))
        while not gate.open:
            yield gate
    if wanted < len(bar.released):
        w.machine.clocks.acquire(w.index, *bar.released[wanted])
