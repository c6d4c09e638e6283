"""Loops over rings: states made comparable, made general, and compared.

A stage is *quiet* when all its phases are complete: what it holds is dead, and all quiet stages of a ring are treated
alike, those never used included. That is sound because the more accesses a state has, and the less is known of them,
the less can be proved of it: `general` gives every quiet stage the accesses of one that was used, each known to no
more than all others know of theirs, and `within` demands exactly that direction.

What a stage's phases know of accesses to other places is forgotten where a loop begins. A stage that was never used has
no completed phase to learn from, so nothing else may be concluded from one that has been.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import ELEMENT_BITS, Ints, Value, value_variables
from argus.dsl.tags.roles.cells import Access, Stage
from argus.dsl.tags.roles.phases import Awaited, Slot
from argus.dsl.tags.roles.sync import Copying, Sync
from argus.dsl.tags.roles.turns import Families, Family

STALE = "what an earlier use of the stage left there, or nothing"
_LONG_AGO = -1


def stale(cx: Context, size: int) -> Ints:
    """Codes of dead data."""
    return cx.store.codes(Value(frozenset(), (), top=STALE), (size,))


def forget_data(
    cx: Context, sync: Sync, spoilt: Callable[[frozenset[str]], bool], kept: frozenset[str] = frozenset()
) -> Sync:
    """The state with data counted as dead if their tags speak of symbols that are `spoilt`; not in buffers `kept`."""
    out = sync.copy()
    values = [n for n, v in enumerate(cx.store.values) if spoilt(value_variables(v))]
    for name, stages in out.memory.items():
        for i, stage in enumerate(stages if name not in kept else ()):
            hit = np.isin(stage.codes >> ELEMENT_BITS, values)
            if hit.any():
                stages[i] = replace(stage, codes=np.where(hit, stale(cx, len(stage.codes)), stage.codes))
    return out


def normal(cx: Context, families: Families, sync: Sync) -> Sync:
    """The state without what no later statement may use: dead data, foreign knowledge of phases, old epochs."""
    out = sync.copy()
    out.bars = {name: [slot.settled(out.order) for slot in slots] for name, slots in out.bars.items()}
    for family in families.all:
        for place in _quiet(family, out):
            for member in _buffers(family, out):
                stage = out.memory[member][place]
                writes, reads = (tuple(replace(a, past=True) for a in part) for part in (stage.writes, stage.reads))
                out.memory[member][place] = replace(
                    stage, codes=stale(cx, len(stage.codes)), writes=writes, reads=reads
                )
    _forget_phases(families, out)
    _renumber(out)
    return out


def general(families: Families, sync: Sync) -> Sync:
    """The normal state with every quiet stage as general as the last one that was used."""
    out = sync.copy()
    for family in families.all:
        quiet = _quiet(family, out)
        used = [p for p in quiet if any(not out.memory[m][p].untouched for m in _buffers(family, out))]
        if used:
            _spread(family, out, used, quiet)
    _renumber(out)
    return out


def _quiet(family: Family, sync: Sync) -> list[int]:
    """Places of a family all of whose phases are complete."""
    bars = [sync.bars[m] for m in sorted(family.members) if m in sync.bars]
    if not bars or family.stages == 1:
        return []
    return [
        p for p in range(family.stages)
        if all(slots[p].idle and slots[p].latest == p - family.stages for slots in bars)
    ]  # fmt: skip


def _buffers(family: Family, sync: Sync) -> list[str]:
    return sorted(m for m in family.members if m in sync.memory)


# ----------------------------------------------------------------------------------------- forgetting


def _forget_phases(families: Families, sync: Sync) -> None:
    """Of an access, phases of its own stage keep their knowledge, and barriers of one slot."""
    kept = [0] * len(sync.order.known)
    phases = always = 0
    for family in families.all:
        bars = [m for m in family.members if m in sync.bars]
        for place in range(family.stages):
            bits = 0
            for member in bars:
                bits |= sync.bars[member][place].current | sync.bars[member][place].done
            phases |= bits
            if family.stages == 1:
                always |= bits
                continue
            for e in _epochs_at(family, sync, place):
                kept[e] |= bits
    others = ~phases | always
    order = sync.order
    order.known = [k & (others | mine) for k, mine in zip(order.known, kept, strict=True)]
    order.fenced = [f & (others | mine) for f, mine in zip(order.fenced, kept, strict=True)]


def _epochs_at(family: Family, sync: Sync, place: int) -> Iterator[int]:
    for member in family.members:
        if member in sync.memory:
            for access in (*sync.memory[member][place].writes, *sync.memory[member][place].reads):
                yield from access.epochs
        else:
            slot = sync.bars[member][place]
            yield from (e for e in slot.happened if e != _LONG_AGO)
            for asked in slot.awaited:
                yield from asked.epochs


def _renumber(sync: Sync) -> None:
    """Keep the epochs that something refers to, in the order in which it does; waves begin new ones."""
    order = sync.order
    fresh = dict[int, int]()

    def number(epoch: int) -> int:
        return _LONG_AGO if epoch == _LONG_AGO else fresh.setdefault(epoch, len(fresh))

    def numbers(epochs: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(number(e) for e in epochs)

    _map_epochs(sync, numbers)
    old = sorted(fresh, key=lambda e: fresh[e])
    order.known = [order.known[e] for e in old]
    order.fenced = [order.fenced[e] for e in old]
    order.settled = [order.settled[e] for e in old]
    order.owner = [order.owner[e] for e in old]
    order.now = [-1] * len(order.now)


def _map_epochs(sync: Sync, numbers: Callable[[tuple[int, ...]], tuple[int, ...]]) -> None:
    for name, stages in sync.memory.items():
        sync.memory[name] = [_stage_with(s, numbers) for s in stages]
    for name, slots in sync.bars.items():
        sync.bars[name] = [_slot_with(s, numbers) for s in slots]
    sync.batches = {t: tuple(replace(b, epochs=numbers(b.epochs)) for b in found) for t, found in sync.batches.items()}

    def copying(found: tuple[Copying, ...]) -> tuple[Copying, ...]:
        return tuple(replace(c, epoch=numbers((c.epoch,))[0]) for c in found)

    sync.loads = {w: copying(found) for w, found in sync.loads.items()}
    sync.open = {w: copying(found) for w, found in sync.open.items()}
    sync.groups = {w: tuple(copying(g) for g in found) for w, found in sync.groups.items()}


def _stage_with(stage: Stage, numbers: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Stage:
    if stage.untouched:
        return stage
    writes, reads = (
        tuple(Access(a.region, numbers(a.epochs), a.ordinary, a.site, a.team, a.past) for a in part)
        for part in (stage.writes, stage.reads)
    )
    return replace(stage, writes=writes, reads=reads)


def _slot_with(slot: Slot, numbers: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Slot:
    if slot.happened == (_LONG_AGO, _LONG_AGO) and not slot.awaited:
        return slot
    latest, before = numbers(slot.happened)
    awaited = tuple(replace(a, epochs=numbers(a.epochs)) for a in slot.awaited)
    return replace(slot, happened=(latest, before), awaited=awaited)


# ----------------------------------------------------------------------------------------- generality


def _spread(family: Family, sync: Sync, used: list[int], quiet: list[int]) -> None:
    """All quiet places become copies of the last used one, known to those who know of every used one."""
    model = used[-1]
    stages = {m: sync.memory[m][model] for m in _buffers(family, sync)}
    slots = {m: sync.bars[m][model] for m in sorted(family.members) if m in sync.bars}
    shared = _known_everywhere(family, sync, used, model)
    order = sync.order
    for place in quiet:
        made = dict[int, int]()

        def numbers(epochs: tuple[int, ...], made: dict[int, int] = made, place: int = place) -> tuple[int, ...]:
            for e in epochs:
                if e != _LONG_AGO and e not in made:
                    known, fenced = shared.get(e, (order.known[e], order.fenced[e]))
                    made[e] = order.begin(order.owner[e])
                    order.known[made[e]] = _moved(sync, slots, known, model, place)
                    order.fenced[made[e]] = _moved(sync, slots, fenced, model, place)
                    order.settled[made[e]] = order.settled[e]
            return tuple(made.get(e, _LONG_AGO) for e in epochs)

        for member, stage in stages.items():
            sync.memory[member][place] = _stage_with(replace(stage, codes=sync.memory[member][model].codes), numbers)
        for member, slot in slots.items():
            own = sync.bars[member][place]
            moved = _slot_with(slot, numbers)
            awaited = tuple(replace(a, number=a.number + place - model) for a in moved.awaited)
            sync.bars[member][place] = replace(own, happened=moved.happened, awaited=awaited)


def _moved(sync: Sync, slots: dict[str, Slot], bits: int, source: int, target: int) -> int:
    """Knowledge of one place's phases as that of another's."""
    for member in slots:
        a, b = sync.bars[member][source], sync.bars[member][target]
        if source != target:
            current, done = bool(bits & a.current), bool(bits & a.done)
            bits &= ~(a.current | a.done)
            bits |= (b.current if current else 0) | (b.done if done else 0)
    return bits


def _known_everywhere(family: Family, sync: Sync, used: list[int], model: int) -> dict[int, tuple[int, int]]:
    """For each epoch of the model place: who knows it and its like at all used places, in the model's bits."""
    bars = {m: sync.bars[m][model] for m in sorted(family.members) if m in sync.bars}
    mine = list(_epochs_at_in_order(family, sync, model))
    out = {e: (sync.order.known[e], sync.order.fenced[e]) for e in mine}
    for place in used:
        theirs = list(_epochs_at_in_order(family, sync, place))
        if len(theirs) != len(mine):
            continue  # of another shape: then the states will not compare
        for e, other in zip(mine, theirs, strict=True):
            known = _moved(sync, bars, sync.order.known[other], place, model)
            fenced = _moved(sync, bars, sync.order.fenced[other], place, model)
            out[e] = (out[e][0] & known, out[e][1] & fenced)
    return out


