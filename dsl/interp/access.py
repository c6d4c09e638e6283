"""Reading and writing cells, with every check that goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from argus.dsl.diagnostics import Span
from argus.dsl.interp.arrays import Bools, Floats, Ids
from argus.dsl.interp.clocks import Event
from argus.dsl.interp.fault import Action, FaultKind
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.memory import Cells
from argus.dsl.interp.program import MOST_ADDRESSES
from argus.dsl.interp.sites import Place, Site, Slots, locate
from argus.dsl.interp.values import Frag
from argus.dsl.interp.views import Plan, Root, plan_view
from argus.dsl.ir.nodes import Ref, View

_MANY_AGENTS = 64
_Item = TypeVar("_Item", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Actor:
    """On whose behalf memory is touched.

    Attributes:
        agent, clock: For happens-before.
        seen: What is ordered before the access.
        fenced: For operations of the async proxy: ordinary writes that are visible to it; None: an ordinary access.
        loops: Loop variables when the operation was issued; a copy.
    """

    agent: int
    clock: int
    seen: Ids
    loops: Mapping[str, int]
    fenced: Ids | None = None
    atomic: bool = False


def ordinary(w: Wave, *, atomic: bool = False) -> Actor:
    """The wave itself as the one who accesses, at its present time."""
    clocks = w.machine.clocks
    return Actor(w.index, clocks.now(w.index), clocks.known[w.index], dict(w.loops), atomic=atomic)


def plan_of(w: Wave, view: View) -> Plan:
    """How a view's elements lie in its root; computed once a program."""
    plans = w.machine.program.plans
    found = plans.get(id(view))
    if found is None:
        found = plans[id(view)] = plan_view(view, lambda ref: _root(w, ref), lambda name: _index(w, name))
    return found


def _root(w: Wave, ref: Ref) -> Root | View:
    program = w.machine.program
    if ref.name in program.views:
        return program.views[ref.name]
    if ref.name in program.buffers:
        shape = program.buffers[ref.name].shape
        return Root(shape, program.buffer_axes.get(ref.name) or ("",) * len(shape))
    return Root(program.shapes[ref.name], program.tensors[ref.name].axes)


def _index(w: Wave, name: str) -> tuple[int, str]:
    value = w.frags[name]
    assert isinstance(value, Frag)
    return value.layout.dims[0], value.names[0]


def site_of(w: Wave, view: View, slots: Slots, values: tuple[int, ...] | None = None) -> tuple[Cells, Site]:
    """The addresses that `slots` have in `view` now (or for given values of its index expressions)."""
    program = w.machine.program
    plan = plan_of(w, view)
    cells = w.machine.cells(plan.root)
    values = plan.values(w.env) if values is None else values
    index = _gathered(w, plan, view) if plan.index is not None else None
    key = (id(view), id(slots), values, None if index is None else index.tobytes())
    site = program.sites.get(key)
    if site is None:
        if program.addresses_kept > MOST_ADDRESSES:
            program.sites.clear()
            program.addresses_kept = 0
        place = Place(cells, values, index, _asked_axes(w, plan))
        site = program.sites[key] = locate(plan, place, slots)
        program.addresses_kept += site.address.size
    return cells, site


def _asked_axes(w: Wave, plan: Plan) -> tuple[str, ...]:
    program = w.machine.program
    if plan.root not in program.tensors or not program.asked:
        return ()
    return tuple(a if a in program.asked else "" for a in program.tensors[plan.root].axes)


def _gathered(w: Wave, plan: Plan, view: View) -> Floats:
    """All rows of a gather; what this wave can know of them."""
    assert plan.index is not None
    value = w.frags[plan.index]
    assert isinstance(value, Frag)
    if value.everywhere is not None:
        rows = value.everywhere
    else:
        rows = np.full(value.layout.dims, np.nan)
        slots = w.machine.program.slots(value.layout, w.seat)
        held = np.ones(slots.dims, np.bool_) if slots.held is None else slots.held
        known = held if value.poison is None else held & ~value.poison
        rows[slots.coords[0][known]] = np.broadcast_to(value.data, slots.dims)[known]
    if np.isnan(rows).any():
        w.fault("address", f"rows are gathered by {plan.index}, of which a part was never initialised", view.span)
        rows = np.where(np.isnan(rows), -1, rows)
    return rows


@dataclass(frozen=True, slots=True)
class Access:
    """One statement of a wave touching cells: what, where, in whose name."""

    cells: Cells
    site: Site
    span: Span
    action: Action
    actor: Actor

    def event(self, w: Wave) -> Event:
        actor, site = self.actor, self.site
        return Event(w.index, actor.agent, actor.clock, self.span, self.action, actor.loops, site.hit, site.lane_of)


def check_read(w: Wave, access: Access) -> None:
    """Report bounds and races of a read, and remember it."""
    cells, site, actor = access.cells, access.site, access.actor
    _check_bounds(w, access)
    if not cells.tracked:
        return
    clocks = w.machine.clocks
    bad = cells.unordered_writes(clocks, site.hit, actor.seen)
    if bad is not None:
        _report_conflict(w, access, bad, cells.last_write[site.hit])
    elif actor.fenced is not None:
        _check_proxy(w, access, actor.fenced)
    if not cells.shared:
        elsewhere = cells.written_elsewhere(site.hit)
        report(w, access, "race", f"{access.action} what another block writes", elsewhere)
    cells.note_read(actor.agent, site.hit, clocks.record(access.event(w)))


