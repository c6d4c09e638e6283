"""What statements of one team do: copies by TMA, MMAs in flight, barriers, loads and stores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.diagnostics import FixClass
from argus.dsl.ir import (
    Arrive,
    AsOperand,
    AtomicAdd,
    AwaitPhase,
    Commit,
    CopyAsync,
    MmaInto,
    Operand,
    Ref,
    Stmt,
    Store,
    View,
)
from argus.dsl.ir.types import DTYPE_BYTES, FragType
from argus.dsl.layout import Accumulator, OperandMap, Uniform
from argus.dsl.layout.affine import FALSE, Affine, ge
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Fragment, Ints, Same, Tile, Top, Value
from argus.dsl.tags.epilogue import store_output
from argus.dsl.tags.gather import rows_of
from argus.dsl.tags.marks import unrelated
from argus.dsl.tags.mma import k_depth, mma_into
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.roles.cells import Access, Place
from argus.dsl.tags.roles.locate import Locator
from argus.dsl.tags.roles.maps import copied, operand_columns
from argus.dsl.tags.roles.memory_rules import MemoryRules, Touch
from argus.dsl.tags.roles.order import COPIER, ENGINE
from argus.dsl.tags.roles.phases import Awaited
from argus.dsl.tags.roles.sync import Batch, Copying, Described, sync_of
from argus.dsl.tags.roles.teams import Team
from argus.dsl.tags.state import State
from argus.dsl.tags.values import as_tile, global_codes
from argus.dsl.tags.views import GlobalView, Outside, root
from argus.dsl.targets.atoms import ATOMS


@dataclass(frozen=True, slots=True)
class Actor:
    """Who executes: a team, or its first lane where one was elected."""

    team: Team
    elected: bool

    @property
    def waves(self) -> range:
        return range(self.team.first, self.team.first + 1) if self.elected else self.team.members

    @property
    def mask(self) -> int:
        return 1 << self.team.first if self.elected else self.team.mask


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

    # ------------------------------------------------------------------------------------------- TMA

    def copy(self, state: State, actor: Actor, site: Site, stmt: CopyAsync) -> None:
        """`copy_async`: by TMA, every executing wave copies the whole box."""
        if stmt.via == "cp":
            self._copy_in_background(state, actor, site, stmt)
            return
        for wave in actor.waves:
            if root(stmt.dst) in self.cx.types.buffers:
                self._load_box(state, actor.team, wave, site, stmt)
            else:
                self._store_box(state, actor.team, wave, site, stmt)

    def _load_box(self, state: State, team: Team, wave: int, site: Site, stmt: CopyAsync) -> None:
        sync = sync_of(state)
        cx = self.cx
        at = self._global(state, site, stmt.src)
        place = self.locator.shared(state, site, stmt.dst)
        if place is None:
            return
        touch = Touch(site, place, 1 << wave, "copies into")
        self.memory.overwrite(state, touch, ordered=lambda a: sync.order.may_copy(wave, a.epochs))
        codes = global_codes(cx, at, place.cells.shape, site.span)
        epoch = sync.order.begin(ENGINE)
        access = Access(place.region, (epoch,), False, site.number, team.number)
        stages = sync.memory[place.buffer]
        stages[place.stage] = stages[place.stage].written(place.flat, codes.ravel(), (access,))
        size = place.flat.size * DTYPE_BYTES[cx.buffer(place.buffer).dtype]
        sync.loads[wave] = (*sync.loads.get(wave, ()), Copying(epoch, size, site.number))

    def _store_box(self, state: State, team: Team, wave: int, site: Site, stmt: CopyAsync) -> None:
        sync = sync_of(state)
        cx = self.cx
        at = self._global(state, site, stmt.dst)
        place = self.locator.shared(state, site, stmt.src)
        if place is None:
            return
        touch = Touch(site, place, 1 << wave, "copies from")
        reason = self.memory.read(state, touch, proxy=True, ordered=lambda a: sync.order.may_copy(wave, a.epochs))
        epoch = sync.order.begin(ENGINE)
        stage = sync.memory[place.buffer][place.stage]
        access = Access(place.region, (epoch,), False, site.number, team.number)
        sync.memory[place.buffer][place.stage] = stage.read((access,))
        sync.open[wave] = (*sync.open.get(wave, ()), Copying(epoch, 0, site.number, leaves=True))
        shape = place.cells.shape
        made = FragType(cx.buffer(place.buffer).dtype, shape, ("",) * len(shape), Uniform())
        frag = Top(made, reason) if reason else Tile(stage.codes[place.cells], made)
        cx.registry.get("wait", site.number).raise_tier("structure")
        store_output(cx, state, site, at, frag)

    def _copy_in_background(self, state: State, actor: Actor, site: Site, stmt: CopyAsync) -> None:
        """Each wave copies its part by cp.async, and sees it after its own `wait`; others after a barrier."""
        cx, sync = self.cx, sync_of(state)
        at = self._global(state, site, stmt.src)
        place = self.locator.shared(state, site, stmt.dst)
        if place is None:
            return
        shape, width = place.cells.shape, DTYPE_BYTES[cx.buffer(place.buffer).dtype]
        masks = copied(shape, width, len(actor.waves))
        accesses = list[Access]()
        for wave, region in self.memory.parts(place, ("cp", len(masks)), masks):
            number = actor.team.first + wave
            touch = Touch(site, replace(place, region=region), 1 << number, "copies into")
            self.memory.overwrite(state, touch, ordered=lambda a, w=number: sync.order.may_copy(w, a.epochs))
            epoch = sync.order.begin(COPIER)
            accesses.append(Access(region, (epoch,), False, site.number, actor.team.number))
            sync.open[number] = (*sync.open.get(number, ()), Copying(epoch, 0, site.number))
        codes = global_codes(cx, at, shape, site.span)
        stages = sync.memory[place.buffer]
        stages[place.stage] = stages[place.stage].written(place.flat, codes.ravel(), tuple(accesses))

    def commit(self, state: State, actor: Actor, _: Commit) -> None:
        sync = sync_of(state)
        for wave in actor.waves:
            sync.groups[wave] = (*sync.groups.get(wave, ()), sync.open.pop(wave, ()))

    def wait(self, state: State, actor: Actor, pending: int) -> None:
        """Retire all closed groups of each wave but its newest; they say nothing to other waves."""
        sync = sync_of(state)
        for wave in actor.waves:
            groups = sync.groups.get(wave, ())
            kept = max(0, len(groups) - pending)
            for group in groups[:kept]:
                for copying in group:
                    sync.order.learn(copying.epoch, 1 << wave)
            sync.groups[wave] = groups[kept:]
            if not sync.groups[wave]:
                del sync.groups[wave]

    def ended(self, state: State) -> None:
        """The block ends: its stores must have left."""
        sync = sync_of(state)
        cx = self.cx
        pending = [c for found in sync.open.values() for c in found]
        pending += [c for groups in sync.groups.values() for g in groups for c in g]
        for copying in (c for c in pending if c.leaves):
            span = cx.span_of(copying.site)
            assert span is not None
            finding = Finding(
                "the block ends while this store of a tensor is in flight", span, {}, fix_class="missing wait",
                fix="wait(0) before the block ends",
            )  # fmt: skip
            cx.violated(cx.registry.get("wait", copying.site), state, "structure", lambda finding=finding: finding)

    # ------------------------------------------------------------------------------------------ MMAs

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

    # ---------------------------------------------------------------------------------- loads, stores

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
            store_output(self.cx, state, site, self._global(state, site, stmt.view), frag)
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
        store_output(self.cx, state, site, self._global(state, site, stmt.view), frag, adds=True)

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

    # --------------------------------------------------------------------------------------- barriers

    def arrive(self, state: State, actor: Actor, site: Site, stmt: Arrive) -> None:
        """One arrival for each executing wave; with bytes, its copies belong to the phase."""
        sync = sync_of(state)
        obligation = self.cx.registry.get("deadlock", site.number)
        obligation.raise_tier("structure")
        place = self.locator.slot(state, stmt.bar, stmt.slot)
        slots = sync.bars[stmt.bar]
        family = self.locator.families.of(stmt.bar)
        assert family is not None
        together = len(actor.waves) <= slots[place].missing and stmt.bytes is None
        for waves in [actor.mask] if together else [1 << w for w in actor.waves]:
            slot = slots[place]
            if slot.happened[0] >= 0 and not sync.order.knows(waves, (slot.happened[0],)):
                self._early(state, site, sync.base[family.name] + slot.latest)
            if stmt.bytes is not None:
                self._bind(state, waves.bit_length() - 1, site, slot.current, stmt.bytes)
            sync.order.release(waves, slot.current)
            slot = slot.arrived(waves.bit_count())
            if slot.missing == 0:
                for asked in slot.unseen(sync.order):
                    self._aliased(state, asked, site, sync.base[family.name] + asked.number)
                slot = slot.completed(sync.order, family.stages)
            slots[place] = slot

    def _bind(self, state: State, wave: int, site: Site, phase: int, announced: int) -> None:
        sync = sync_of(state)
        loads = sync.loads.pop(wave, ())
        for copying in loads:
            sync.order.learn(copying.epoch, phase)
        self.count_bytes(state, site, loads, announced)

    def count_bytes(self, state: State, site: Site, loads: tuple[Copying, ...], announced: int) -> None:
        """What a phase counts must be what the copies bring, or it ends too early or never."""
        copied = sum(c.bytes for c in loads)
        if copied != announced:
            finding = Finding(
                f"the phase counts {announced:,} bytes, and {copied:,} are copied", site.span, self.cx.loops(),
                producer=self.cx.span_of(loads[-1].site) if loads else None, fix=f"bytes={copied}",
            )  # fmt: skip
            obligation = self.cx.registry.get("deadlock", site.number)
            self.cx.violated(obligation, state, "structure", lambda: finding)

    def _early(self, state: State, site: Site, before: Affine) -> None:
        """Nothing orders an arrival after the completion before the one that it is meant for, if there was one."""
        cx = self.cx
        finding = Finding(
            "the arrival may come before the phase before has ended, and count for that one", site.span, cx.loops(),
            fix_class="phase aliasing", fix=f"let line {site.span.line} come after a wait that the phase before ends",
        )  # fmt: skip
        cx.must(cx.registry.get("deadlock", site.number), state, ge(-before - 1), "structure", lambda: finding)

    def _aliased(self, state: State, asked: Awaited, arrival: Site, absolute: Affine) -> None:
        """A barrier completes again while someone may still wait for its last completion, if there was one."""
        cx = self.cx
        obligation = cx.registry.get("deadlock", asked.site)
        span = cx.span_of(asked.site)
        assert span is not None
        text = "nothing keeps the barrier from completing twice while this waits: it would miss the parity"
        finding = Finding(
            text, span, cx.loops(), producer=arrival.span, fix_class="phase aliasing",
            fix=f"wait only in waves that line {arrival.span.line} comes after: those that arrive, or one of elect()",
        )  # fmt: skip
        cx.must(obligation, state, ge(-absolute - 1), "structure", lambda: finding)

    def awaited(self, state: State, actor: Actor, site: Site, stmt: AwaitPhase) -> bool:
        """Whether the wait is over; waves that go on know what the phase orders."""
        sync = sync_of(state)
        cx, order = self.cx, sync.order
        obligation = cx.registry.get("deadlock", site.number)
        obligation.raise_tier("structure")
        place, number, absolute = self.locator.completion(state, stmt.bar, stmt.slot, stmt.completion)
        slot = sync.bars[stmt.bar][place]
        family = self.locator.families.of(stmt.bar)
        assert family is not None
        asked = Awaited(number, tuple(order.epoch(w) for w in actor.waves), site.number)
        if number not in (slot.latest, slot.latest + family.stages):
            if state.evident(ge(-absolute - 1)):
                return True  # a completion before the first
            self._wrong_phase(state, site, number < slot.latest, absolute)
            return True
        before = slot.happened[1] if number == slot.latest else slot.happened[0]
        if before >= 0 and not order.knows(actor.mask, (before,)):
            self._wrong_phase(state, site, False, absolute)
        sync.bars[stmt.bar][place] = slot.asked(asked)
        if number != slot.latest:
            return False
        order.acquire(slot.done, actor.mask)
        return True

    def why_stuck(self, state: State, stmt: Stmt, team: Team) -> tuple[FixClass | None, str]:
        """What an edit should change where a team waits for ever."""
        if not isinstance(stmt, AwaitPhase):
            return "trip counts differ", "all teams must come to the barrier as often as the others"
        slots = sync_of(state).bars[stmt.bar]
        slot = slots[self.locator.slot(state, stmt.bar, stmt.slot)]
        if not slot.idle:
            came = slot.arrivals - slot.missing
            return None, f"{stmt.bar} counts {slot.arrivals} arrivals, and {came} came"
        order = sync_of(state).order
        if any(s.happened[0] >= 0 and not order.knows(team.mask, (s.happened[0],)) for s in slots if s is not slot):
            return "stage off by n", f"another slot of {stmt.bar} completed, and nobody waits for it"
        return "trip counts differ", f"{stmt.bar} must complete as often as it is waited for"

    def _wrong_phase(self, state: State, site: Site, behind: bool, absolute: Affine) -> None:
        """Parity would stand for another phase, unless the wait is for a completion before the first."""
        word = "has been followed by another" if behind else "may not be the next"
        cx = self.cx
        finding = Finding(
            f"the completion that is waited for {word}: its parity stands for another phase", site.span, cx.loops(),
            fix_class="phase aliasing", fix="wait for the completion of this fill or use",
        )  # fmt: skip
        cx.must(cx.registry.get("deadlock", site.number), state, ge(-absolute - 1), "structure", lambda: finding)

    # ------------------------------------------------------------------------------------------ views

    def _global(self, state: State, site: Site, view: View) -> GlobalView:
        at = self.cx.global_view(view, lambda name, axis: rows_of(self.cx, state, name, axis))
        self.locator.needs(state, site, at.needs)
        return at
