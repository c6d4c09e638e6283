"""Rows picked by a vector of integers, and integers read to be used as indices.

The elements of `X.gather(slot.tile(64)[bs])` carry the coordinates at which their integers stood, and beside X the
origin `slot>t`: their place along t is what `slot` says at those coordinates. Which row that is, nobody knows. A row -1
is all padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from argus.dsl.ir import At, Ref, View
from argus.dsl.layout import Expr
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
    var,
)
from argus.dsl.tags.computed import picked_by
from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import ELEMENT_BITS, ELEMENT_MASK, Comp, Ints, Store, Tile, Value, Window
from argus.dsl.tags.numbers import Numbers
from argus.dsl.tags.state import State
from argus.dsl.tags.views import Edge, Need, Outside, Pick, root


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A vector of integers in registers, as it was loaded from a tensor: `along` is the axis it runs along."""

    value: Value
    axes: tuple[str, ...]
    along: str
    length: int

    @property
    def tensor(self) -> str:
        return self.value.integers

    @property
    def pad(self) -> float | None:
        return self.value.pad

    def base(self, axis: str) -> Affine:
        return next(c.base for c in self.value.comps if c.axis == axis)

    def windows(self, edge: Edge) -> tuple[Window, ...]:
        if edge.base.is_const and 0 <= edge.base.const <= self.length - edge.extent.const:
            return self.value.windows
        base = self.base(self.along)
        return (*self.value.windows, Window(self.along, base, base + self.length))

    def needs(self, extent: Affine) -> tuple[Need, ...]:
        row = f"row of {self.tensor}"
        at = {a: self.base(a) + var(row) if a == self.along else self.base(a) for a in self.axes}
        integer = application(self.tensor, tuple(at[a] for a in self.axes))
        exists = conjunction((ge(var(row)), ge(Affine(self.length - 1) - var(row))))
        data = self._data(at)
        inside = conjunction((ge(integer + 1), ge(extent - integer - 1)))
        needs = [Need(disjunction((negation(exists), negation(data), inside)), f"row {integer} of {extent}")]
        pad = self.value.pad
        if data != TRUE and pad not in (0.0, -1.0):
            row_of_pad = pad is not None and pad.is_integer() and pad >= -1
            fits = ge(extent - int(pad) - 1) if row_of_pad and pad is not None else FALSE
            needs.append(Need(disjunction((negation(exists), data, fits)), f"row {pad} of {extent}"))
        return tuple(needs)

    def _data(self, at: Mapping[str, Affine]) -> Formula:
        return conjunction(f for w in self.value.windows for f in (ge(at[w.axis] - w.lo), ge(w.hi - at[w.axis] - 1)))

    def all_data(self) -> Formula:
        """No place lies beyond the tensor of the integers."""
        row = f"row of {self.tensor}"
        at = {a: self.base(a) + var(row) if a == self.along else self.base(a) for a in self.axes}
        exists = conjunction((ge(var(row)), ge(Affine(self.length - 1) - var(row))))
        return disjunction((negation(exists), self._data(at)))

    def comps(self, edge: Edge, rows: Ints, store: Store) -> tuple[Comp, ...]:
        if not edge.base.is_const:
            raise Outside("a gather at a symbolic place of its index")
        place, still = store.table(rows + edge.base.const), store.table(np.zeros_like(rows))
        return tuple(Comp(a, self.base(a), place if a == self.along else still) for a in self.axes)


def rows_of(cx: Context, state: State, name: str, axis: str) -> Pick:
    """The integers in a fragment, which pick along an axis.

    Raises:
        Outside: If they are not a run of a tensor's elements as they lie there, nor computed of such.
    """
    frag = state.frags.get(name)
    if isinstance(frag, Numbers):
        return picked_by(cx, frag, name, axis)
    if not isinstance(frag, Tile) or frag.codes.ndim != 1:
        raise Outside(f"a gather by {name}, whose integers nobody follows")
    numbers = np.unique(frag.codes >> ELEMENT_BITS)
    value = cx.store.values[int(numbers[0])]
    tensor = cx.types.params.get(value.integers)
    if len(numbers) != 1 or tensor is None or value.claimed or {c.axis for c in value.comps} != set(tensor.axes):
        raise Outside(f"a gather by {name}, which is no run of a named tensor's integers")
    element, run = frag.codes & ELEMENT_MASK, np.arange(len(frag.codes))
    moves = {c.axis: cx.store.tables[c.table][element] for c in value.comps}
    along = [a for a, table in moves.items() if (table == run).all() and (table.any() or len(run) == 1)]
    if not along or any(moves[a].any() for a in moves if a != along[0]):
        raise Outside(f"a gather by {name}, which is no run of {value.integers}")
    return Rows(value, tensor.axes, along[0], len(element))


# -------------------------------------------------------------------------------------------- scalars


def integer(cx: Context, view: View) -> Affine:
    """`expert[bs]`: one integer of a tensor, for use as an index.

    Raises:
        Outside: If it is not an element of a read-only tensor of integers.
    """
    indices = list[Expr]()
    node = view
    while isinstance(node, At):
        indices.append(node.index)
        node = node.src
    tensor = cx.types.params.get(root(view))
    if not isinstance(node, Ref) or tensor is None or tensor.dtype != "i32" or node.name in cx.written_tensors:
        raise Outside("an integer that does not come straight from a tensor that is only read")
    return application(node.name, tuple(cx.evaluate(e) for e in reversed(indices)))
