"""Run one block: pick a wave, let it execute a statement, until all have ended or none can go on."""

from __future__ import annotations

from argus.dsl.interp.execute import Steps, run_statements
from argus.dsl.interp.fault import Fault
from argus.dsl.interp.machine import Machine, Wave

# Steps for which random priorities stay.
_REIGN = 400


def run_block(machine: Machine, max_steps: int) -> None:
    """Execute the block to its end. Deadlock and excess of steps are reported as faults."""
    body = machine.program.kernel.body
    steps = {wave.index: run_statements(wave, body) for wave in machine.waves}
    ready = list(machine.waves)
    last = -1
    while ready or _hurry(machine):
        if not ready:
            ready = _ready(machine)
            continue
        wave = _pick(machine, ready, last)
        last = wave.index
        machine.landings.advance(machine.step)
        machine.step += 1
        changed = _advance(machine, wave, steps[wave.index])
        if machine.step > max_steps:
            _report_stuck(machine, wave, f"did not end within {max_steps:,} statements")
            return
        if changed or machine.woken:
            machine.woken = False
            ready = _ready(machine)
    waiting = [w for w in machine.waves if not w.done]
    if waiting:
        _report_deadlock(machine, waiting)
        return
    _finish(machine)


def _hurry(machine: Machine) -> bool:
    """All waves wait: copies that an mbarrier counts are as late as they can be."""
    return any(bar.hurry() for bars in machine.mbars.values() for bar in bars)


def _ready(machine: Machine) -> list[Wave]:
    for wave in machine.waves:
        if wave.waiting is not None and wave.waiting.open:
            wave.waiting = None
    return [w for w in machine.waves if not w.done and w.waiting is None]


def _pick(machine: Machine, ready: list[Wave], last: int) -> Wave:
    match machine.policy.interleaving:
        case "first":
            return ready[0]
        case "last":
            return ready[-1]
        case "random":
            return _random(machine, ready)
        case "round-robin":
            return next((w for w in ready if w.index > last), ready[0])


def _random(machine: Machine, ready: list[Wave]) -> Wave:
    """Even seeds: any wave, each step anew. Odd seeds: by random priorities, which starves the lowest for long."""
    if machine.policy.seed % 2 == 0:
        return machine.rng.choice(ready)
    if machine.step % _REIGN == 0:
        machine.rng.shuffle(machine.priorities)
    return max(ready, key=lambda w: machine.priorities[w.index])


def _advance(machine: Machine, wave: Wave, steps: Steps) -> bool:
    """One statement; whether the wave stopped being ready."""
    try:
        gate = next(steps)
    except StopIteration:
        wave.done = True
        machine.barriers.wave_ended()
        return True
    if gate is None or gate.open:
        return False
    wave.waiting = gate
    return True


def _report_deadlock(machine: Machine, waiting: list[Wave]) -> None:
    first = waiting[0]
    assert first.waiting is not None
    others = [w for w in waiting if w.waiting is not None and w.waiting.span != first.waiting.span]
    lines = [f"wave {w.index} at {w.waiting.what}" for w in waiting if w.waiting is not None]
    ended = [str(w.index) for w in machine.waves if w.done]
    text = f"every wave left waits: {', '.join(lines)}" + (f"; ended: {', '.join(ended)}" if ended else "")
    other = others[0] if others else None
    machine.log.add(
        Fault(
            "deadlock", text, first.waiting.span, first.index, loops=dict(first.loops),
            other_span=other.waiting.span if other and other.waiting else None,
            other_wave=other.index if other else None, other_loops=dict(other.loops) if other else None,
        )
    )  # fmt: skip


def _report_stuck(machine: Machine, wave: Wave, text: str) -> None:
    wave.fault("deadlock", f"the block {text}", wave.span)


def _finish(machine: Machine) -> None:
    """Copies into shared memory may still be in flight, writes of tensors may not: the block's memory is gone."""
    for wave in machine.waves:
        for operation in (*wave.open, *(c for group in wave.groups for c in group)):
            if operation.to_global:
                wave.fault("pending", "the block ends while this store of a tensor is in flight", operation.span)
    machine.landings.drain()
