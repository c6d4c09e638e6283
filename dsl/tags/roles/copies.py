"""Asynchronous copies: by TMA, which a barrier counts or a group holds, and by cp.async."""

from __future__ import annotations

from dataclasses import dataclass, replace

from argus.dsl.ir import Commit, CopyAsync
from argus.dsl.ir.types import DTYPE_BYTES, FragType
from argus.dsl.layout import Uniform
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Tile, Top
from argus.dsl.tags.epilogue import store_output
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.roles.cells import Access
from argus.dsl.tags.roles.locate import Locator
from argus.dsl.tags.roles.maps import copied
from argus.dsl.tags.roles.memory_rules import MemoryRules, Touch
from argus.dsl.tags.roles.order import COPIER, ENGINE
from argus.dsl.tags.roles.sync import Copying, sync_of
from argus.dsl.tags.roles.teams import Actor, Team
from argus.dsl.tags.state import State
from argus.dsl.tags.values import global_codes
from argus.dsl.tags.views import root


@dataclass(slots=True, eq=False)
class Copies:
    """Transfer rules of `copy_async`, `commit` and `wait`."""

    cx: Context
    memory: MemoryRules
    locator: Locator

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
        at = self.locator.tensor(state, site, stmt.src)
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
        at = self.locator.tensor(state, site, stmt.dst)
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
        at = self.locator.tensor(state, site, stmt.src)
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
