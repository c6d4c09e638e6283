"""Coordinates as data: `x.j`, what is computed of them, and masks by conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from argus.dsl.ir.nodes import BinaryOp
from argus.dsl.ir.types import FragType
from argus.dsl.layout.affine import (
    TRUE,
    Affine,
    Formula,
    conjunction,
    disjunction,
    eq,
    formula_variables,
    ge,
    ne,
    negation,
    product,
    var,
)
from argus.dsl.tags import pads
from argus.dsl.tags.columns import column
from argus.dsl.tags.combine import Combine, values_in
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import (
    Comp,
    Coords,
    Fragment,
    Lowest,
    Mask,
    Same,
    Stat,
    Tile,
    Top,
    Value,
    closed,
    own,
    recoded,
)
from argus.dsl.tags.lanes import spread
from argus.dsl.tags.pointwise import Pointwise
from argus.dsl.tags.state import State, same_fragment
from argus.dsl.tags.values import as_tile


def coordinate(cx: Context, state: State, frag: Fragment, axis: str, made: FragType) -> Fragment:
    """`x.axis`: where each element of `x` comes from."""
    tile = as_tile(cx, frag)
    if isinstance(tile, Top):
        return replace(tile, type=made)
    assert isinstance(tile, Tile)
    found = column(tile.codes, axis, cx.store, state.reduce)
    if found is None or found.which is not None:
        return Top(made, f"elements without one tag {axis}")
    base = found.raw[0]
    return Coords(made, var(own(axis)), (Comp(axis, base.without_const(), cx.store.table(found.local + base.const)),))


def arithmetic(cx: Context, op: BinaryOp, x: Fragment, y: Fragment, made: FragType) -> Fragment | None:
    """Integers and conditions that coordinates decide; None if the operands are of another kind."""
    if not (isinstance(x, Coords) or isinstance(y, Coords)):
        return None
    left, right = _what(x), _what(y)
    if left is None or right is None:
        return None
    what = decided(op, left, right)
    comps = _together(cx, [f for f in (x, y) if isinstance(f, Coords)], made)
    return None if what is None or comps is None else Coords(made, what, comps)


def inverted(frag: Coords) -> Coords:
    """`~condition`."""
    assert not isinstance(frag.what, Affine)
    return replace(frag, what=negation(frag.what))


def _what(frag: Fragment) -> Affine | Formula | None:
    match frag:
        case Coords(what=what):
            return what
        case Same(form=Affine() as form):
            return form
        case Same(value=float() as value) if value.is_integer():
            return Affine(int(value))
        case _:
            return None


def decided(op: BinaryOp, x: Affine | Formula, y: Affine | Formula) -> Affine | Formula | None:
    """An operation on integers or conditions; None if it is none of those that forms can hold."""
    if isinstance(x, Affine) and isinstance(y, Affine):
        match op:
            case "+":
                return x + y
            case "-":
                return x - y
            case "*":
                return product(x, y)
            case "<":
                return ge(y - x - 1)
            case "<=":
                return ge(y - x)
            case ">":
                return ge(x - y - 1)
            case ">=":
                return ge(x - y)
            case "==":
                return eq(x - y)
            case "!=":
                return ne(x - y)
            case _:
                return None
    if isinstance(x, Affine) or isinstance(y, Affine):
        return None
    return conjunction((x, y)) if op == "&" else disjunction((x, y)) if op == "|" else None


def _together(cx: Context, parts: Sequence[Coords], made: FragType) -> tuple[Comp, ...] | None:
    """The coordinates of all parts over one result; None if two parts mean different ones by the same axis."""
    found = dict[str, Comp]()
    for part in parts:
        for comp in part.comps:
            wide = spread(cx.store.tables[comp.table].reshape(part.type.shape), part.type, made)
            if wide is None:
                return None
            mine = Comp(comp.axis, comp.base, cx.store.table(wide))
            if found.setdefault(comp.axis, mine) != mine:
                return None
    return tuple(found.values())


# --------------------------------------------------------------------------------------------- masks


def mask(
    cx: Context, state: State, site: Site, made: FragType, *, frag: Fragment, pred: Fragment, fill: float
) -> Fragment:
    """`mask(x, pred, fill)`: elements whose coordinates fail the predicate become padding."""
    if isinstance(pred, Top):
        return replace(pred, type=made)
    keep = pred.what if isinstance(pred, Coords) and not isinstance(pred.what, Affine) else None
    if keep is None:
        return Top(made, f"the predicate of line {site.span.line} is no condition on coordinates")
    assert isinstance(pred, Coords)
    frag = Pointwise(cx, state, site, made).plain(frag)
    if keep == TRUE and not isinstance(frag, Same | Top):
        return replace(frag, type=made)
    if isinstance(frag, Same):
        return Top(made, f"line {site.span.line} masks a uniform value")
    tile = as_tile(cx, frag)
    if isinstance(tile, Top):
        return replace(tile, type=made)
    assert isinstance(tile, Tile)
    for comp in _together(cx, [pred], made) or ():
        mine = column(tile.codes, comp.axis, cx.store, state.reduce)
        base = state.reduce(comp.base)
        local = cx.store.tables[comp.table].reshape(made.shape) + base.const
        same = mine is not None and mine.which is None and mine.bases[0] == base.without_const()
        if mine is None or not same or not np.array_equal(mine.local, local):
            return Top(made, f"the predicate of line {site.span.line} speaks of the {comp.axis} of other elements")
    used = {c.axis for c in pred.comps}
    if not {v[1:-1] for v in formula_variables(keep) if v.startswith("[")} <= used:
        return Top(made, f"the predicate of line {site.span.line} is not understood")
    rules = Combine(cx, state, site.span)

    def change(value: Value) -> Value:
        if value.shift or value.scale:
            value = rules.materialised(value) if value.shift or fill != 0.0 else value
        value = closed(value)
        return replace(value, masks=(*value.masks, Mask(keep, float(fill))), integers="", span=site.span)

    return Tile(recoded(cx.store, tile.codes, change), made, lost=tile.lost)


def select(cx: Context, state: State, site: Site, parts: tuple[Fragment, ...], made: FragType) -> Fragment:
    """`select(condition, x, y)`."""
    condition, x, y = parts
    for part in parts:
        if isinstance(part, Top):
            return replace(part, type=made)
    if isinstance(condition, Lowest):
        kept, other = (x, y) if condition.negated else (y, x)
        if (found := _floored(cx, condition, kept, other, made)) is not None:
            return found
    if isinstance(condition, Coords) and not isinstance(condition.what, Affine):
        if isinstance(y, Same) and y.value is not None:
            return mask(cx, state, site, made, frag=x, pred=condition, fill=y.value)
        if isinstance(x, Same) and x.value is not None:
            return mask(cx, state, site, made, frag=y, pred=inverted(condition), fill=x.value)
        return Top(made, f"line {site.span.line} selects between data by coordinates: some may be dropped")
    rule = Pointwise(cx, state, site, made)
    data = [rule.plain(p) for p in parts]
    if isinstance(data[0], Same):
        return Top(made, f"line {site.span.line} selects by a uniform value: some data may be dropped")
    return _chosen(cx, rule, data)


def _chosen(cx: Context, rule: Pointwise, data: list[Fragment]) -> Fragment:
    """A choice by data: a function of all three, if they are of the same elements."""
    tagged = [f for f in data if not isinstance(f, Same)]
    whole = [f for f in tagged if f.type is not None and f.type.shape == rule.made.shape]
    tiles = [as_tile(cx, f) for f in tagged]
    origins = [frozenset[str]().union(*(v.origins for v in values_in(cx, t))) for t in tiles if isinstance(t, Tile)]
    if not whole or len(set(origins)) != 1:
        line = rule.site.span.line
        return Top(rule.made, f"line {line} selects between data of different origins: some may be dropped")
    found = tagged[0]
    for other in tagged[1:]:
        found = rule.binary("/", found, other)
    if isinstance(found, Same | Top):
        return found
    tile = as_tile(cx, rule.unary("rsqrt", found))  # any function that keeps nothing of the padding
    assert isinstance(tile, Tile)
    return replace(tile, type=rule.made)


def _floored(cx: Context, condition: Lowest, kept: Fragment, other: Fragment, made: FragType) -> Fragment | None:
    """`select(m == -inf, 0.0, m)`: the maximum itself, but finite."""
    if not (
        same_fragment(kept, condition.of)
        and isinstance(other, Same)
        and other.value is not None
        and np.isfinite(other.value)
    ):
        return None
    if not isinstance(kept, Tile | Stat) or kept.mark.ident is None:
        return None
    mark = replace(kept.mark, floor_of=kept.mark.ident)
    value = other.value

    def finite(pad: pads.Content) -> float | None:
        return value if pad == -np.inf else pad if isinstance(pad, float) else None

    def change(v: Value) -> Value:
        return pads.mapped(replace(v, low=False), finite).of(replace(v, low=False))

    if isinstance(kept, Stat):
        return replace(kept, type=made, value=change(kept.value), mark=mark)
    return replace(kept, codes=recoded(cx.store, kept.codes, change), type=made, mark=mark)
