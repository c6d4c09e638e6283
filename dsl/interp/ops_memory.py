"""Loads, stores, atomics and operand reads: ordinary accesses by a wave, complete at once."""

from __future__ import annotations

import math

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.interp.access import (
    Access,
    check_read,
    check_write,
    fetch,
    fetch_coords,
    ordinary,
    plan_of,
    put,
    site_of,
)
from argus.dsl.interp.arrays import Floats, Ints
from argus.dsl.interp.fragments import parse_atom, side_extent
from argus.dsl.interp.global_writes import add_to_cells, add_to_tensor, write_tensor
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.memory import Cells
from argus.dsl.interp.placement import default_map, registers_for, slots_of
from argus.dsl.interp.registers import mismatch, read, unsupported
from argus.dsl.interp.sites import Site, Slots
from argus.dsl.interp.values import UNIFORM, Accumulation, Descriptor, Frag, Layout, whole
from argus.dsl.interp.views import Plan
from argus.dsl.ir.nodes import AsOperand, AtomicAdd, Load, Operand, Ref, Store, View
from argus.dsl.layout import Accumulator, OperandMap


def load(w: Wave, node: Load) -> Frag:
    """Every thread of the team takes its share of the view."""
    plan = plan_of(w, node.view)
    cells = w.machine.cells(plan.root)
    if not plan.shape:
        return _load_scalar(w, node)
    layout = _layout(w, node, plan, cells)
    slots = w.machine.program.slots(layout, w.seat)
    cells, site = site_of(w, node.view, slots)
    check_read(w, Access(cells, site, node.span, "reads", ordinary(w)))
    data, poison = fetch(cells, site)
    everywhere = None
    if cells.dtype == "i32" and not cells.tracked and len(plan.shape) == 1:
        everywhere = _reload(w, node.view, plan, cells)
    names = plan.names if node.like is None else _names_like(w, node.like)
    return Frag(data, layout, poison, names, cells.dtype, fetch_coords(cells, site), everywhere)


def _layout(w: Wave, node: Load, plan: Plan, cells: Cells) -> Layout:
    """Registers by the load's map, or those of another fragment without the axes that the view lacks."""
    if node.like is None:
        return whole(node.map or default_map(plan.shape, cells.dtype), plan.shape)
    match w.frags.get(node.like.name):
        case Frag(layout=layout):
            pass
        case Accumulation(map=acc):
            layout = whole(acc, (acc.m, acc.n))
        case _:
            raise mismatch(f"{node.like.name} has no registers to be like", node.span)
    names = _names_like(w, node.like)
    kept = tuple(a for a in layout.kept if names[a] in plan.names)
    if tuple(names[a] for a in kept) != plan.names or tuple(layout.shape[a] for a in kept) != plan.shape:
        raise mismatch(f"a view of axes {', '.join(plan.names)} is not like {node.like.name}", node.span)
    return Layout(layout.base, layout.shape, kept)


def _names_like(w: Wave, like: Ref) -> tuple[str, ...]:
    """Axis names of a fragment's base; those that its own data do not tell follow from its type."""
    value = w.frags[like.name]
    assert not isinstance(value, Descriptor)
    typed = w.machine.program.axis_names.get(like.name, ())
    kept = value.layout.kept if isinstance(value, Frag) else (0, 1)
    by_type = dict(zip(kept, typed, strict=True)) if len(kept) == len(typed) else {}
    return tuple(name or by_type.get(axis, "") for axis, name in enumerate(value.axes))


def _load_scalar(w: Wave, node: Load) -> Frag:
    """Every thread reads the one element."""
    slots = Slots((), (1, 1))
    cells, site = site_of(w, node.view, w.machine.program.tables.setdefault(("scalar",), slots))
    check_read(w, Access(cells, site, node.span, "reads", ordinary(w)))
    data, poison = fetch(cells, site)
    return Frag(data, UNIFORM, poison, (), cells.dtype)