def _epochs_at_in_order(family: Family, sync: Sync, place: int) -> Iterator[int]:
    for member in sorted(family.members):
        yield from _epochs_at(Family(family.name, family.stages, frozenset((member,))), sync, place)


# ------------------------------------------------------------------------------------------ comparing


def within(cx: Context, special: Sync, wide: Sync) -> bool:
    """Whether whatever holds of all executions from `wide` holds of those from `special`; both are normal."""
    return _Within(cx, special, wide).holds()


class _Within:
    def __init__(self, cx: Context, special: Sync, wide: Sync) -> None:
        self.cx, self.s, self.w = cx, special, wide

    def holds(self) -> bool:
        s, w = self.s, self.w
        return (
            s.meeting == w.meeting
            and all(self._stages(s.memory[name], w.memory[name]) for name in s.memory)
            and all(self._slot(x, y) for name in s.bars for x, y in zip(s.bars[name], w.bars[name], strict=True))
            and self._batches()
            and all(self._copies(getattr(s, part), getattr(w, part)) for part in ("loads", "open"))
            and self._groups()
        )

    def _epochs(self, special: tuple[int, ...], wide: tuple[int, ...]) -> bool:
        if len(special) != len(wide):
            return False
        a, b = self.s.order, self.w.order
        return all(
            x == _LONG_AGO
            or (
                y != _LONG_AGO and a.owner[x] == b.owner[y] and not b.known[y] & ~a.known[x]
                and not b.fenced[y] & ~a.fenced[x] and (a.settled[x] or not b.settled[y])
            )
            for x, y in zip(special, wide, strict=True)
        )  # fmt: skip

    def _stages(self, special: list[Stage], wide: list[Stage]) -> bool:
        return all(
            self._codes(x.codes, y.codes) and self._accesses(x.writes, y.writes) and self._accesses(x.reads, y.reads)
            for x, y in zip(special, wide, strict=True)
        )

    def _codes(self, special: Ints, wide: Ints) -> bool:
        return special is wide or bool(((wide == stale(self.cx, len(wide))) | (special == wide)).all())

    def _accesses(self, special: tuple[Access, ...], wide: tuple[Access, ...]) -> bool:
        return all(
            any(x.region == y.region and x.ordinary == y.ordinary and self._epochs(x.epochs, y.epochs) for y in wide)
            for x in special
        )

    def _slot(self, special: Slot, wide: Slot) -> bool:
        return (
            (special.latest, special.missing) == (wide.latest, wide.missing)
            and self._epochs(special.happened, wide.happened)
            and all(self._asked(x, wide.awaited) for x in special.awaited)
        )

    def _asked(self, special: Awaited, wide: tuple[Awaited, ...]) -> bool:
        return any(special.number == y.number and self._epochs(special.epochs, y.epochs) for y in wide)

    def _batches(self) -> bool:
        def shape(sync: Sync) -> dict[int, list[frozenset[str]]]:
            return {t: [b.accs for b in found] for t, found in sync.batches.items() if found}

        return shape(self.s) == shape(self.w) and all(
            self._epochs(x.epochs, y.epochs)
            for t, found in self.s.batches.items()
            for x, y in zip(found, self.w.batches.get(t, ()), strict=True)
        )

    def _copies(self, special: dict[int, tuple[Copying, ...]], wide: dict[int, tuple[Copying, ...]]) -> bool:
        return all(self._same_copies(special.get(w, ()), wide.get(w, ())) for w in special.keys() | wide.keys())

    def _same_copies(self, special: tuple[Copying, ...], wide: tuple[Copying, ...]) -> bool:
        return len(special) == len(wide) and all(
            x.bytes == y.bytes and self._epochs((x.epoch,), (y.epoch,)) for x, y in zip(special, wide, strict=True)
        )

    def _groups(self) -> bool:
        special, wide = self.s.groups, self.w.groups
        for wave in special.keys() | wide.keys():
            mine, theirs = special.get(wave, ()), wide.get(wave, ())
            if len(mine) != len(theirs):
                return False
            if not all(self._same_copies(x, y) for x, y in zip(mine, theirs, strict=True)):
                return False
        return True
