"""Integers computed from loaded ones, and conditions on them: what a gather may use beside integers as they lie.

The value of an element is a form of its own coordinates: `image[m] + (row[m] + 1) * W + column[m] + 2`. Elements beyond
the tensors that were loaded hold what their padding gives. All other rules see an unknown fragment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.ir import Binary, Node, Select
from argus.dsl.ir.types import FragType
from argus.dsl.layout.affine import TRUE, Affine, Formula, application, formula_symbols, var
from argus.dsl.tags.context import Context
from argus.dsl.tags.coordinates import decided
from argus.dsl.tags.domain import ELEMENT_BITS, ELEMENT_MASK, Comp, Fragment, Same, Tile, Top, Window, own

Number = Affine | Formula


@dataclass(frozen=True, slots=True)
class Numbers(Top):
    """Computed integers or conditions.

    Attributes:
        comps: The elements' own coordinates.
        windows: Where they were computed from data; elsewhere they are `beyond`.
        data, beyond: Their values, of symbols `own(axis)`.
        keep, keep_beyond: Where these are the values; elsewhere -1 stands.
    """

    comps: tuple[Comp, ...]
    windows: tuple[Window, ...]
    data: Number
    beyond: Number
    keep: Formula = TRUE
    keep_beyond: Formula = TRUE


def computed(cx: Context, value: Node, made: FragType, part: Callable[[Node], Fragment]) -> Numbers | None:
    """What an operation makes of integers; None if it is about other things."""
    match value:
        case Binary(op=op, lhs=lhs, rhs=rhs):
            x, y = (_numbers(cx, part(n)) for n in (lhs, rhs))
            both = _together(x, y, made)
            if x is None or y is None or both is None or (x.keep, y.keep) != (TRUE, TRUE):
                return None
            data, beyond = decided(op, x.data, y.data), decided(op, x.beyond, y.beyond)
            return None if data is None or beyond is None else _steady(replace(both, data=data, beyond=beyond))
        case Select(condition=condition, x=chosen, y=other):
            x, y = _numbers(cx, part(condition)), _numbers(cx, part(chosen))
            both, rest = _together(x, y, made), part(other)
            if x is None or y is None or both is None or y.keep != TRUE or x.keep != TRUE:
                return None
            if isinstance(x.data, Affine) or isinstance(x.beyond, Affine):
                return None
            if not isinstance(rest, Same) or rest.value != -1.0:
                return None
            return _steady(replace(both, data=y.data, beyond=y.beyond, keep=x.data, keep_beyond=x.beyond))
        case _:
            return None


def _steady(made: Numbers) -> Numbers | None:
    """Nothing if the values depend on the round of a loop: they would have to be moved on with it."""
    found = [made.keep, made.keep_beyond]
    symbols = frozenset[str]().union(*(formula_symbols(f) for f in found))
    for number in (made.data, made.beyond):
        symbols |= number.symbols() if isinstance(number, Affine) else formula_symbols(number)
    return None if any("@" in s for s in symbols) else made


def _numbers(cx: Context, frag: Fragment) -> Numbers | None:
    match frag:
        case Numbers():
            return frag
        case Same(type=kind, form=Affine() as form):
            return Numbers(kind, "", (), (), form, form)
        case Same(type=kind, value=float() as number) if number.is_integer():
            return Numbers(kind, "", (), (), Affine(int(number)), Affine(int(number)))
        case Tile():
            return loaded(cx, frag)
        case _:
            return None


def loaded(cx: Context, tile: Tile) -> Numbers | None:
    """Integers as they lie in a tensor."""
    numbers = np.unique(tile.codes >> ELEMENT_BITS)
    value = cx.store.values[int(numbers[0])]
    tensor = cx.types.params.get(value.integers)
    if len(numbers) != 1 or tensor is None or value.claimed or {c.axis for c in value.comps} != set(tensor.axes):
        return None
    if value.pad is None or not value.pad.is_integer():
        return None
    element = (tile.codes & ELEMENT_MASK).ravel()
    comps = tuple(Comp(c.axis, c.base, cx.store.table(cx.store.tables[c.table][element])) for c in value.comps)
    form = application(tensor.name, tuple(var(own(a)) for a in tensor.axes))
    return Numbers(tile.type, "integers as data", comps, value.windows, form, Affine(int(value.pad)))


def _together(x: Numbers | None, y: Numbers | None, made: FragType) -> Numbers | None:
    """A frame for what is made of both: they must lie at the same coordinates."""
    if x is None or y is None or not (x.comps or y.comps):
        return None
    if x.comps and y.comps and (x.comps, x.windows) != (y.comps, y.windows):
        return None
    return replace(x if x.comps else y, type=made, reason="integers computed from data")
