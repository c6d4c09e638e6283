"""The state of one block: waves, memories, clocks, and what is in flight."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.interp.arrays import Ints
from argus.dsl.interp.barriers import Barriers, MBarrier
from argus.dsl.interp.clocks import Clocks, Event
from argus.dsl.interp.fault import Fault, FaultKind, FaultLog
from argus.dsl.interp.gate import Assembly, Gate
from argus.dsl.interp.landing import InFlight, Landings
from argus.dsl.interp.memory import Cells, shared_cells
from argus.dsl.interp.placement import Seat
from argus.dsl.interp.policy import Policy
from argus.dsl.interp.program import Program
from argus.dsl.interp.values import Accumulation, Frag, Register


class Environment(dict[str, int]):
    """Integers by name. A uniform integer in a register serves as one too, once it is asked for."""

    def __init__(self, values: Mapping[str, int], wave: Wave) -> None:
        super().__init__(values)
        self._wave = wave

    def __missing__(self, name: str) -> int:
        return self._wave.uniform_integer(name)


class Wave:
    """One wave: its registers, its place in the block, its async groups and its matrix operations.

    Attributes:
        first, team: The waves that execute the present statement together: `team` of them from `first`.
        role: Name of the role being executed, '' outside.
        lanes: Active lanes: all, or 1 where a lane was elected.
        open, groups: Copies of the open group; committed groups, oldest first.
        batches: MMAs in flight and what they add to, by batch, the open one last (sm_90a).
        barriers: How many block-wide barriers it has arrived at; `shifts`: extra arrivals by `shift`.
    """

    def __init__(self, machine: Machine, index: int) -> None:
        self.machine = machine
        self.index = index
        self.env = Environment({}, self)
        self.frags: dict[str, Register] = {}
        self.loops: dict[str, int] = {}
        self.first, self.team = 0, machine.program.kernel.waves
        self.role = ""
        self.lanes = machine.program.lanes
        self.open: list[InFlight] = []
        self.groups: list[list[InFlight]] = []
        self.commits = 0
        self.batches: list[list[tuple[InFlight, Accumulation]]] = [[]]
        self.batch_number = 1
        self.barriers = 0
        self.shifts = 0
        self.done = False
        self.waiting: Gate | None = None
        self.span: Span = machine.program.kernel.span

    @property
    def seat(self) -> Seat:
        return Seat(self.index - self.first, self.team, self.lanes)

    def uniform_integer(self, name: str) -> int:
        value = self.frags.get(name)
        if not isinstance(value, Frag):
            raise KeyError(name)
        if value.poison is not None and value.poison.any():
            self.fault("address", f"{name} is used as an index and was never initialised", self.span)
            return 0
        return int(value.data.flat[0])

    def fault(
        self,
        kind: FaultKind,
        message: str,
        span: Span,
        *,
        lane: int | None = None,
        loops: Mapping[str, int] | None = None,
        cells: Cells | None = None,
        address: int | None = None,
        element: tuple[int, ...] | None = None,
        count: int = 1,
        other: Event | None = None,
    ) -> None:
        """Report what this wave did; `address` is a cell's, `other` the conflicting event."""
        other_lane = None
        if other is not None and address is not None:
            other_lane = _lane_of(other, address)
        self.machine.log.add(
            Fault(
                kind=kind,
                message=message,
                span=span,
                wave=self.index,
                lane=lane,
                loops=dict(self.loops if loops is None else loops),
                buffer=None if cells is None else cells.name,
                element=element if cells is None or address is None else cells.element(address),
                count=count,
                other_span=None if other is None else other.span,
                other_wave=None if other is None else other.wave,
                other_lane=other_lane,
                other_loops=None if other is None else other.loops,
                other_action=None if other is None else other.action,
            )
        )


def _lane_of(event: Event, address: int) -> int | None:
    at: Ints = np.flatnonzero(event.cells == address)
    return int(event.lane_of[at[0]]) if len(at) else None


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a kernel was called with; the tensors outlive its blocks."""

    tensors: dict[str, Cells]
    scalars: dict[str, float]


class Machine:
    """One block while it runs; shared memory starts as poison."""

    def __init__(
        self,
        program: Program,
        arguments: Arguments,
        block: Mapping[int, tuple[int, ...]],
        policy: Policy,
        log: FaultLog,
    ) -> None:
        self.program, self.policy, self.log = program, policy, log
        self.tensors, self.scalars = arguments.tensors, arguments.scalars
        self.block = block  # each grid node's own indices, by identity of the node
        kernel = program.kernel
        self.rng = random.Random(policy.seed)
        self.clocks = Clocks(kernel.waves)
        self.landings = Landings(policy.landing, random.Random(policy.seed + 1), kernel.waves)
        self.shared = {name: shared_cells(name, buffer) for name, buffer in program.buffers.items()}
        for cells in self.shared.values():
            cells.coords = {axis: np.full(cells.size, np.nan) for axis in program.asked}
        for cells in self.tensors.values():
            cells.begin_block()
        self.mbars = {
            name: [MBarrier(f"{name}[{i}]", bar.arrivals) for i in range(bar.count)]
            for name, bar in program.mbars.items()
        }
        self.waves = [Wave(self, w) for w in range(kernel.waves)]
        self.barriers = Barriers(self)
        self.priorities = list(range(kernel.waves))
        self.assemblies: dict[tuple[object, ...], Assembly] = {}
        self.step = 0
        self.woken = False
        integers = {name: int(value) for name, value in self.scalars.items() if program.scalars[name].dtype == "i32"}
        for wave in self.waves:
            wave.env.update(program.sizes)
            wave.env.update(integers)

    def cells(self, name: str) -> Cells:
        return self.shared[name] if name in self.shared else self.tensors[name]
