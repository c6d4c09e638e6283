"""From a view and the registers of a wave to addresses.

Every view is, along each axis of the memory below it, either one index or a run of consecutive ones; so an element's
coordinates are offsets plus its place in the view. What lies outside a tile's source is padding, what lies outside
anything else is out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from argus.dsl.interp.arrays import Bools, Floats, Ints
from argus.dsl.interp.expression import Compiled, Env, compiled
from argus.dsl.interp.memory import Cells
from argus.dsl.ir.nodes import At, Cols, Field, Gather, Ref, Rows, TileAt, Transposed, View
from argus.dsl.layout import Expr


@dataclass(frozen=True, slots=True)
class Affine:
    """A constant plus multiples of index expressions, given by number."""

    constant: int = 0
    terms: tuple[tuple[int, int], ...] = ()

    def at(self, values: tuple[int, ...]) -> int:
        return self.constant + sum(scale * values[number] for number, scale in self.terms)


@dataclass(frozen=True, slots=True)
class Window:
    """`extent` coordinates from `start`; leaving a padding one gives the pad value, leaving another is a fault."""

    start: Affine
    extent: int
    pads: bool


@dataclass(frozen=True, slots=True)
class Track:
    """One axis of the memory: coordinate = offset + place along view axis `source` (None: fixed).

    Attributes:
        windows: Outermost view first.
        through: After the offset, look the coordinate up in the gather's index and go on with this track.
    """

    source: int | None
    offset: Affine
    windows: tuple[Window, ...]
    through: Track | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A view with its index expressions taken out, so that addresses can be kept for each of their values.

    Attributes:
        names: Tag name of each view axis, '' where the memory gives none.
        index: Name of the fragment that a gather goes through.
    """

    root: str
    shape: tuple[int, ...]
    names: tuple[str, ...]
    tracks: tuple[Track, ...]
    exprs: tuple[Compiled, ...] = ()
    pad: float = 0.0
    index: str | None = None

    def values(self, env: Env) -> tuple[int, ...]:
        return tuple([e(env) for e in self.exprs])


@dataclass(frozen=True, slots=True)
class Slots:
    """Which element of a tile each register of a wave holds.

    Attributes:
        coords: For each axis of the tile, its coordinate by (lane, slot).
        held: Which registers hold an element at all; None: all.
        owned: Which of them write when the value is stored: one of those with equal values; None: all.
    """

    coords: tuple[Ints, ...]
    dims: tuple[int, int]
    held: Bools | None = None
    owned: Bools | None = None

    @property
    def lanes(self) -> int:
        return self.dims[0]


@dataclass(frozen=True, slots=True)
class Site:
    """The addresses of one access of one wave.

    Attributes:
        address: (lanes, slots); meaningless where `selected` leaves a slot out.
        hit: The addresses really touched, flat.
        selected: The flat slots that touch them; None: all.
        lane_of: The lane of each entry of `hit`.
        blank: Data of the slots that touch nothing: pad value, or NaN.
        blank_poison: Whether those are poison: slots without an element, and elements out of bounds.
        outside: Flat slots out of bounds; `outside_at`: the coordinates of the first.
        coords: Global coordinates of each slot's element, padding included, for tensors.
    """

    address: Ints
    hit: Ints
    selected: Ints | None
    lane_of: Ints
    blank: Floats | None = None
    blank_poison: Bools | None = None
    outside: Ints | None = None
    outside_at: tuple[int, ...] = ()
    coords: Mapping[str, Floats] = field(default_factory=dict[str, Floats])

    def repeated(self) -> int | None:
        """Position in `hit` of an address that another slot touches too."""
        order = np.argsort(self.hit, kind="stable")
        same = np.flatnonzero(np.diff(self.hit[order]) == 0)
        return int(order[same[0] + 1]) if len(same) else None


@dataclass(frozen=True, slots=True)
class Root:
    """Shape and axis names of a tensor or shared buffer."""

    shape: tuple[int, ...]
    names: tuple[str, ...]


def plan_view(
    view: View,
    root: Callable[[Ref], Root | View],
    index_length: Callable[[str], tuple[int, str]],
) -> Plan:
    """Take a view apart.

    Args:
        view: In core form.
        root: Shape and axis names of a tensor or buffer, or the view that a name stands for.
        index_length: Length and axis name of an index fragment.
    """
    match view:
        case Ref():
            found = root(view)
            if not isinstance(found, Root):
                return plan_view(found, root, index_length)
            shape, names = found.shape, found.names
            tracks = tuple(Track(a, Affine(), (Window(Affine(), n, pads=False),)) for a, n in enumerate(shape))
            return Plan(view.name, shape, names, tracks)
        case At(src=src, index=index):
            return _fix(plan_view(src, root, index_length), index)
        case Rows(src=src, start=start, count=count):
            return _run(plan_view(src, root, index_length), 0, start, count)
        case Cols(src=src, start=start, count=count):
            return _run(plan_view(src, root, index_length), 1, start, count)
        case Transposed(src=src):
            return _swap(plan_view(src, root, index_length))
        case TileAt(src=src, shape=shape, index=index, pad=pad):
            return _tile(plan_view(src, root, index_length), shape, index, pad)
        case Gather(src=src, index=index):
            assert isinstance(index, Ref), "core form gathers by a named fragment"
            return _gather(plan_view(src, root, index_length), index.name, *index_length(index.name))
        case Field():
            raise AssertionError("a ring's field is sugar")


def _moved(track: Track, number: int, scale: int) -> Track:
    offset = Affine(track.offset.constant, (*track.offset.terms, (number, scale)))
    return replace(track, offset=offset)


