"""From a view and the registers of a wave to addresses.

What lies outside a tile's source is padding, what lies outside anything else is out of bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from argus.dsl.interp.arrays import Bools, Floats, Ints
from argus.dsl.interp.memory import Cells
from argus.dsl.interp.views import Plan, Track


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
        repeated: Position in `hit` of an address that another slot touches too; None: all are different.
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
    repeated: int | None = None
    coords: Mapping[str, Floats] = field(default_factory=dict[str, Floats])


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
    lanes = _lane_numbers(slots.dims)
    if real.all():
        hit = address.reshape(-1)
        return Site(address, hit, None, lanes, repeated=_repeated(hit), coords=coords)
    blank = np.where(padded & held, plan.pad, np.nan)
    selected = np.flatnonzero(real)
    missing = np.flatnonzero(outside)
    hit = address.reshape(-1)[selected]
    return Site(
        address=address,
        hit=hit,
        selected=selected,
        lane_of=lanes[selected],
        blank=blank,
        blank_poison=~real & ~(padded & held),
        outside=missing if len(missing) else None,
        outside_at=tuple(int(a.reshape(-1)[missing[0]]) for a in every) if len(missing) else (),
        repeated=_repeated(hit),
        coords=coords,
    )


@cache
def _lane_numbers(dims: tuple[int, int]) -> Ints:
    """The lane of each slot; most accesses touch all slots and share one table."""
    return np.repeat(np.arange(dims[0]), dims[1])


def _repeated(hit: Ints) -> int | None:
    order = np.argsort(hit, kind="stable")
    same = np.flatnonzero(np.diff(hit[order]) == 0)
    return int(order[same[0] + 1]) if len(same) else None


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
