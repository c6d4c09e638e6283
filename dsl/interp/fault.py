"""What an execution did wrong, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from argus.dsl.diagnostics import Span

FaultKind = Literal[
    "poison", "race", "bounds", "deadlock", "divergence", "write-set", "pending", "address", "proxy",
]  # fmt: skip
Action = Literal["reads", "writes", "copies into", "copies from", "adds to", "multiplies"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One way in which an execution went wrong; the first of its kind at its place.

    Attributes:
        kind: `poison`: an uninitialised value reached an output. `race`: two accesses of a cell, at least one a
            write, that no barrier, wait or program order separates. `bounds`: outside a view that does not pad.
            `deadlock`: every wave left waits. `divergence`: waves disagree about a barrier. `write-set`: an output
            element is written twice or never. `pending`: use of a cell or register while an async operation on it is
            in flight. `address`: an uninitialised value used as an index. `proxy`: ordinary writes read by TMA or
            wgmma without a fence.
        wave, lane: Who; the thread is `wave * lanes + lane`.
        loops: Loop variables at that moment, outermost first.
        block: Block indices, in the order of the kernel's grid.
        buffer, element: The cell: a shared buffer or tensor, and its logical index there.
        count: How many elements of this one access are concerned.
        other_span, other_wave, other_lane, other_loops, other_action: The conflicting access, if there is one.
    """

    kind: FaultKind
    message: str
    span: Span
    wave: int | None = None
    lane: int | None = None
    loops: Mapping[str, int] = field(default_factory=dict[str, int])
    block: tuple[int, ...] = ()
    buffer: str | None = None
    element: tuple[int, ...] | None = None
    count: int = 1
    other_span: Span | None = None
    other_wave: int | None = None
    other_lane: int | None = None
    other_loops: Mapping[str, int] | None = None
    other_action: Action | None = None

    def __str__(self) -> str:
        who = "" if self.wave is None else f" wave {self.wave}"
        who += "" if self.lane is None else f" lane {self.lane}"
        loops = "".join(f" {name}={value}" for name, value in self.loops.items())
        cell = "" if self.buffer is None else f" at {self.buffer}{list(self.element or ())}"
        return f"{self.span}: {self.kind}: {self.message}{cell} (block {self.block}{who}{loops})"


class Stop(Exception):
    """Nothing after this is worth executing."""


class FaultLog:
    """Faults in order, one for each kind and pair of places; knows the block being executed."""

    def __init__(self, *, first_only: bool) -> None:
        self.faults: list[Fault] = []
        self.block: tuple[int, ...] = ()
        self._first_only = first_only
        self._seen: set[tuple[object, ...]] = set()

    def add(self, fault: Fault) -> None:
        key = (fault.kind, fault.message, fault.span, fault.other_span, fault.buffer)
        if key not in self._seen:
            self._seen.add(key)
            self.faults.append(replace(fault, block=self.block))
        if self._first_only:
            raise Stop
