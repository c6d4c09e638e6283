"""Accesses of shared memory: against which earlier ones each must be ordered, and how a failure is described."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from argus.dsl.diagnostics import FixClass, Hop
from argus.dsl.ir.types import FragType
from argus.dsl.layout.affine import FALSE, TRUE, Formula, ge
from argus.dsl.tags.columns import values_of
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import ELEMENT_BITS, Bools, Ints
from argus.dsl.tags.obligations import NEVER, Action, Conflict, Finding, Goal, Kind, Obligation
from argus.dsl.tags.roles.cells import Access, Place, Region, region_of
from argus.dsl.tags.roles.compare import STALE
from argus.dsl.tags.roles.maps import held
from argus.dsl.tags.roles.sync import Sync, sync_of
from argus.dsl.tags.roles.teams import WARP, Team
from argus.dsl.tags.roles.turns import Families
from argus.dsl.tags.state import State
from argus.dsl.tags.views import Outside

Ordered = Callable[[Access], bool]


@dataclass(frozen=True, slots=True)
class Touch:
    """One access that is about to be made.

    Attributes:
        who: The waves that make it, as bits.
        verb: What it does, for reports.
    """

    site: Site
    place: Place
    who: int
    verb: str


@dataclass(slots=True, eq=False)
class MemoryRules:
    cx: Context
    teams: tuple[Team, ...]
    families: Families
    _parts: dict[tuple[object, ...], tuple[tuple[int, Region], ...]] = field(
        default_factory=dict[tuple[object, ...], tuple[tuple[int, Region], ...]]
    )

    # ------------------------------------------------------------------------------------------ reads

    def read(self, state: State, touch: Touch, *, proxy: bool = False, ordered: Ordered | None = None) -> str:
        """Check a read; returns why the value is unknown, '' if it is known.

        Args:
            state: For what the path implies.
            touch: Who reads what.
            proxy: TMA or wgmma reads, which see ordinary writes only after a fence.
            ordered: Whether the read comes after a write; by default whether all its waves know of it.
        """
        sync = sync_of(state)
        stage, order = sync.memory[touch.place.buffer][touch.place.stage], sync.order
        for w in stage.writes:
            if not w.region.meets(touch.place.region):
                continue
            if not (ordered(w) if ordered else order.knows(touch.who, w.epochs)):
                self._conflict(state, touch, w, "race" if w.ordinary else "wait", "writes")
            elif proxy and not order.visible(touch.who, w.epochs):
                self._unfenced(state, touch, w)
        self._met(touch.site, "race", "wait", "proxy", "init")
        return self._initialised(state, touch, stage.codes[touch.place.flat])

    def _met(self, site: Site, *kinds: Kind) -> None:
        for kind in kinds:
            if (obligation := self.cx.registry.find(kind, site.number)) is not None:
                obligation.raise_tier("table")

    def _initialised(self, state: State, touch: Touch, codes: Ints) -> str:
        cx, buffer = self.cx, touch.place.buffer
        init = cx.registry.get("init", touch.site.number)
        if (codes < 0).any():
            shared = cx.buffer(buffer)
            copied = [w.site for stage in sync_of(state).memory[buffer] for w in stage.writes]
            finding = Finding(
                f"{buffer} is read where nothing was written before", touch.site.span, cx.loops(),
                thread=_thread(touch.who), buffer=buffer, hops=(Hop(span=shared.span, text=f"{buffer} starts empty"),),
                fix_class="stage off by n" if len(sync_of(state).memory[buffer]) > 1 else "missing wait",
                wrong=int((codes < 0).sum()), total=codes.size, producer=cx.span_of(copied[0]) if copied else None,
            )  # fmt: skip
            cx.violated(init, state, "table", lambda: finding)
            return f"depends on {init.place}"
        if any(value.top == STALE for value, _ in values_of(codes, cx.store)):
            init.block(f"{buffer} is read where there is {STALE}")
            return STALE
        return ""

    # ----------------------------------------------------------------------------------------- writes

    def overwrite(self, state: State, touch: Touch, *, ordered: Ordered | None = None) -> None:
        """Check a write against all earlier accesses of its cells."""
        sync = sync_of(state)
        stage, order = sync.memory[touch.place.buffer][touch.place.stage], sync.order
        accesses: tuple[tuple[tuple[Access, ...], Action], ...] = ((stage.reads, "reads"), (stage.writes, "writes"))
        for part, action in accesses:
            for a in part:
                if not a.region.meets(touch.place.region):
                    continue
                if not (ordered(a) if ordered else order.knows(touch.who, a.epochs)):
                    kind: Kind = "wait" if not a.ordinary and not self._complete(sync, a) else "race"
                    self._conflict(state, touch, a, kind, action)
        self._met(touch.site, "race", "wait")

    def parts(self, place: Place, key: object, masks: Sequence[Bools]) -> tuple[tuple[int, Region], ...]:
        """For each wave of a team the region of its part of a view; `key` tells the masks apart.

        Raises:
            Outside: If some part is no rows by columns.
        """
        known = (place.key, key)
        if known not in self._parts:
            columns = self.cx.buffer(place.buffer).shape[-1]
            found = list[tuple[int, Region]]()
            for wave, mask in enumerate(masks):
                if mask.any():
                    region = region_of(place.flat[mask], columns)
                    if region is None:
                        raise Outside("elements of a wave that are no rows by columns")
                    found.append((wave, region))
            self._parts[known] = tuple(found)
        return self._parts[known]

    def of_fragment(self, place: Place, frag: FragType, team: Team) -> tuple[tuple[int, Region], ...]:
        """For each wave of a team the region that it touches of a view that a fragment is read from or stored to."""
        return self.parts(place, (frag.map, frag.shape, team.waves), held(frag, team.waves))

    # -------------------------------------------------------------------------------------- describing

    def _complete(self, sync: Sync, access: Access) -> bool:
        """Whether some wave knows that asynchronous work is complete."""
        waves = (1 << self.cx.kernel.waves) - 1
        return all(sync.order.known[e] & waves for e in access.epochs)

    def _conflict(self, state: State, touch: Touch, access: Access, kind: Kind, action: Action) -> None:
        cx, buffer = self.cx, touch.place.buffer
        obligation = cx.registry.find(kind, touch.site.number) or cx.registry.get("race", touch.site.number)
        other, line = cx.span_of(access.site), touch.site.span.line
        whose = self.teams[access.team]
        word = "writes" if action == "writes" and access.ordinary else "copies into" if action == "writes" else "reads"
        text = f"line {line} {touch.verb} {buffer}, which {whose} {word}"
        text += f" at line {other.line}, and nothing orders the two" if other is not None else ""
        fix_class, fix = self._fix(sync_of(state), touch, access)
        shown: Action = "copies into" if word == "copies into" else action
        finding = Finding(
            text, touch.site.span, cx.loops(), thread=_thread(touch.who), buffer=buffer,
            producer=other if action == "writes" else None,
            other=None if other is None else Conflict(other, shown, whose.first * WARP),
            fix_class=fix_class, fix=fix,
        )  # fmt: skip
        self._violated(obligation, state, self._happened(state, touch, access), finding)

    def _violated(self, obligation: Obligation, state: State, happened: Formula, finding: Finding) -> None:
        obligation.raise_tier("table")
        if happened != FALSE:
            obligation.need(Goal((*state.hypotheses(), happened), NEVER, lambda: finding))

    def _happened(self, state: State, touch: Touch, access: Access) -> Formula:
        """The condition under which an access of an earlier use was made: the stage had one."""
        family = self.families.of(touch.place.buffer)
        if family is None or not access.past:
            return TRUE
        earlier = state.reduce(sync_of(state).base[family.name]) + touch.place.stage - family.stages
        # A solver is not asked about products of symbols; then the witness may be one that shows nothing.
        return TRUE if any(atom.kind == "*" for atom, _ in earlier.terms) else ge(earlier)

    def _fix(self, sync: Sync, touch: Touch, access: Access) -> tuple[FixClass, str]:
        line = touch.site.span.line
        if self._other_stage_meant(sync, touch, access):
            return "stage off by n", f"line {line} uses a stage that was not awaited, and another one was"
        if not access.ordinary and not self._complete(sync, access):
            return "missing wait", f"wait for what line {self._line(access)} started, before line {line}"
        own = self.teams[access.team]
        if not access.ordinary and not touch.who & ~own.mask:
            return "missing barrier", f"barrier(waves={own.waves}) after the wait, before line {line}"
        if touch.verb == "copies into" or not access.ordinary:
            return "missing wait", f"free the stage after line {self._line(access)}, and await that before line {line}"
        return "missing barrier", f"barrier(...) before line {line}"

    def _other_stage_meant(self, sync: Sync, touch: Touch, access: Access) -> bool:
        """Data of the same copies arrived in another stage, and the reader waited for that one."""
        if access.ordinary or touch.verb == "copies into":
            return False
        stages = sync.memory[touch.place.buffer]
        return any(
            w.site == access.site and w.epochs != access.epochs and sync.order.knows(touch.who, w.epochs)
            and self.cx.store.values[int(s.codes[0]) >> ELEMENT_BITS].top != STALE
            for s in stages for w in s.writes
        )  # fmt: skip

    def _line(self, access: Access) -> str:
        span = self.cx.span_of(access.site)
        return "?" if span is None else str(span.line)

    def _unfenced(self, state: State, touch: Touch, access: Access) -> None:
        cx = self.cx
        obligation = cx.registry.get("proxy", touch.site.number)
        other = cx.span_of(access.site)
        finding = Finding(
            f'what line {self._line(access)} stores to {touch.place.buffer} is not visible without fence("async")',
            touch.site.span, cx.loops(), thread=_thread(touch.who), buffer=touch.place.buffer, producer=other,
            other=None if other is None else Conflict(other, "writes", self.teams[access.team].first * WARP),
            fix_class="missing fence", fix='fence("async") after the stores, before the barrier that follows them',
        )  # fmt: skip
        cx.violated(obligation, state, "table", lambda: finding)


def _thread(who: int) -> int:
    return ((who & -who).bit_length() - 1) * WARP
