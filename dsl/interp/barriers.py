"""Barriers of waves, and mbarriers.

Hardware counts arrivals and nothing else: a barrier completes when every wave that has not ended is at *some* barrier.
Waves of one role that meet at different statements have diverged, unless a `shift` made them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.interp.arrays import Ids
from argus.dsl.interp.gate import Gate
from argus.dsl.interp.landing import InFlight
from argus.dsl.ir.nodes import Barrier, Shift

if TYPE_CHECKING:
    from argus.dsl.interp.machine import Machine, Wave


@dataclass(slots=True, eq=False)
class _Meeting:
    """Waves on their way through one barrier; `expected` None: all that have not ended."""

    gate: Gate
    expected: int | None
    arrived: dict[int, tuple[Barrier | Shift, Mapping[str, int]]] = field(
        default_factory=dict[int, tuple[Barrier | Shift, Mapping[str, int]]]
    )


class Barriers:
    """The meetings of one block. Named barriers are told apart by role, count and place in the role."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._meetings: dict[tuple[object, ...], _Meeting] = {}

    def arrive(self, wave: Wave, node: Barrier | Shift) -> Gate:
        """Count an arrival; the gate opens when the barrier completes."""
        count = node.waves if isinstance(node, Barrier) else None
        key, expected = self._which(wave, count)
        if isinstance(node, Shift):
            wave.shifts += 1
        elif expected is None:
            wave.barriers += 1
        meeting = self._meetings.get(key)
        if meeting is None:
            words = "barrier()" if expected is None else f"barrier(waves={expected})"
            meeting = self._meetings[key] = _Meeting(Gate(words, node.span), expected)
        meeting.arrived[wave.index] = (node, dict(wave.loops))
        self._settle(key)
        return meeting.gate

    def wave_ended(self) -> None:
        """An ended wave no longer counts: the others may be complete now."""
        for key in list(self._meetings):
            if self._meetings[key].expected is None:
                self._settle(key)

    def _which(self, wave: Wave, count: int | None) -> tuple[tuple[object, ...], int | None]:
        machine = self._machine
        if count is None:
            return ("all",), None
        first, size = machine.program.roles.get(wave.role, (0, machine.program.kernel.waves))
        if count < size and size % count == 0:
            return (wave.role, count, (wave.index - first) // count), count
        return ((wave.role, count) if count <= size else ("across", count)), count

    def _settle(self, key: tuple[object, ...]) -> None:
        meeting = self._meetings[key]
        live = [w.index for w in self._machine.waves if not w.done]
        if meeting.expected is None:
            complete = all(w in meeting.arrived for w in live)
        else:
            complete = len(meeting.arrived) == meeting.expected
        if not complete:
            return
        del self._meetings[key]
        self._inspect(meeting)
        self._machine.clocks.meet(list(meeting.arrived))
        meeting.gate.open = self._machine.woken = True

    def _inspect(self, meeting: _Meeting) -> None:
        waves = self._machine.waves
        if any(w.shifts for w in waves):
            self._inspect_ended(meeting)
            return
        seen: dict[str, tuple[int, Barrier | Shift]] = {}
        for index, (node, _) in meeting.arrived.items():
            role = waves[index].role
            other, first = seen.setdefault(role, (index, node))
            if first is not node:
                text = f"waves {other} and {index} meet at different barriers"
                waves[index].fault("divergence", f"{text} (the other at {first.span})", node.span)
        self._inspect_ended(meeting)

    def _inspect_ended(self, meeting: _Meeting) -> None:
        """Waves that ended must have passed as many barriers, those of `shift` aside."""
        if meeting.expected is not None:
            return
        waves = self._machine.waves
        for ended in (w for w in waves if w.done):
            for index, (node, _) in meeting.arrived.items():
                if waves[index].barriers > ended.barriers:
                    text = f"wave {index} waits at its barrier number {waves[index].barriers}"
                    waves[index].fault(
                        "divergence", f"{text}, but wave {ended.index} ended after {ended.barriers}", node.span
                    )
                    return


@dataclass(frozen=True, slots=True)
class _Await:
    wave: Wave
    clock: int
    span: Span
    loops: Mapping[str, int]


class MBarrier:
    """A barrier in shared memory: a phase completes after all its arrivals and all their announced bytes.

    `arrive(bytes=)` announces bytes and binds the TMA loads of the wave's open group to this barrier.
    """

    def __init__(self, name: str, arrivals: int) -> None:
        self.name, self.arrivals = name, arrivals
        self.missing = arrivals
        self.bytes_awaited = 0
        self.completed = 0
        self.bound: list[InFlight] = []
        self.gates: list[tuple[int, Gate]] = []
        self._known: Ids = np.zeros(0, np.int32)
        self._fenced: Ids = np.zeros(0, np.int32)
        self.released: list[tuple[Ids, Ids]] = []
        self._awaits: dict[int, list[_Await]] = {}

    def note_await(self, wanted: int, wave: Wave, span: Span) -> None:
        """A wave asks for a completion: the one after it must not come before the wave has seen it."""
        asked = _Await(wave, wave.machine.clocks.now(wave.index), span, dict(wave.loops))
        self._awaits.setdefault(wanted, []).append(asked)

    def release(self, known: Ids, fenced: Ids) -> None:
        """What an arriving wave has done becomes visible to those who await this phase."""
        self._known, self._fenced = _join(self._known, known), _join(self._fenced, fenced)

    def copy_landed(self, operation: InFlight, on_complete: Callable[[], None]) -> None:
        self.bytes_awaited -= operation.size_bytes
        known = np.zeros(operation.agent + 1, np.int32)
        known[operation.agent] = operation.clock
        self._known = _join(self._known, known)
        self.try_complete(on_complete)

    def hurry(self) -> bool:
        """Somebody waits and nothing else can happen: the oldest copy in flight lands. False: there is none."""
        self.bound = [c for c in self.bound if not c.landed]
        if not self.gates or not self.bound:
            return False
        self.bound.pop(0).land()
        return True

    def try_complete(self, on_complete: Callable[[], None]) -> None:
        if self.missing == 0 and self.bytes_awaited == 0:
            for asked in self._awaits.pop(self.completed - 1, []):
                if self._known[asked.wave.index] < asked.clock:
                    text = f"nothing keeps {self.name} from completing twice while this waits: it would miss the parity"
                    asked.wave.fault("deadlock", text, asked.span, loops=asked.loops)
            self.completed += 1
            self.missing = self.arrivals
            self.released.append((self._known.copy(), self._fenced.copy()))
            on_complete()


def _join(a: Ids, b: Ids) -> Ids:
    size = max(len(a), len(b))
    return np.maximum(np.pad(a, (0, size - len(a))), np.pad(b, (0, size - len(b))))
