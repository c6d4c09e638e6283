"""Work in flight: async copies and pending MMAs take effect when the policy says, at the latest when waited for."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass

from argus.dsl.diagnostics import Span
from argus.dsl.interp.policy import Landing

# Mean steps, per wave, that a randomly landing operation stays in flight: about two k-tiles of a GEMM.
_MEAN_FLIGHT = 12


@dataclass(slots=True, eq=False)
class InFlight:
    """One operation: `effect` runs once, at landing.

    Attributes:
        agent, clock: Who performs it, for happens-before.
        size_bytes: What it adds to an mbarrier's byte count.
        to_global: It writes a tensor, so it must be complete before the block ends.
        loads: It is a TMA load, which an mbarrier completes.
        on_landing: Called after the effect: an mbarrier counts the bytes.
    """

    effect: Callable[[], None]
    span: Span
    agent: int
    clock: int
    size_bytes: int = 0
    to_global: bool = False
    loads: bool = False
    landed: bool = False
    on_landing: Callable[[], None] | None = None

    def land(self) -> None:
        if not self.landed:
            self.landed = True
            self.effect()
            if self.on_landing is not None:
                self.on_landing()


class Landings:
    """When operations in flight land, for one block."""

    def __init__(self, policy: Landing, rng: random.Random, waves: int) -> None:
        self._policy: Landing = policy
        self._rng = rng
        self._mean = _MEAN_FLIGHT * waves
        self._due: list[tuple[int, int, InFlight]] = []
        self._issued: list[InFlight] = []

    def issue(self, operation: InFlight, step: int) -> None:
        match self._policy:
            case "earliest":
                operation.land()
            case "latest":
                self._issued.append(operation)
            case "random":
                self._issued.append(operation)
                due = step + int(self._rng.expovariate(1 / self._mean))
                heapq.heappush(self._due, (due, len(self._issued), operation))

    def advance(self, step: int) -> None:
        """Land what is due by now."""
        while self._due and self._due[0][0] <= step:
            heapq.heappop(self._due)[2].land()

    def drain(self) -> None:
        """The block has ended: what nobody waited for lands."""
        for operation in self._issued:
            operation.land()
