"""Happens-before by vector clocks.

Agents are the waves, each wave's copy engine and MMA engine (whose work retires in issue order), and each batch of
copies that an mbarrier completes. An *event* is what one statement of one wave does to memory. `known[w, a]` is the
clock up to which wave w has synchronised with agent a: an event (a, c) happened before w's next statement exactly
when c <= known[w, a].

A wave's own ordinary accesses are ordered for its ordinary accesses at once, but for the async copies it issues only
after a barrier (or an mbarrier phase) that it took part in: program order does not order the copy engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.interp.arrays import Bools, Ids, Ints
from argus.dsl.interp.fault import Action


@dataclass(frozen=True, slots=True)
class Event:
    """What a race report says about one side. `cells` lists the addresses, slot by slot, `slots` a lane."""

    wave: int
    agent: int
    clock: int
    span: Span
    action: Action
    loops: Mapping[str, int]
    cells: Ints
    lane_of: Ints


class Clocks:
    """The vector clocks of one block's waves, and the events so far. Event 0 is before everything."""

    def __init__(self, waves: int) -> None:
        self.waves = waves
        self.known: Ids = np.zeros((waves, 3 * waves), np.int32)
        self.known[np.arange(waves), np.arange(waves)] = 1
        self._agents = 3 * waves
        # Ordinary writes up to these clocks are visible to TMA and wgmma operations of the wave (sm_90a).
        self.fenced: Ids = np.zeros_like(self.known)
        self.settled: list[int] = [0] * waves
        self.agent: Ids = np.zeros(256, np.int32)
        self.clock: Ids = np.zeros(256, np.int32)
        self.atomic: Bools = np.zeros(256, np.bool_)
        self.proxy: Bools = np.zeros(256, np.bool_)  # made by the async proxy: TMA
        self.events: list[Event | None] = [None]

    def copy_engine(self, wave: int) -> int:
        return self.waves + wave

    def mma_engine(self, wave: int) -> int:
        return 2 * self.waves + wave

    def new_agent(self) -> int:
        """An agent of its own for a batch of copies that completes out of order."""
        if self._agents == self.known.shape[1]:
            pad = ((0, 0), (0, self._agents))
            self.known, self.fenced = np.pad(self.known, pad), np.pad(self.fenced, pad)
        self._agents += 1
        return self._agents - 1

    def now(self, wave: int) -> int:
        return int(self.known[wave, wave])

    def at_issue(self, wave: int) -> Ids:
        """What is ordered before an async operation that the wave issues now."""
        seen = self.known[wave].copy()
        seen[wave] = self.settled[wave]
        return seen

    def record(self, event: Event, *, atomic: bool = False, proxy: bool = False) -> int:
        number = len(self.events)
        if number == len(self.agent):
            self.agent, self.clock = np.resize(self.agent, 2 * number), np.resize(self.clock, 2 * number)
            self.atomic, self.proxy = np.resize(self.atomic, 2 * number), np.resize(self.proxy, 2 * number)
        self.agent[number], self.clock[number] = event.agent, event.clock
        self.atomic[number], self.proxy[number] = atomic, proxy
        self.events.append(event)
        return number

    def event(self, number: int) -> Event:
        found = self.events[number]
        assert found is not None
        return found

    def unordered(self, events: Ids, seen: Ids) -> Bools:
        """Which of these events did not happen before a moment that has seen `seen`."""
        return self.clock[events] > seen[self.agent[events]]

    def tick(self, wave: int) -> None:
        """Later accesses of the wave are distinct from those it has released."""
        self.known[wave, wave] += 1

    def snapshot(self, wave: int) -> tuple[Ids, Ids]:
        return self.known[wave].copy(), self.fenced[wave].copy()

    def acquire(self, wave: int, known: Ids, fenced: Ids) -> None:
        """The wave synchronises with what `known` says was released."""
        size = len(known)  # agents may have been added since
        self.settled[wave] = max(self.settled[wave], int(known[wave]))
        self.known[wave, :size] = np.maximum(self.known[wave, :size], known)
        self.fenced[wave, :size] = np.maximum(self.fenced[wave, :size], fenced)

    def meet(self, waves: list[int]) -> None:
        """These waves pass a barrier together."""
        known, fenced = self.known[waves].max(axis=0), self.fenced[waves].max(axis=0)
        for w in waves:
            self.settled[w] = self.now(w)
        self.known[waves], self.fenced[waves] = known, fenced
        for w in waves:
            self.tick(w)

    def fence(self, wave: int) -> None:
        self.fenced[wave] = np.maximum(self.fenced[wave], self.known[wave])
        self.tick(wave)

    def retire(self, wave: int, agent: int, clock: int) -> None:
        """The wave knows that the agent's work up to `clock` is complete."""
        self.known[wave, agent] = max(int(self.known[wave, agent]), clock)