def _fix(plan: Plan, index: Expr) -> Plan:
    number = len(plan.exprs)
    tracks: list[Track] = []
    for track in plan.tracks:
        if track.source == 0:
            tracks.append(replace(_moved(track, number, 1), source=None))
        else:
            tracks.append(track if track.source is None else replace(track, source=track.source - 1))
    exprs = (*plan.exprs, compiled(index))
    return replace(plan, shape=plan.shape[1:], names=plan.names[1:], tracks=tuple(tracks), exprs=exprs)


def _run(plan: Plan, axis: int, start: Expr, count: int) -> Plan:
    number = len(plan.exprs)

    def narrow(track: Track) -> Track:
        moved = _moved(track, number, 1)
        return replace(moved, windows=(Window(moved.offset, count, pads=False), *moved.windows))

    tracks = tuple(narrow(t) if t.source == axis else t for t in plan.tracks)
    shape = (*plan.shape[:axis], count, *plan.shape[axis + 1 :])
    return replace(plan, shape=shape, tracks=tracks, exprs=(*plan.exprs, compiled(start)))


def _swap(plan: Plan) -> Plan:
    other = {0: 1, 1: 0}
    tracks = tuple(t if t.source is None else replace(t, source=other[t.source]) for t in plan.tracks)
    return replace(plan, shape=plan.shape[::-1], names=plan.names[::-1], tracks=tracks)


def _tile(plan: Plan, shape: tuple[int, ...], index: tuple[Expr, ...], pad: float) -> Plan:
    first = len(plan.exprs)

    def enter(track: Track) -> Track:
        if track.source is None:
            return track
        guard = Window(track.offset, plan.shape[track.source], pads=True)
        moved = _moved(track, first + track.source, shape[track.source])
        return replace(moved, windows=(guard, *moved.windows))

    exprs = (*plan.exprs, *(compiled(i) for i in index))
    return replace(plan, shape=shape, tracks=tuple(enter(t) for t in plan.tracks), exprs=exprs, pad=pad)


def _gather(plan: Plan, name: str, length: int, axis: str) -> Plan:
    def look_up(track: Track) -> Track:
        if track.source != 0:
            return track
        return Track(0, Affine(), (Window(Affine(), length, pads=False),), through=track)

    tracks = tuple(look_up(t) for t in plan.tracks)
    return replace(plan, shape=(length, *plan.shape[1:]), names=(axis, *plan.names[1:]), tracks=tracks, index=name)


@dataclass(frozen=True, slots=True)
class Place:
    """What a plan needs besides registers to give addresses.

    Attributes:
        cells: The memory below the view.
        values: Of the plan's index expressions.
        index: The rows of a gather, all of them; -1 is a pad row.
        axes: The memory's own axis names, for coordinates; () when nobody asks.
    """

    cells: Cells
    values: tuple[int, ...]
    index: Floats | None = None
    axes: tuple[str, ...] = ()


def locate(plan: Plan, place: Place, slots: Slots) -> Site:
    """The addresses of every slot."""
    cells, values, axes = place.cells, place.values, place.axes
    held = np.ones(slots.dims, np.bool_) if slots.held is None else slots.held
    padded, outside = np.zeros(slots.dims, np.bool_), np.zeros(slots.dims, np.bool_)
    flat = np.zeros(slots.dims, np.intp)
    coords: dict[str, Floats] = {}
    every: list[Ints] = []
    for axis, track in enumerate(plan.tracks):
        along, pads, out = _walk(track, values, slots, place.index)
        padded |= pads
        outside |= out
        every.append(along)
        if axes and axes[axis]:
            coords[axes[axis]] = np.broadcast_to(along, slots.dims).astype(np.float64)
        flat = flat * cells.shape[axis] + along
    outside &= ~padded & held
    real = held & ~padded & ~outside
    address = np.where(real, flat, 0)
    if cells.places is not None and cells.places.size:
        address = cells.places[address]
    lanes = np.broadcast_to(np.arange(slots.lanes)[:, None], slots.dims)
    if real.all():
        return Site(address, address.reshape(-1), None, lanes.reshape(-1), coords=coords)
    blank = np.where(padded & held, plan.pad, np.nan)
    selected = np.flatnonzero(real)
    missing = np.flatnonzero(outside)
    return Site(
        address=address,
        hit=address.reshape(-1)[selected],
        selected=selected,
        lane_of=lanes.reshape(-1)[selected],
        blank=blank,
        blank_poison=~real & ~(padded & held),
        outside=missing if len(missing) else None,
        outside_at=tuple(int(a.reshape(-1)[missing[0]]) for a in every) if len(missing) else (),
        coords=coords,
    )


def _walk(track: Track, values: tuple[int, ...], slots: Slots, index: Floats | None) -> tuple[Ints, Bools, Bools]:
    """(coordinate, is padding, is out of bounds) along one axis of the memory, of every slot."""
    place = np.zeros(slots.dims, np.intp) if track.source is None else slots.coords[track.source]
    along = place + track.offset.at(values)
    padded, outside = np.zeros(slots.dims, np.bool_), np.zeros(slots.dims, np.bool_)
    for window in track.windows:
        start = window.start.at(values)
        beyond = (along < start) | (along >= start + window.extent)
        if window.pads:
            padded |= beyond & ~outside
        else:
            outside |= beyond & ~padded
    if track.through is None:
        return along, padded, outside
    assert index is not None
    safe = np.where(padded | outside, 0, along)
    rows = index[safe].astype(np.intp)
    inner = replace(track.through, source=0)
    further, pads, out = _walk(inner, values, Slots((rows,), slots.dims), None)
    skipped = rows == -1
    return further, padded | pads | skipped, outside | (out & ~skipped & ~padded)
