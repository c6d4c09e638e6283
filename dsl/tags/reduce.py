"""Reductions of a fragment along one of its axes: the axis goes, and its coordinates are recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.ir import Reduce, Ref
from argus.dsl.ir.types import FragType
from argus.dsl.layout.affine import Affine, conjunction, formula_variables, ge, negation, substitute_formula
from argus.dsl.tags import pads
from argus.dsl.tags.combine import Combine
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import (
    ELEMENT_BITS,
    ELEMENT_MASK,
    Comp,
    Fragment,
    Ident,
    Ints,
    Mark,
    Mask,
    Same,
    Stat,
    Term,
    Tile,
    Top,
    Value,
    Window,
    closed,
    own,
    runs_of,
    unbound,
)
from argus.dsl.tags.marks import mark_of
from argus.dsl.tags.pointwise import Pointwise
from argus.dsl.tags.state import State
from argus.dsl.tags.values import as_tile

MOST_KINDS = 64  # of rows that differ in what they reduce


class _Unclear(Exception):
    """Why nothing is known of the result."""


def reduce(cx: Context, state: State, site: Site, node: Reduce, made: FragType, *, frag: Fragment) -> Fragment:
    """`reduce(op, x, axis, across=)` of the fragment `frag`."""
    assert isinstance(node.src, Ref)
    frag = Pointwise(cx, state, site, made).plain(frag)
    if isinstance(frag, Same):
        return Top(made, f"line {site.span.line} reduces a uniform value")
    tile = as_tile(cx, frag)
    if isinstance(tile, Top):
        return replace(tile, type=made)
    assert isinstance(tile, Tile)
    dimension = cx.types.frags[node.src.name].axes.index(node.axis)
    try:
        return _Reduction(cx, state, site, node, dimension).apply(tile, mark_of(frag), made)
    except _Unclear as e:
        return Top(made, str(e))


@dataclass(frozen=True, slots=True)
class _Reduction:
    cx: Context
    state: State
    site: Site
    node: Reduce
    dimension: int

    def apply(self, tile: Tile, mark: Mark, made: FragType) -> Fragment:
        """The result.

        Raises:
            _Unclear: If its coordinates cannot be told.
        """
        extent = tile.codes.shape[self.dimension]
        rows = np.moveaxis(tile.codes, self.dimension, -1).reshape(-1, extent)
        above = frozenset((mark.ident,)) if mark.ident is not None and self.node.op == "max" else frozenset[Ident]()
        bound = Mark(above=above | mark.above if self.node.op == "max" else above)
        lost = (*tile.lost, extent) if made.shape else ()
        kinds = self._kinds(rows)
        if len(kinds) == 1:
            value = self._value(rows, np.arange(len(rows)), made)
            return Stat(made, replace(value, reduced=()), (), value.reduced, bound, lost)
        codes = np.zeros(len(rows), np.int64)
        for members in kinds:
            value = self._value(rows[members], members, made)
            codes[members] = self.cx.store.codes(value, (len(rows),))[members]
        return Tile(codes.reshape(made.shape), made, bound, lost)

    def _kinds(self, rows: Ints) -> list[Ints]:
        """Rows by what they reduce: rows of one kind have the same values and offsets along the axis."""
        keys = dict[bytes, list[int]]()
        numbers = rows >> ELEMENT_BITS
        columns = np.zeros(rows.shape, np.int64)
        for number in np.unique(numbers):
            value = self.cx.store.values[int(number)]
            comp = next((c for c in value.comps if c.axis == self.node.axis), None)
            if comp is None:
                why = value.top or f"line {self.site.span.line} reduces elements without a tag {self.node.axis}"
                raise _Unclear(why)
            here = numbers == number
            columns[here] = self.cx.store.tables[comp.table][rows[here] & ELEMENT_MASK]
        if (numbers == numbers[:1]).all() and (columns == columns[:1]).all():
            return [np.arange(len(rows))]
        for row, (n, c) in enumerate(zip(numbers, columns, strict=True)):
            keys.setdefault(n.tobytes() + c.tobytes(), []).append(row)
        if len(keys) > MOST_KINDS:
            raise _Unclear(f"the rows that line {self.site.span.line} reduces hold different {self.node.axis}")
        return [np.array(members) for members in keys.values()]

    def _value(self, rows: Ints, members: Ints, made: FragType) -> Value:
        """The value of rows of one kind; `members` are their numbers among all rows."""
        numbers = rows[0] >> ELEMENT_BITS
        parts = list[Value]()
        for number in dict.fromkeys(numbers.tolist()):
            parts.append(self._part(rows[:, numbers == number], members, int(number), made))
        first = parts[0]
        for other in parts[1:]:
            if replace(other, reduced=(), span=first.span) != replace(first, reduced=()):
                raise _Unclear(f"line {self.site.span.line} reduces elements of different origins or coordinates")
        return replace(first, reduced=tuple(t for p in parts for t in p.reduced))

    def _part(self, rows: Ints, members: Ints, number: int, made: FragType) -> Value:
        """What the elements of one value add."""
        cx, axis, op = self.cx, self.node.axis, self.node.op
        value = closed(self._related(cx.store.values[number]))
        masks = value.masks
        value = replace(unbound(replace(value, masks=()), axis), masks=masks)
        element = rows & ELEMENT_MASK
        comps = list[Comp]()
        for comp in value.comps:
            local = cx.store.tables[comp.table][element]
            if comp.axis == axis:
                continue
            if (local != local[:, :1]).any():
                raise _Unclear(f"elements of different {comp.axis} are reduced together at line {self.site.span.line}")
            table = np.zeros(max(1, int(np.prod(made.shape))), np.int64)
            table[members] = local[:, 0]
            comps.append(Comp(comp.axis, comp.base, cx.store.table(table)))
        neutral = pads.NEUTRAL[op]
        inner = [m for m in value.masks if own(axis) in formula_variables(m.keep)]
        every = pads.uniform(value)
        left = every if every == neutral or op != "sum" else None
        outer = tuple(Mask(m.keep, left) for m in value.masks if m not in inner)
        along = tuple(w for w in value.windows if w.axis == axis)
        comp = next(c for c in value.comps if c.axis == axis)
        local = cx.store.tables[comp.table][element[0]] + comp.base.const
        absorbing = pads.pad_along(value, axis) == neutral
        first = comp.base.without_const() + int(local[0])
        known = op == "sum" or self._holds_data(first, along, value.masks)
        term = Term(
            axis, comp.base.without_const(), runs_of(local), windows=along, absorbing=absorbing, op=op,
            masks=tuple((m.keep, m.pad == neutral == pads.pad_along(m, axis)) for m in inner), span=self.site.span,
        )  # fmt: skip
        return replace(
            value, comps=tuple(comps), windows=tuple(w for w in value.windows if w.axis != axis), masks=outer,
            pad=left, apart=(), reduced=(term,),
            low=value.low or (op == "max" and not known), wild=value.wild or (op == "min" and not known),
            integers="", span=self.site.span,
        )  # fmt: skip

    def _holds_data(self, first: Affine, windows: tuple[Window, ...], masks: tuple[Mask, ...]) -> bool:
        """Whether the first of the elements is always data, so that an extreme is never of nothing."""
        inside = [f for w in windows for f in (ge(first - w.lo), ge(w.hi - first - 1))]
        kept = (substitute_formula(m.keep, {own(self.node.axis): first}) for m in masks)
        wanted = self.state.reduce_formula(conjunction((*inside, *kept)))
        if self.state.evident(wanted):
            return True
        return not self.cx.oracle.consistent((*self.state.hypotheses(), negation(wanted)))

    def _related(self, value: Value) -> Value:
        """What the value is relative to stays beside it only if it is the same for all that is summed."""
        if value.top:
            raise _Unclear(value.top)
        factors = (*value.scale, *value.shift)
        if value.shift or (factors and (self.node.op != "sum" or any(self.node.axis in f.axes for f in factors))):
            value = Combine(self.cx, self.state, self.site.span).materialised(value)
            if value.top:
                raise _Unclear(value.top)
        return value