def _reload(w: Wave, view: View, plan: Plan, cells: Cells) -> Floats:
    """All of a read-only index vector, as any wave may read it again; padding included."""
    key = ("all", plan.shape)
    tables = w.machine.program.tables
    if key not in tables:
        tables[key] = Slots((np.arange(plan.shape[0])[None, :],), (1, plan.shape[0]))
    _, site = site_of(w, view, tables[key])
    return fetch(cells, site)[0][0]


def store(w: Wave, node: Store) -> None:
    """Registers to memory; of threads that hold equal values the first writes."""
    if node.via != "direct":
        raise AssertionError("store(via='tma') is sugar")
    value = read(w, node.value)
    cells, site = _target(w, node.view, value, node.span)
    access = Access(cells, site, node.span, "writes", ordinary(w))
    if cells.shared:
        check_write(w, access)
        put(cells, site, value.data, value.poison, value.coords)
    else:
        write_tensor(w, access, value.data, value.poison)


def atomic_add(w: Wave, node: AtomicAdd) -> None:
    """Add a fragment to memory, cell by cell."""
    value = read(w, node.value)
    cells, site = _target(w, node.view, value, node.span)
    access = Access(cells, site, node.span, "adds to", ordinary(w, atomic=True))
    if cells.shared:
        check_write(w, access)
        add_to_cells(access, value.data, value.poison)
    else:
        add_to_tensor(w, access, value.data, value.poison)


def _target(w: Wave, view: View, value: Frag, span: Span) -> tuple[Cells, Site]:
    plan = plan_of(w, view)
    cells = w.machine.cells(plan.root)
    program = w.machine.program
    layout = value.layout
    if layout.uniform:
        layout = whole(default_map(plan.shape, cells.dtype), plan.shape) if plan.shape else UNIFORM
    if layout.dims != plan.shape:
        raise mismatch(f"a fragment of shape {list(layout.dims)} is stored to a view of shape {list(plan.shape)}", span)
    key = ("owned", layout, w.seat)
    slots = program.tables.get(key)
    if slots is None:
        full = slots_of(layout, w.seat)
        slots = program.tables[key] = Slots(full.coords, full.dims, full.owned, full.owned)
    return site_of(w, view, slots)


def operand(w: Wave, node: Operand) -> Frag | Descriptor:
    """Operand registers read from memory or from other registers; on sm_90a shared memory is read in place."""
    acc = _accumulator(w, node.acc, node.span)
    depth = parse_atom(acc.atom).k * node.pack
    step = w.machine.program.expr(node.ks)(w.env) * depth
    if isinstance(node.src, Ref) and node.src.name in w.frags:
        return _operand_of_registers(w, node, acc, step)
    cells = w.machine.cells(plan_of(w, node.src).root)
    if cells.shared and parse_atom(acc.atom).warpgroup:
        return _descriptor(w, node, acc, step, depth)
    layout = whole(OperandMap(node.side, acc, node.pack), (side_extent(acc, node.side), depth))
    slots = _deep_slots(w, layout, step)
    cells, site = site_of(w, node.src, slots)
    check_read(w, Access(cells, site, node.span, "reads", ordinary(w)))
    data, poison = fetch(cells, site)
    return Frag(data, layout, poison, plan_of(w, node.src).names, cells.dtype, fetch_coords(cells, site))


def _accumulator(w: Wave, name: str, span: Span) -> Accumulator:
    match w.frags.get(name):
        case Accumulation(map=acc):
            return acc
        case Frag(layout=Layout(base=Accumulator() as acc)):
            return acc
        case _:
            raise unsupported(f"{name} is no accumulator here", span)


def _deep_slots(w: Wave, layout: Layout, step: int) -> Slots:
    """An operand's registers, `step` elements further along k."""
    tables = w.machine.program.tables
    key = ("k", layout, w.seat, step)
    slots = tables.get(key)
    if slots is None:
        base = w.machine.program.slots(layout, w.seat)
        slots = tables[key] = Slots((base.coords[0], base.coords[1] + step), base.dims, base.held)
    return slots