def check_write(w: Wave, access: Access) -> None:
    """Report bounds and races of a write, and remember it. An async copy writes from its issue to its wait."""
    cells, site, actor = access.cells, access.site, access.actor
    _check_bounds(w, access)
    clocks = w.machine.clocks
    bad = cells.unordered_writes(clocks, site.hit, actor.seen)
    if bad is not None:
        events = cells.last_write[site.hit]
        _report_conflict(w, access, bad & ~clocks.atomic[events] if actor.atomic else bad, events)
    reads = cells.unordered_reads(clocks, site.hit, actor.seen)
    if reads is not None:
        _report_conflict(w, access, *reads)
    if not cells.shared:
        elsewhere = cells.read_elsewhere(site.hit)
        report(w, access, "race", f"{access.action} what another block reads", elsewhere)
    elif not actor.atomic and (twice := site.repeated) is not None:
        at_one = np.arange(len(site.hit)) == twice
        report(w, access, "race", "two lanes of one wave write the same cell", at_one)
    number = clocks.record(access.event(w), atomic=actor.atomic, proxy=actor.fenced is not None)
    cells.note_write(actor.agent, site.hit, number)
    if len(cells.latest_write) > _MANY_AGENTS:
        cells.forget(clocks)


def _check_bounds(w: Wave, access: Access) -> None:
    cells, site = access.cells, access.site
    if site.outside is not None:
        text = f"{access.action} outside {cells.name}, whose shape is {list(cells.shape)}"
        w.fault(
            "bounds",
            text,
            access.span,
            lane=int(site.outside[0]) // site.address.shape[1],
            loops=access.actor.loops,
            cells=cells,
            element=site.outside_at,
            count=len(site.outside),
        )


def _check_proxy(w: Wave, access: Access, fenced: Ids) -> None:
    clocks = w.machine.clocks
    events = access.cells.last_write[access.site.hit]
    hidden = clocks.unordered(events, fenced) & ~clocks.proxy[events]
    text = "ordinary writes are not visible to the async proxy without fence('async')"
    report(w, access, "proxy", text, hidden, events=events)


def _report_conflict(w: Wave, access: Access, bad: Bools, events: Ids) -> None:
    if not bad.any():
        return
    clocks = w.machine.clocks
    other = clocks.event(int(events[int(np.argmax(bad))]))
    if other.agent >= clocks.waves and clocks.known[other.wave, other.agent] < other.clock:
        what = "an MMA that reads" if other.action == "multiplies" else "an async copy of"
        whose = "this wave" if other.wave == w.index else f"wave {other.wave}"
        text = f"{access.action} cells while {what} them, issued by {whose}, has not been waited for"
        report(w, access, "pending", text, bad, events=events)
    else:
        text = f"{access.action} what wave {other.wave} {other.action}, and nothing orders the two"
        report(w, access, "race", text, bad, events=events)


def report(
    w: Wave, access: Access, kind: FaultKind, text: str, bad: Bools | None, *, events: Ids | None = None
) -> None:
    """A fault at the first of the `bad` entries of `site.hit`, if there is one."""
    if bad is None or not bad.any():
        return
    at = int(np.argmax(bad))
    w.fault(
        kind,
        text,
        access.span,
        lane=int(access.site.lane_of[at]),
        loops=access.actor.loops,
        cells=access.cells,
        address=int(access.site.hit[at]),
        count=int(bad.sum()),
        other=None if events is None else w.machine.clocks.event(int(events[at])),
    )


def fetch(cells: Cells, site: Site) -> tuple[Floats, Bools | None]:
    """What is in the cells now: data and poison by slot."""
    if site.selected is None:
        poison = None if cells.poison is None else cells.poison[site.address]
        return cells.data[site.address], poison if poison is not None and poison.any() else None
    assert site.blank is not None
    assert site.blank_poison is not None
    data, poison = site.blank.copy(), site.blank_poison
    data.reshape(-1)[site.selected] = cells.data[site.hit]
    if cells.poison is not None:
        poison = poison.copy()
        poison.reshape(-1)[site.selected] = cells.poison[site.hit]
    return data, poison if poison.any() else None


def fetch_coords(cells: Cells, site: Site) -> Mapping[str, Floats]:
    """Global coordinates of the elements, along the axes that the kernel asks for as data."""
    return site.coords or {axis: values[site.address] for axis, values in cells.coords.items()}


def selected(site: Site, by_slot: npt.NDArray[_Item]) -> npt.NDArray[_Item]:
    """The entries that belong to `site.hit`."""
    flat = np.broadcast_to(by_slot, site.address.shape).reshape(-1)
    return flat if site.selected is None else flat[site.selected]


def put(cells: Cells, site: Site, data: Floats, poison: Bools | None, coords: Mapping[str, Floats]) -> None:
    """Change the cells."""
    cells.data[site.hit] = selected(site, data)
    if cells.poison is not None:
        cells.poison[site.hit] = False if poison is None else selected(site, poison)
    for axis, values in cells.coords.items():
        values[site.hit] = selected(site, coords[axis]) if axis in coords else np.nan
