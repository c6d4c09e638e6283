"""Rows picked by computed integers: compared with the function by which the contract says where to read.

With `-1 <= pixel(m, u, v) < P` and `pixel(m, u, v) == ...` the contract says which row of X belongs to output row m and
tap (u, v). If the integers are that function at (m, 1, 2), the elements carry m, u = 1 and v = 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.dsl.layout.affine import (
    FALSE,
    TRUE,
    Affine,
    Formula,
    application,
    conjunction,
    disjunction,
    ge,
    negation,
    substitute_affine,
    substitute_formula,
    var,
)
from argus.dsl.tags.context import Context
from argus.dsl.tags.contract import BOUND, solve
from argus.dsl.tags.domain import Comp, Ints, Store, Window, own
from argus.dsl.tags.numbers import Numbers
from argus.dsl.tags.views import Edge, Need, Outside, Pick


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """Integers in registers, along `along`; `still` are their coordinates along other axes."""

    numbers: Numbers
    tensor: str
    along: str
    length: int
    still: Mapping[str, Affine]
    row: Affine | None  # what the contract calls the data's row

    @property
    def pad(self) -> float | None:
        return -1.0 if self.numbers.keep_beyond == FALSE else None

    def base(self, axis: str) -> Affine:
        return self.still[axis] if axis in self.still else next(c.base for c in self.numbers.comps if c.axis == axis)

    def windows(self, edge: Edge) -> tuple[Window, ...]:
        if edge.base.is_const and 0 <= edge.base.const <= self.length - edge.extent.const:
            return self.numbers.windows
        base = self.base(self.along)
        return (*self.numbers.windows, Window(self.along, base, base + self.length))

    def _place(self) -> tuple[Affine, Formula, Formula]:
        """A place, that it exists, that it is data."""
        place = var(f"place in {self.tensor}")
        at = self.base(self.along) + place
        exists = conjunction((ge(place), ge(Affine(self.length - 1) - place)))
        data = conjunction(f for w in self.numbers.windows for f in (ge(at - w.lo), ge(w.hi - at - 1)))
        return at, exists, data

    def needs(self, extent: Affine) -> tuple[Need, ...]:
        at, exists, data = self._place()
        env = {own(self.along): at} | {own(c.axis): c.base for c in self.numbers.comps if c.axis != self.along}
        n, needs = self.numbers, list[Need]()
        cases = ((data, self.row or n.data, n.keep), (negation(data), n.beyond, n.keep_beyond))
        for where, number, condition in cases:
            assert isinstance(number, Affine)
            row, keep = substitute_affine(number, env), substitute_formula(condition, env)
            inside = conjunction((ge(row + 1), ge(extent - row - 1)))
            formula = disjunction((negation(exists), negation(where), negation(keep), inside))
            if formula != TRUE:
                needs.append(Need(formula, f"row {row} of {extent}"))
        return tuple(needs)

    def all_data(self) -> Formula:
        _, exists, data = self._place()
        return disjunction((negation(exists), data))

    def comps(self, edge: Edge, rows: Ints, store: Store) -> tuple[Comp, ...]:
        if not edge.base.is_const:
            raise Outside("a gather at a symbolic place of its index")
        place, zero = store.table(rows + edge.base.const), store.table(np.zeros_like(rows))
        moving = tuple(Comp(c.axis, c.base, place if c.axis == self.along else zero) for c in self.numbers.comps)
        return (*moving, *(Comp(axis, form, zero) for axis, form in self.still.items()))


def picked_by(cx: Context, numbers: Numbers, name: str, axis: str) -> Pick:
    """What computed integers pick along an axis.

    Raises:
        Outside: If they are conditions, or their elements do not lie in a run.
    """
    if not isinstance(numbers.data, Affine) or numbers.type is None or len(numbers.type.shape) != 1:
        raise Outside(f"a gather by {name}, which holds no row of integers")
    (length,) = numbers.type.shape
    tables = {c.axis: cx.store.tables[c.table] for c in numbers.comps}
    along = [a for a, table in tables.items() if (table == np.arange(length)).all()]
    if len(along) != 1 or any(tables[a].any() for a in tables if a != along[0]):
        raise Outside(f"a gather by {name}, whose integers lie in no run")
    function = cx.assumptions.meant(axis)
    found = None if function is None else _matched(cx, numbers, function)
    if function is None or found is None:
        # Which rows these are is compared where they are stored.
        return Computed(numbers, f"{name}", along[0], length, {}, None)
    still = {a: form for a, form in found.items() if a not in tables}
    args = tuple(found[a] for a in _axes(cx, function))
    return Computed(numbers, function, along[0], length, still, application(function, args))


def _axes(cx: Context, function: str) -> tuple[str, ...]:
    definition = cx.assumptions.definition(function)
    assert definition is not None
    return definition.axes


def _matched(cx: Context, numbers: Numbers, function: str) -> dict[str, Affine] | None:
    """The arguments at which the contract's function is these integers; None if there are none evident."""
    definition = cx.assumptions.definition(function)
    if definition is None or not isinstance(numbers.data, Affine):
        return None
    found = dict[str, Affine]()
    if not solve(definition.what, numbers.data, found) or found.keys() < set(definition.axes):
        return None
    env = {axis + BOUND: form for axis, form in found.items()}
    mine = {c.axis for c in numbers.comps}
    if substitute_affine(definition.what, env) != numbers.data:
        return None
    if any(found.get(a) != var(own(a)) for a in mine) or any(not found[a].is_const for a in found.keys() - mine):
        return None
    keep = substitute_formula(definition.keep, env)
    ranges = [f for a in mine if a in cx.assumptions.ranges for f in _inside(var(own(a)), cx.assumptions.ranges[a])]
    for one, other in ((keep, numbers.keep), (numbers.keep, keep)):
        if cx.oracle.consistent((*ranges, one, negation(other))):
            return None
    return found


def _inside(form: Affine, extent: Affine) -> tuple[Formula, Formula]:
    return ge(form), ge(extent - form - 1)