def _descriptor(w: Wave, node: Operand, acc: Accumulator, step: int, depth: int) -> Descriptor:
    tile = w.machine.program.accumulator(acc, w.seat.position)
    rows: Ints = tile.rows if node.side == "a" else tile.columns
    values = plan_of(w, node.src).values(w.env)
    return Descriptor(node.src, node.side, rows, np.arange(step, step + depth), values)


def _operand_of_registers(w: Wave, node: Operand, acc: Accumulator, step: int) -> Frag:
    """Each lane takes the operand's elements out of its own registers; what it does not hold is poison."""
    src = read(w, node.src)
    program = w.machine.program
    depth = parse_atom(acc.atom).k * node.pack
    layout = whole(OperandMap(node.side, acc, node.pack), (side_extent(acc, node.side), depth))
    wanted, have = _deep_slots(w, layout, step), program.slots(src.layout, w.seat)
    key = ("pick", src.layout, layout, w.seat, step)
    if key not in program.moves:
        program.moves[key] = registers_for(have, (0, 1), wanted)
    return moved(src, program.moves[key], layout, src.names)


def moved(src: Frag, move: object, layout: Layout, names: tuple[str, ...]) -> Frag:
    """A fragment whose slot s holds the source's register `move[s]`; -1: poison. None: nothing moves."""
    if move is None:
        return Frag(src.data, layout, src.poison, names, src.dtype, src.coords)
    assert isinstance(move, np.ndarray)
    missing = move < 0
    data = np.where(missing, np.nan, src.data.reshape(-1)[move])
    poison = missing if src.poison is None else missing | src.poison.reshape(-1)[move]
    coords = {a: np.where(missing, np.nan, c.reshape(-1)[move]) for a, c in src.coords.items()}
    return Frag(data, layout, poison if poison.any() else None, names, src.dtype, coords)


def as_operand(w: Wave, node: AsOperand) -> Frag:
    """The registers that hold k-step `ks` of an accumulator-shaped fragment, read as an operand; nothing moves.

    A lane's consecutive accumulator registers run along the rows on gfx942 and along the columns on sm_90a, so that
    axis is the operand's k. Where the two maps do not agree, the registers taken are the same and hold other elements:
    that is a mistake of the kernel.
    """
    src = read(w, node.src)
    acc = _accumulator(w, node.acc, node.span)
    base = src.layout.base
    if not isinstance(base, Accumulator):
        raise mismatch("as_operand reads the registers of an accumulator", node.span)
    atom = parse_atom(acc.atom)
    k_axis = 1 if atom.lanes == 32 else 0
    layout = whole(OperandMap(node.side, acc), (side_extent(acc, node.side), atom.k))
    picked = _register_runs(w, base, acc, node, k_axis)
    names = src.names if k_axis == 1 else src.names[::-1]
    data = src.data[:, picked]
    poison = None if src.poison is None else src.poison[:, picked]
    return Frag(data, layout, poison, names, src.dtype, {a: c[:, picked] for a, c in src.coords.items()})


def _register_runs(w: Wave, base: Accumulator, acc: Accumulator, node: AsOperand, k_axis: int) -> Ints:
    """Slot numbers of `base`'s registers for one k-step: from each atom along the side, the step's run."""
    step = w.machine.program.expr(node.ks)(w.env)
    tile = w.machine.program.accumulator(base, w.seat.position)
    source, target = parse_atom(base.atom), parse_atom(acc.atom)
    down, across = len(tile.rows) // source.rows_per_wave, len(tile.columns) // source.n
    registers = tile.slots // (down * across)
    along_k = (source.rows_per_wave, source.n)[k_axis]
    per_atom = math.prod((target.rows_per_wave, target.k)) // target.lanes
    atom_k, inside = divmod(step * target.k, along_k)
    run = inside // target.k * per_atom + np.arange(per_atom)
    if atom_k >= (down, across)[k_axis]:
        raise mismatch(f"k-step {step} lies beyond the fragment", node.span)
    side_atoms = np.arange((down, across)[1 - k_axis])
    first = atom_k * across + side_atoms if k_axis == 0 else side_atoms * across + atom_k
    return (first[:, None] * registers + run[None, :]).reshape(-1)
