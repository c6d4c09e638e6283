"""mbarriers: what arrivals and waits do, and what makes parities and counts stand for completions."""

from __future__ import annotations

from dataclasses import dataclass

from argus.dsl.diagnostics import FixClass
from argus.dsl.ir import Arrive, AwaitPhase, Stmt
from argus.dsl.layout.affine import Affine, ge
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.roles.locate import Locator
from argus.dsl.tags.roles.phases import Awaited
from argus.dsl.tags.roles.sync import Copying, sync_of
from argus.dsl.tags.roles.teams import Actor, Team
from argus.dsl.tags.state import State


@dataclass(slots=True, eq=False)
class Arrivals:
    """Transfer rules of `arrive` and `await_phase`."""

    cx: Context
    locator: Locator

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
            sure=False,  # only waves that run far enough ahead show it
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
            sure=False,
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
