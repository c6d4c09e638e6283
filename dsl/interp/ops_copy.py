"""Async copies: issued by a wave, performed by an engine, waited for by that wave alone.

For happens-before the copy owns its cells from issue to wait. Its data move at landing: then the source is read (so a
source overwritten too early shows) and the destination cells are written, on behalf of the issuing wave.

`dma` deals 4 bytes a lane in the order of the destination's addresses, so that each wave instruction fills 256
contiguous bytes; `cp` deals 16 bytes a lane, row-major; `tma` is one lane's work: the executing wave copies the whole
box.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.dsl.interp.access import (
    Access,
    Actor,
    check_read,
    check_write,
    fetch,
    fetch_coords,
    plan_of,
    put,
    site_of,
)
from argus.dsl.interp.global_writes import finish_write
from argus.dsl.interp.landing import InFlight
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.placement import Seat, slots_of
from argus.dsl.interp.registers import mismatch
from argus.dsl.interp.sites import Place, Slots, locate
from argus.dsl.interp.values import whole
from argus.dsl.interp.views import Plan
from argus.dsl.ir.nodes import Commit, CopyAsync, Wait
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Linear

_BYTES_PER_LANE: Mapping[str, int] = {"dma": 4, "cp": 16}


def copy_async(w: Wave, node: CopyAsync) -> None:
    """Issue a copy into the wave's open group."""
    machine = w.machine
    target, source = plan_of(w, node.dst), plan_of(w, node.src)
    if target.shape != source.shape:
        raise mismatch(f"a copy from shape {list(source.shape)} to shape {list(target.shape)}", node.span)
    slots = _dealt(w, node, target)
    into, to_site = site_of(w, node.dst, slots)
    out_of, from_site = site_of(w, node.src, slots)
    actor = _actor(w, node, loads=into.shared)
    written = Access(into, to_site, node.span, "copies into", actor)
    check_read(w, Access(out_of, from_site, node.span, "copies from", actor))
    check_write(w, written)

    def effect() -> None:
        data, poison = fetch(out_of, from_site)
        if into.shared:
            put(into, to_site, data, poison, fetch_coords(out_of, from_site))
        else:
            finish_write(w, written, data, poison)

    size_bytes = int(np.prod(target.shape, dtype=np.intp)) * DTYPE_BYTES[into.dtype]
    loads = node.via == "tma" and into.shared
    operation = InFlight(
        effect, node.span, actor.agent, actor.clock, size_bytes, to_global=not into.shared, loads=loads
    )
    w.open.append(operation)
    machine.landings.issue(operation, machine.step)


def _actor(w: Wave, node: CopyAsync, *, loads: bool) -> Actor:
    clocks = w.machine.clocks
    if node.via == "tma" and loads:
        # An mbarrier may count one copy and not the next: each is an agent of its own.
        agent, clock = clocks.new_agent(), 1
    else:
        agent, clock = clocks.copy_engine(w.index), w.commits + 1
    fenced = clocks.fenced[w.index].copy() if node.via == "tma" else None
    return Actor(agent, clock, clocks.at_issue(w.index), dict(w.loops), fenced)


def _dealt(w: Wave, node: CopyAsync, target: Plan) -> Slots:
    """Which elements of the destination this wave's lanes copy."""
    tables = w.machine.program.tables
    shape = target.shape
    if node.via == "tma":
        key: tuple[object, ...] = ("box", shape)
        if key not in tables:
            tables[key] = slots_of(whole(Linear(1), shape), Seat(0, 1, 1))
        return tables[key]
    cells = w.machine.cells(target.root)
    vector = max(1, _BYTES_PER_LANE[node.via] // DTYPE_BYTES[cells.dtype])
    plain = w.machine.program.slots(whole(Linear(vector), shape), w.seat)
    if node.via != "dma":
        return plain
    values = target.values(w.env)
    key = ("dma", id(node.dst), values, w.seat)
    if key not in tables:
        everything = slots_of(whole(Linear(1), shape), Seat(0, 1, 1))
        address = locate(target, Place(cells, values), everything).address[0]
        in_order = np.argsort(address, kind="stable")
        number = in_order[np.ravel_multi_index(plain.coords, shape)]
        coords = tuple(c.astype(np.intp) for c in np.unravel_index(number, shape))
        tables[key] = Slots(coords, plain.dims, plain.held)
    return tables[key]


def commit(w: Wave, node: Commit) -> None:
    """Close the wave's open group."""
    w.groups.append(w.open)
    w.open = []
    w.commits += 1


def wait(w: Wave, node: Wait) -> None:
    """Complete all but the newest `pending` groups, for this wave. The open group is not among them."""
    while len(w.groups) > node.pending:
        for operation in w.groups.pop(0):
            operation.land()
            w.machine.clocks.retire(w.index, operation.agent, operation.clock)
