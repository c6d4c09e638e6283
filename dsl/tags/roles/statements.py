"""Registers and memory: operands, MMAs in flight, loads and stores of one team."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.ir import AsOperand, AtomicAdd, MmaInto, Operand, Ref, Store, View
from argus.dsl.ir.types import FragType
from argus.dsl.layout import Accumulator, OperandMap
from argus.dsl.layout.affine import FALSE
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Fragment, Ints, Same, Tile, Top, Value
from argus.dsl.tags.epilogue import store_output
from argus.dsl.tags.marks import unrelated
from argus.dsl.tags.mma import k_depth, mma_into
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.roles.cells import Access, Place
from argus.dsl.tags.roles.locate import Locator
from argus.dsl.tags.roles.maps import operand_columns
from argus.dsl.tags.roles.memory_rules import MemoryRules, Touch
from argus.dsl.tags.roles.order import ENGINE
from argus.dsl.tags.roles.sync import Batch, Described, sync_of
from argus.dsl.tags.roles.teams import Actor, Team
from argus.dsl.tags.state import State
from argus.dsl.tags.values import as_tile
from argus.dsl.tags.views import Outside, root
from argus.dsl.targets.atoms import ATOMS


@dataclass(slots=True, eq=False)
class Statements:
    """Transfer rules; each changes the state and records what must hold.

    Attributes:
        in_shared: Names of operands that lie in shared memory.
    """

    cx: Context
    memory: MemoryRules
    locator: Locator
    in_shared: frozenset[str]

    def operand(self, state: State, actor: Actor, site: Site, name: str, value: Operand) -> Fragment:
        """An operand in shared memory: for wgmma nothing moves until the MMA reads it, else it moves to registers."""
        cx, made = self.cx, self.cx.types.frags[name]
        if not isinstance(made.map, OperandMap):
            raise Outside("an operand without a register map")
        place = self.locator.shared(state, site, value.src)
        depends = Top(made, f"depends on {cx.registry.get('bounds', site.number).place}")
        if place is None:
            return depends
        step = state.reduce(cx.evaluate(value.ks))
        if not step.is_const:
            raise Outside("a symbolic k-step")
        width = k_depth(made.map.acc, value.pack)
        columns = slice(step.const * width, (step.const + 1) * width)
        depth = place.cells.shape[1]
        if columns.start < 0 or columns.stop > depth:
            text = f"k {columns.start} to {columns.stop - 1} of a view that is {depth} deep"
            self.locator.outside(state, site, FALSE, text)
            return depends
        part = self.locator.columns(place, columns)
        if not ATOMS[made.map.acc.atom].warpgroup:
            return self._load(state, actor, site, part, made)
        sync_of(state).described[actor.team.number, name] = Described(site, part)
        return self._tile(state, part, made)

    def _tile(self, state: State, place: Place, made: FragType) -> Fragment:
        sync = sync_of(state)
        codes = sync.memory[place.buffer][place.stage].codes[place.cells]
        if (codes < 0).any():
            return Top(made, f"{place.buffer} holds nothing yet")
        return Tile(codes, made)

    def multiply(self, state: State, actor: Actor, site: Site, stmt: MmaInto) -> None:
        """`acc += mma(a, b)`: wgmma reads shared memory at some time until the batch is complete."""
        sync = sync_of(state)
        team = actor.team
        acc = self.cx.types.frags[stmt.acc].map
        if not (isinstance(acc, Accumulator) and ATOMS[acc.atom].warpgroup):
            mma_into(self.cx, state, site, stmt)
            return
        batches = sync.batches.get(team.number, ())
        if not batches or batches[-1].closed:
            epochs = tuple(sync.order.begin(ENGINE) for _ in team.members)
            batches = (*batches, Batch(frozenset(), epochs, site.number))
        batch = replace(batches[-1], accs=batches[-1].accs | {stmt.acc})
        sync.batches[team.number] = (*batches[:-1], batch)
        for operand in (stmt.a, stmt.b):
            assert isinstance(operand, Ref)
            described = sync.described.get((team.number, operand.name))
            if described is None:
                self._demand_registers(operand.name, state.frags.get(operand.name))
                continue
            place = described.place
            touch = Touch(described.site, place, team.mask, "multiplies")
            reason = self.memory.read(state, touch, proxy=True)
            made = self.cx.types.frags[operand.name]
            state.frags[operand.name] = Top(made, reason) if reason else self._tile(state, place, made)
            stage = sync.memory[place.buffer][place.stage]
            access = Access(place.region, batch.epochs, False, site.number, team.number)
            sync.memory[place.buffer][place.stage] = stage.read((access,))
        mma_into(self.cx, state, site, stmt)

    def _demand_registers(self, name: str, frag: Fragment | None) -> None:
        if name in self.in_shared:
            raise Outside(f"the operand {name} of an earlier iteration")
        if isinstance(frag, Tile) and not (isinstance(frag.type.map, OperandMap) and frag.type.map.side == "a"):
            raise Outside("an operand of wgmma in registers other than A's")

    def mma_wait(self, state: State, actor: Actor, pending: int) -> None:
        """Close the open batch and retire all but the newest; each wave knows of its own MMAs."""
        sync = sync_of(state)
        team = actor.team
        batches = tuple(replace(b, closed=True) for b in sync.batches.get(team.number, ()))
        kept = max(0, len(batches) - pending)
        for batch in batches[:kept]:
            for wave, epoch in zip(team.members, batch.epochs, strict=True):
                sync.order.learn(epoch, 1 << wave)
        sync.batches[team.number] = batches[kept:]
        if not sync.batches[team.number]:
            del sync.batches[team.number]

    def registers_read(self, state: State, team: Team, site: Site, name: str) -> None:
        """An accumulator's registers are read by something else than an MMA."""
        sync = sync_of(state)
        cx = self.cx
        obligation = cx.registry.find("register", site.number, name)
        if obligation is None:
            return
        obligation.raise_tier("structure")
        for batch in sync.batches.get(team.number, ()):
            if name in batch.accs:
                span = cx.span_of(batch.site)
                finding = Finding(
                    f"{name} is read while MMAs that add to it are in flight", site.span, cx.loops(),
                    thread=team.first * 32, producer=span, fix_class="missing wait",
                    fix=f"mma_wait(0) before line {site.span.line}",
                )  # fmt: skip
                cx.violated(obligation, state, "structure", lambda finding=finding: finding)

    def load(self, state: State, actor: Actor, site: Site, view: View, made: FragType) -> Fragment:
        """An ordinary load from shared memory."""
        place = self.locator.shared(state, site, view)
        if place is None:
            return Top(made, f"depends on {self.cx.registry.get('bounds', site.number).place}")
        return self._load(state, actor, site, place, made)

    def _load(self, state: State, actor: Actor, site: Site, place: Place, made: FragType) -> Fragment:
        """Each wave reads what it holds of a fragment."""
        sync = sync_of(state)
        order, stages = sync.order, sync.memory[place.buffer]
        reasons = list[str]()
        accesses = list[Access]()
        for wave, region in self.memory.of_fragment(place, made, actor.team):
            number = actor.team.first + wave
            part = self.locator.rows_of(place, region)
            reasons.append(self.memory.read(state, Touch(site, part, 1 << number, "reads")))
            accesses.append(Access(region, (order.epoch(number),), True, site.number, actor.team.number))
        codes = stages[place.stage].codes[place.cells]
        stages[place.stage] = stages[place.stage].read(tuple(accesses))
        reason = next((r for r in reasons if r), "")
        return Top(made, reason) if reason else Tile(codes.reshape(made.shape), made)

    def store(self, state: State, actor: Actor, site: Site, stmt: Store, frag: Fragment) -> None:
        """An ordinary store, to shared memory or to a tensor."""
        sync = sync_of(state)
        if root(stmt.view) in self.cx.types.params:
            store_output(self.cx, state, site, self.locator.tensor(state, site, stmt.view), frag)
            return
        place = self.locator.shared(state, site, stmt.view)
        if place is None:
            return
        if isinstance(frag, Same) or frag.type is None or frag.type.shape != place.cells.shape:
            raise Outside("a store of uniform or unknown registers to shared memory")
        accesses = list[Access]()
        for wave, region in self.memory.of_fragment(place, frag.type, actor.team):
            number = actor.team.first + wave
            touch = Touch(site, replace(place, region=region), 1 << number, "writes")
            self.memory.overwrite(state, touch)
            accesses.append(Access(region, (sync.order.epoch(number),), True, site.number, actor.team.number))
        stages = sync.memory[place.buffer]
        codes = self._codes(frag).ravel()
        stages[place.stage] = stages[place.stage].written(place.flat, codes, tuple(accesses))

    def add(self, state: State, site: Site, stmt: AtomicAdd, frag: Fragment) -> None:
        """`atomic_add` to a tensor."""
        if root(stmt.view) not in self.cx.types.params:
            raise Outside("atomic_add(...) to shared memory")
        store_output(self.cx, state, site, self.locator.tensor(state, site, stmt.view), frag, adds=True)

    def _codes(self, frag: Fragment) -> Ints:
        tile = as_tile(self.cx, frag)
        if isinstance(tile, Tile):
            return unrelated(self.cx, tile.codes)
        assert tile.type is not None
        return self.cx.store.codes(Value(frozenset(), (), top=tile.reason), tile.type.shape)

    def as_operand(self, state: State, value: AsOperand, src: Fragment, made: FragType) -> Fragment:
        """The registers of one k-step, read as operand A."""
        tile = as_tile(self.cx, src)
        step = state.reduce(self.cx.evaluate(value.ks))
        if isinstance(tile, Top):
            return Top(made, tile.reason)
        assert isinstance(made.map, OperandMap)
        if value.side != "a" or not step.is_const:
            raise Outside("as_operand(...) of another side than A, or of a symbolic step")
        depth = ATOMS[made.map.acc.atom].k
        columns = operand_columns(tile.type, step.const, depth)
        if columns is None:
            raise Outside("as_operand(...) of registers that hold other elements")
        return Tile(np.ascontiguousarray(tile.codes[:, columns]), made)
