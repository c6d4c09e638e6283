"""What a state carries beside facts: memory, barriers, order, work in flight, the registers of each team."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from argus.dsl.ir import Assign, Kernel, MBar
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.types import Types
from argus.dsl.layout.affine import Affine
from argus.dsl.tags.context import Site
from argus.dsl.tags.domain import Fragment, Ints
from argus.dsl.tags.roles.cells import Place, Stage, stages_of
from argus.dsl.tags.roles.order import Order
from argus.dsl.tags.roles.phases import Slot
from argus.dsl.tags.roles.teams import Team, parties
from argus.dsl.tags.roles.turns import Families, Family
from argus.dsl.tags.state import State


@dataclass(frozen=True, slots=True)
class Copying:
    """An asynchronous copy in flight.

    Attributes:
        epoch: Its accesses of shared memory.
        bytes: What it brings to a barrier.
        leaves: It stores to a tensor, so the block may not end before.
    """

    epoch: int
    bytes: int
    site: int
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """MMAs in flight of one team: what they add to, and the epochs of their reads, one a wave."""

    accs: frozenset[str]
    epochs: tuple[int, ...]
    site: int
    closed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """An operand in shared memory, by the statement that made it."""

    site: Site
    place: Place


@dataclass(slots=True, eq=False)
class Sync:
    """Everything of a state that belongs to teams and to what they share.

    Attributes:
        frags: Registers by team.
        env: Unrolled loop variables and group indices by team.
        memory: Stages by buffer, those of a turning family in the order in which they are filled next.
        bars: Slots by barrier, in the same order.
        base: The number of the next fill, by family.
        batches: By team, the open one last.
        loads: Copies into shared memory that no barrier counts yet, by wave.
        open, groups: TMA stores of the open group and of closed ones, by wave.
        meeting: Teams that have arrived at a barrier of several teams, by the barrier.
        described: Operands in shared memory, by team and name; forgotten when stages move.
    """

    order: Order
    frags: dict[int, dict[str, Fragment]]
    env: dict[int, dict[str, Affine]]
    memory: dict[str, list[Stage]]
    bars: dict[str, list[Slot]]
    base: dict[str, Affine]
    batches: dict[int, tuple[Batch, ...]]
    loads: dict[int, tuple[Copying, ...]]
    open: dict[int, tuple[Copying, ...]]
    groups: dict[int, tuple[tuple[Copying, ...], ...]]
    meeting: dict[tuple[object, ...], frozenset[int]]
    described: dict[tuple[int, str], Described] = field(default_factory=dict[tuple[int, str], Described])

    @classmethod
    def fresh(cls, kernel: Kernel, types: Types, families: Families, teams: tuple[Team, ...]) -> Sync:
        bars = dict[str, list[Slot]]()
        bit, concerned = kernel.waves, parties(kernel, teams)
        for node in walk_body(kernel.body):
            if isinstance(node, Assign) and isinstance(node.value, MBar):
                bar = node.value
                bars[node.targets[0]] = [
                    Slot(
                        bar.arrivals,
                        i - bar.count,
                        bar.arrivals,
                        1 << (bit + 2 * i),
                        2 << (bit + 2 * i),
                        concerned.get(node.targets[0], 0),
                    )
                    for i in range(bar.count)
                ]
                bit += 2 * bar.count
        return cls(
            Order.fresh(kernel.waves), {t.number: {} for t in teams}, {t.number: {} for t in teams},
            {name: stages_of(shared) for name, shared in types.buffers.items()}, bars, families.start(),
            {}, {}, {}, {}, {},
        )  # fmt: skip

    def copy(self) -> Sync:
        return Sync(
            self.order.copy(), {t: dict(f) for t, f in self.frags.items()}, {t: dict(e) for t, e in self.env.items()},
            {n: list(s) for n, s in self.memory.items()}, {n: list(s) for n, s in self.bars.items()}, dict(self.base),
            dict(self.batches), dict(self.loads), dict(self.open), dict(self.groups), dict(self.meeting),
            dict(self.described),
        )  # fmt: skip

    def substituted(self, codes: Callable[[Ints], Ints], form: Callable[[Affine], Affine]) -> Sync:
        """The same with symbols replaced in what memory holds and in how far rings have turned."""
        out = self.copy()
        for stages in out.memory.values():
            for i, stage in enumerate(stages):
                fresh = codes(stage.codes)
                stages[i] = replace(stage, codes=fresh)
        out.base = {name: form(base) for name, base in out.base.items()}
        return out

    # ------------------------------------------------------------------------------------------ turns

    def turn(self, families: Mapping[str, Family], by: Mapping[str, int]) -> None:
        """Put the stage that is filled next first, after `by` stages of each family have been used."""
        self.described = {}
        moves = list[tuple[int, int, int]]()
        for name, steps in by.items():
            family = families[name]
            shift = steps % family.stages
            for member in family.members:
                if member in self.bars:
                    slots = self.bars[member]
                    first = min(s.current for s in slots).bit_length() - 1
                    moves.append((first, 2 * family.stages, 2 * shift))
                    self.bars[member] = [_renumbered(s, steps) for s in slots[shift:] + slots[:shift]]
                elif shift:
                    self.memory[member] = self.memory[member][shift:] + self.memory[member][:shift]
        self._move_bits(moves)

    def _move_bits(self, moves: list[tuple[int, int, int]]) -> None:
        """Phases are named by the place of their slot, so knowers move along."""
        moves = [m for m in moves if m[2]]
        if not moves:
            return
        known = dict[int, int]()

        def moved(bits: int) -> int:
            if bits not in known:
                out = bits
                for first, width, shift in moves:
                    ones = (1 << width) - 1
                    field = bits >> first & ones
                    field = (field >> shift | field << (width - shift)) & ones
                    out = out & ~(ones << first) | field << first
                known[bits] = out
            return known[bits]

        self.order.known = [moved(k) for k in self.order.known]
        self.order.fenced = [moved(f) for f in self.order.fenced]
        for name, slots in self.bars.items():
            self.bars[name] = [replace(s, current=moved(s.current), done=moved(s.done)) for s in slots]


def _renumbered(slot: Slot, steps: int) -> Slot:
    return replace(
        slot, latest=slot.latest - steps,
        awaited=tuple(replace(a, number=a.number - steps) for a in slot.awaited),
    )  # fmt: skip


def sync_of(state: State) -> Sync:
    """What the analysis of roles has put into a state."""
    assert isinstance(state.sync, Sync)
    return state.sync
