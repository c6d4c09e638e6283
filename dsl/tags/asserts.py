"""Assertions that the text makes about tags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argus.dsl.ir import AssertMatch, Component, Ref
from argus.dsl.layout.affine import ne, negation
from argus.dsl.tags.columns import Column, Difference, column, differences, values_of
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.contract import applied
from argus.dsl.tags.domain import Same, Tile, Top
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.slips import Fix, slip
from argus.dsl.tags.state import State
from argus.dsl.tags.values import as_tile
from argus.dsl.tags.views import Outside


class _Undecided(Exception):
    """Why the assertion cannot be decided."""


def assert_match(cx: Context, state: State, site: Site, stmt: AssertMatch) -> None:
    """`assert_match` and `assert_differ`: places that share an axis are compared where that axis agrees."""
    obligation = cx.registry.get("written", site.number)
    obligation.raise_tier("table")
    try:
        x, y = _component(cx, state, stmt.x), _component(cx, state, stmt.y)
        left, right = _aligned(x, y)
    except _Undecided as e:
        obligation.block(str(e))
        return
    if stmt.differ:
        _differ(cx, state, site, left, right)
        return
    for d in differences(left, right):
        fix_class, fix = _fix(cx, stmt, d, x, y)
        want, got = cx.shown(d.want, state), cx.shown(d.got, state)
        finding = Finding(
            f"{stmt.x.axis} = {want} on the left, {stmt.y.axis} = {got} on the right", stmt.span, cx.loops(),
            element=d.first, want=want, got=got, component=stmt.x.axis, producer=cx.origin_span(y.tile), wrong=d.count,
            total=int(d.where.size), fix_class=fix_class, fix=fix,
        )  # fmt: skip
        cx.must(obligation, state, negation(d.bad), "table", lambda finding=finding: finding)


def _fix(cx: Context, stmt: AssertMatch, d: Difference, x: _Sided, y: _Sided) -> Fix:
    if stmt.x.function is None and stmt.y.function is None:
        return slip(cx, stmt.y.axis, d, [(s.name, s.tile, s.column) for s in (x, y)], y.tile)
    return "stage off by n", f"read {stmt.y.axis} where {stmt.x.axis} says"


@dataclass(frozen=True, slots=True, eq=False)
class _Sided:
    """A component of a fragment, with the fragment's axis names."""

    name: str
    tile: Tile
    column: Column
    axes: tuple[str, ...]


def _component(cx: Context, state: State, node: Component) -> _Sided:
    if not isinstance(node.src, Ref):
        raise Outside("an assertion about what no variable holds")
    frag = state.frags[node.src.name]
    tile = as_tile(cx, frag)
    if isinstance(frag, Same):
        raise _Undecided(f"{node.src.name} is uniform: it has no tag {node.axis}")
    if isinstance(tile, Top):
        raise _Undecided(tile.reason)
    assert isinstance(tile, Tile)
    if top := next((v.top for v, _ in values_of(tile.codes, cx.store) if v.top), ""):
        raise _Undecided(top)
    found = column(tile.codes, node.axis, cx.store, state.reduce)
    if found is None:
        raise _Undecided(f"{node.src.name} carries no tag {node.axis}")
    if node.function is not None:
        found = applied(cx.assumptions, node.function, found)
    return _Sided(node.src.name, tile, found, _axis_names(cx, tile))


def _axis_names(cx: Context, tile: Tile) -> tuple[str, ...]:
    """What each dimension of the fragment runs along: the component that varies with it."""
    declared = tile.type.axes
    if all(declared) and len(declared) == tile.codes.ndim:
        return declared
    value = values_of(tile.codes, cx.store)[0][0]
    names = list(declared) + [""] * (tile.codes.ndim - len(declared))
    for comp in value.comps:
        local = cx.store.tables[comp.table][tile.codes & 0xFFFFF]
        for dim in range(tile.codes.ndim):
            if not names[dim] and (np.diff(local, axis=dim) != 0).any():
                names[dim] = comp.axis
    return tuple(names)


def _aligned(x: _Sided, y: _Sided) -> tuple[Column, Column]:
    """Both columns over all axes of either, shared ones matched by name."""
    if len(set(x.axes)) != len(x.axes) or len(set(y.axes)) != len(y.axes):
        raise _Undecided("two axes of one fragment have the same name")
    order = list(dict.fromkeys((*x.axes, *y.axes)))
    shapes = dict[str, int]()
    for side in (x, y):
        for axis, extent in zip(side.axes, side.column.local.shape, strict=True):
            if shapes.setdefault(axis, extent) != extent:
                raise _Undecided(f"the sides have {shapes[axis]} and {extent} elements along {axis}")
    return _spread(x, order), _spread(y, order)


def _spread(side: _Sided, order: list[str]) -> Column:
    # Axes that this side lacks, or along which it does not vary, have extent 1 and broadcast.
    present = [a for a in order if a in side.axes]
    turn = [side.axes.index(a) for a in present]
    local = np.transpose(side.column.local, turn)
    which = None if side.column.which is None else np.transpose(side.column.which, turn)
    for axis in range(local.ndim):
        if which is None and (local == local.take([0], axis)).all():
            local = local.take([0], axis)
    shape = [local.shape[present.index(a)] if a in side.axes else 1 for a in order]
    which = None if which is None else which.reshape(shape)
    return Column(side.column.bases, side.column.raw, which, local.reshape(shape))


def _differ(cx: Context, state: State, site: Site, x: Column, y: Column) -> None:
    """No place may have equal components."""
    obligation = cx.registry.get("written", site.number)
    if x.which is not None or y.which is not None:
        obligation.block("assert_differ on fragments that mix tiles is outside this slice of the checker")
        return
    gap = y.bases[0] - x.bases[0]
    finding = Finding("the components are equal at some place", site.span, cx.loops())
    for step in np.unique(y.local - x.local):
        cx.must(obligation, state, ne(gap + int(step)), "table", lambda: finding)
