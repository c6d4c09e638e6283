"""Views taken apart: per axis of the memory below, an offset and what bounds it.

Every view is, along each axis of the memory below it, either one index or a run of consecutive ones; so an element's
coordinates are offsets plus its place in the view. What lies outside a tile's source is padding, what lies outside
anything else is out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from argus.dsl.interp.expression import Compiled, Env, compiled
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
