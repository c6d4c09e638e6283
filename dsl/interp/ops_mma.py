"""Matrix multiply-accumulate: complete at once on gfx942, in flight until `mma_wait` on sm_90a."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from argus.dsl.interp.access import Access, Actor, check_read, fetch, fetch_coords, site_of
from argus.dsl.interp.arrays import Bools, Floats
from argus.dsl.interp.fragments import parse_atom
from argus.dsl.interp.landing import InFlight
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.memory import Cells
from argus.dsl.interp.registers import accumulation, mismatch, read, unsupported
from argus.dsl.interp.sites import Site, Slots
from argus.dsl.interp.values import Accumulation, Descriptor, Frag
from argus.dsl.ir.nodes import Frag as FragNode
from argus.dsl.ir.nodes import MmaAcc, MmaInto, MmaWait, Ref
from argus.dsl.layout import Accumulator, OperandMap, Side


def mma_acc(w: Wave, node: MmaAcc) -> Accumulation:
    """Zeros, in the wave's part of an m x n tile."""
    try:
        parse_atom(node.atom)
    except ValueError as error:
        raise unsupported(str(error), node.span) from None
    acc = Accumulator(node.atom, node.m, node.n, node.grid)
    tile = w.machine.program.accumulator(acc, w.seat.position)
    return Accumulation(acc, np.zeros((len(tile.rows), len(tile.columns))))


@dataclass(frozen=True, slots=True)
class _Matrix:
    """An operand as the instruction sees it: (rows, k), its k in hardware order."""

    data: Floats
    poison: Bools | None
    coords: Mapping[str, Floats]


def mma_into(w: Wave, node: MmaInto) -> None:
    """`acc += a b^T` over the k of one step."""
    current = w.frags.get(node.acc)
    if isinstance(current, Frag):
        current = accumulation(w, current, node.span)
    if not isinstance(current, Accumulation):
        raise unsupported(f"{node.acc} is no accumulator here", node.span)
    a, b = _operand(w, node.a, "a", current), _operand(w, node.b, "b", current)
    names = (_row_name(w, node.a) or current.axes[0], _row_name(w, node.b) or current.axes[1])
    if not parse_atom(current.map.atom).warpgroup:
        # A new value: other names may still hold the old one.
        w.frags[node.acc] = result = Accumulation(current.map, current.matrix, current.poison, names)
        result.row_coords, result.column_coords = current.row_coords, current.column_coords
        _accumulate(result, a(), b())
        return
    target = current
    if not current.pending:
        target = Accumulation(current.map, current.matrix, current.poison, names)
        target.row_coords, target.column_coords = dict(current.row_coords), dict(current.column_coords)
        w.frags[node.acc] = target
    target.pending += 1
    _issue(w, node, target, a, b)


def _issue(w: Wave, node: MmaInto, target: Accumulation, a: Callable[[], _Matrix], b: Callable[[], _Matrix]) -> None:
    """MMAs of a wave take effect in order, so one that lands takes its elders along."""
    elders = [m for batch in w.batches for m, _ in batch]

    def effect() -> None:
        for elder in elders:
            elder.land()
        _accumulate(target, a(), b())

    machine = w.machine
    operation = InFlight(effect, node.span, machine.clocks.mma_engine(w.index), w.batch_number)
    w.batches[-1].append((operation, target))
    machine.landings.issue(operation, machine.step)


def _accumulate(acc: Accumulation, a: _Matrix, b: _Matrix) -> None:
    if a.data.shape[1] != b.data.shape[1] or acc.matrix.shape != (len(a.data), len(b.data)):
        raise AssertionError("operands do not fit the accumulator")
    acc.matrix = acc.matrix + a.data @ b.data.T
    if a.poison is not None or b.poison is not None:
        reached = _poisoned_rows(a)[:, None] | _poisoned_rows(b)[None, :]
        acc.poison = reached if acc.poison is None else acc.poison | reached
    _carry_coords(acc.row_coords, a)
    _carry_coords(acc.column_coords, b)


def _poisoned_rows(operand: _Matrix) -> Bools:
    if operand.poison is None:
        return np.zeros(len(operand.data), np.bool_)
    return np.logical_or.reduce(operand.poison, axis=1)


def _carry_coords(known: dict[str, Floats], operand: _Matrix) -> None:
    for axis, values in operand.coords.items():
        # A coordinate that varies along k is reduced away.
        if axis not in known and (values == values[:, :1]).all():
            known[axis] = values[:, 0].copy()


def mma_wait(w: Wave, node: MmaWait) -> None:
    """Close the open batch, then complete all but the newest `pending` batches."""
    if w.batches[-1]:
        w.batches.append([])
        w.batch_number += 1
    while len(w.batches) - 1 > node.pending:
        for operation, target in w.batches.pop(0):
            operation.land()
            target.pending -= 1
            w.machine.clocks.retire(w.index, operation.agent, operation.clock)


def _row_name(w: Wave, node: FragNode) -> str:
    value = w.frags.get(node.name) if isinstance(node, Ref) else None
    return value.axes[0] if isinstance(value, Frag) and value.axes else ""


def _operand(w: Wave, node: FragNode, side: Side, acc: Accumulation) -> Callable[[], _Matrix]:
    """A function that gives the operand when the instruction reads it."""
    value = w.frags.get(node.name) if isinstance(node, Ref) else None
    if isinstance(value, Descriptor):
        return _from_shared(w, value, node)
    value = read(w, node)
    base = value.layout.base
    if not isinstance(base, OperandMap):
        raise mismatch("mma multiplies operands", node.span)
    tile = w.machine.program.operand(base, w.seat.position)
    wanted = acc.matrix.shape[0 if side == "a" else 1]
    if len(tile.rows) != wanted:
        raise mismatch(
            f"operand {side!r} has {len(tile.rows)} rows a wave where the accumulator has {wanted}", node.span
        )

    def gather() -> _Matrix:
        poison = None if value.poison is None else value.poison.reshape(-1)[tile.consumed]
        coords = {axis: c.reshape(-1)[tile.consumed] for axis, c in value.coords.items()}
        return _Matrix(value.data.reshape(-1)[tile.consumed], poison, coords)

    return gather


def _from_shared(w: Wave, value: Descriptor, node: FragNode) -> Callable[[], _Matrix]:
    """The instruction reads shared memory through the async proxy at some time between issue and `mma_wait`."""
    tables = w.machine.program.tables
    key = ("descriptor", value.rows.tobytes(), int(value.columns[0]), len(value.columns))
    if key not in tables:
        dims = (len(value.rows), len(value.columns))
        rows = np.broadcast_to(value.rows[:, None], dims)
        tables[key] = Slots((rows, np.broadcast_to(value.columns[None, :], dims)), dims)
    cells, site = site_of(w, value.view, tables[key], value.values)
    clocks = w.machine.clocks
    agent = clocks.mma_engine(w.index)
    actor = Actor(
        agent, w.batch_number, clocks.known[w.index].copy(), dict(w.loops), fenced=clocks.fenced[w.index].copy()
    )
    check_read(w, Access(cells, _whole_wave(site), node.span, "multiplies", actor))
    return lambda: _fetch_matrix(cells, site)


def _whole_wave(site: Site) -> Site:
    """No lane reads a descriptor's elements: blame the first."""
    return Site(site.address, site.hit, site.selected, np.zeros_like(site.lane_of), outside=site.outside)


def _fetch_matrix(cells: Cells, site: Site) -> _Matrix:
    data, poison = fetch(cells, site)
    return _Matrix(data, poison, fetch_coords(cells, site))
