"""Operations that move values between lanes or waves: reduce, relayout, shuffle."""

from __future__ import annotations

from collections.abc import Generator, Mapping

import numpy as np

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.interp.arrays import Bools, Floats, Ints
from argus.dsl.interp.gate import Assembly, Gate
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.ops_memory import moved
from argus.dsl.interp.registers import mismatch, read
from argus.dsl.interp.values import Frag, Layout, whole
from argus.dsl.ir.nodes import Reduce, Relayout, Shuffle

_REDUCERS: Mapping[str, np.ufunc] = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def reduce(w: Wave, node: Reduce) -> Generator[Gate, None, Frag]:
    """Combine along an axis: the elements of this wave, or of all waves of the team.

    Across a block the waves exchange partial results and therefore wait for one another; that orders none of the
    kernel's own memory accesses.
    """
    src = read(w, node.src)
    axis = _axis(src, node)
    kept = tuple(a for a in src.layout.kept if a != axis)
    layout = Layout(src.layout.base, src.layout.shape, kept)
    slots = w.machine.program.slots(src.layout, w.seat)
    data = np.broadcast_to(src.data, slots.dims)
    poison = np.zeros(slots.dims, np.bool_) if src.poison is None else src.poison
    element = _flat(src.layout, slots.coords, src.layout.kept, slots.dims)
    group = _flat(src.layout, slots.coords, kept, slots.dims)
    held = np.ones(slots.dims, np.bool_) if slots.held is None else slots.held
    # Several lanes may hold the same element: each counts once.
    distinct, first = np.unique(element[held], return_index=True)
    part = (data[held][first], poison[held][first], distinct)
    extent = src.layout.shape[axis]
    inner = int(np.prod([src.layout.shape[a] for a in src.layout.kept if a > axis], dtype=np.intp))
    size = int(np.prod(src.layout.dims, dtype=np.intp)) // extent
    if node.across == "block":
        part = yield from _gather(w, node, part)
    values, bad = _combine(_REDUCERS[node.op], part, extent, inner, size)
    if not kept:
        return Frag(values.reshape(1, 1), poison=bad.reshape(1, 1) if bad.any() else None, dtype=src.dtype)
    safe = np.where(held, group, 0)
    out, out_bad = values[safe], bad[safe]
    out_bad = out_bad | ~held if not held.all() else out_bad
    coords = {a: c for a, c in src.coords.items() if a != node.axis}
    return Frag(np.where(out_bad, np.nan, out), layout, out_bad if out_bad.any() else None, src.axes, src.dtype, coords)


def _axis(src: Frag, node: Reduce) -> int:
    for axis in src.layout.kept:
        if src.axes[axis] == node.axis:
            return axis
    text = f"the fragment has axes {', '.join(n or '?' for n in src.names) or 'none'}, not {node.axis}"
    raise KernelError(Diagnostic(code=Code.UNKNOWN_NAME, message=text, span=node.span))


def _flat(layout: Layout, coords: tuple[Ints, ...], kept: tuple[int, ...], dims: tuple[int, int]) -> Ints:
    """Row-major number of each register's element among those of the axes `kept`."""
    flat = np.zeros(dims, np.intp)
    for axis, along in zip(layout.kept, coords, strict=True):
        if axis in kept:
            flat = flat * layout.shape[axis] + along
    return flat


def _combine(
    reducer: np.ufunc, part: tuple[Floats, Bools, Ints], extent: int, inner: int, size: int
) -> tuple[Floats, Bools]:
    data, poison, element = part
    outer, low = element // (extent * inner), element % inner
    group = outer * inner + low
    values = np.full(size, np.nan)
    bad = np.ones(size, np.bool_)
    order = np.argsort(group, kind="stable")
    group = group[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    if len(starts):
        values[group[starts]] = reducer.reduceat(data[order], starts)
        bad[group[starts]] = np.logical_or.reduceat(poison[order], starts)
    return values, bad


def _gather(
    w: Wave, node: Reduce, part: tuple[Floats, Bools, Ints]
) -> Generator[Gate, None, tuple[Floats, Bools, Ints]]:
    machine = w.machine
    key = (id(node), w.first, w.team)
    assembly = machine.assemblies.get(key)
    if assembly is None:
        assembly = machine.assemblies[key] = Assembly(Gate(f"reduce({node.op!r}, across='block')", node.span))
    assembly.parts[w.index] = part
    if len(assembly.parts) == w.team:
        del machine.assemblies[key]
        assembly.gate.open = machine.woken = True
    while not assembly.gate.open:
        yield assembly.gate
    parts = [assembly.parts[i] for i in sorted(assembly.parts)]
    element = np.concatenate([p[2] for p in parts])
    distinct, first = np.unique(element, return_index=True)
    data, poison = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    return data[first], poison[first], distinct


def relayout(w: Wave, node: Relayout) -> Frag:
    """The same elements under another map. Elements that another wave holds cannot be had: they are poison."""
    src = read(w, node.src)
    layout = whole(node.map, src.layout.dims)
    program = w.machine.program
    key = ("relayout", src.layout, layout, w.seat)
    if key not in program.moves:
        have, wanted = program.slots(src.layout, w.seat), program.slots(layout, w.seat)
        program.moves[key] = _across_lanes(have.coords, have.held, have.dims, wanted.coords, wanted.dims)
    return moved(src, program.moves[key], layout, src.names)


def _across_lanes(
    have: tuple[Ints, ...], held: Bools | None, dims: tuple[int, int], wanted: tuple[Ints, ...], out: tuple[int, int]
) -> Ints:
    """For each wanted register the flat register of the wave that holds its element, or -1."""
    extents = [int(max(a.max(initial=0), b.max(initial=0))) + 1 for a, b in zip(have, wanted, strict=True)]
    table = np.full(int(np.prod(extents, dtype=np.intp)), -1, np.intp)
    numbers = np.arange(dims[0] * dims[1]).reshape(dims)
    mine = np.ravel_multi_index(have, extents)
    mask = np.ones(dims, np.bool_) if held is None else held
    table[mine[mask]] = numbers[mask]
    return table[np.ravel_multi_index(wanted, extents)].reshape(out)


def shuffle(w: Wave, node: Shuffle) -> Frag:
    """Each lane takes the register that lane `lane` has at the same slot; a lane that does not exist gives poison."""
    src, lane = read(w, node.src), read(w, node.lane)
    lanes = w.lanes
    slots = src.data.shape[1]
    data = np.broadcast_to(src.data, (lanes, slots))
    source = np.broadcast_to(lane.data, (lanes, lane.data.shape[1]))
    if source.shape[1] not in (1, slots):
        raise mismatch("shuffle takes one lane number a lane, or one a register", node.span)
    source = np.broadcast_to(source, (lanes, slots))
    bad = ~((source >= 0) & (source < lanes))
    safe = np.where(bad, 0, source).astype(np.intp)
    out = np.take_along_axis(data, safe, axis=0)
    if src.poison is not None:
        bad = bad | np.take_along_axis(np.broadcast_to(src.poison, (lanes, slots)), safe, axis=0)
    if lane.poison is not None:
        bad = bad | lane.poison
    # Whatever coordinates the source had, they moved with the data in a way that only the checker follows.
    return Frag(np.where(bad, np.nan, out), src.layout, bad if bad.any() else None, src.axes, src.dtype)
