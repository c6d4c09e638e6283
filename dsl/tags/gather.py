"""Rows picked by a vector of integers, and integers read to be used as indices.

The elements of `X.gather(slot.tile(64)[bs])` carry the coordinates of `slot` (where the integer stood) and, on an axis
of their own called `slot>t`, the same place as the one whose integer picked the row of t. Which row that is, nobody
knows; that two elements come from equal rows follows from equal places. A row -1 is all padding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argus.dsl.ir import At, Ref, View
from argus.dsl.layout import Expr
from argus.dsl.layout.affine import Affine, application, conjunction, disjunction, ge, negation, var
from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import ELEMENT_BITS, ELEMENT_MASK, Comp, Ints, Store, Tile, Value, Window
from argus.dsl.tags.state import State
from argus.dsl.tags.views import Edge, Need, Outside, Pick, root

PICKS = ">"


def picked_axis(tensor: str, axis: str) -> str:
    """The axis of places in `tensor` whose integers picked elements along `axis`."""
    return f"{tensor}{PICKS}{axis}"


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A vector of integers in registers, as it was loaded from a tensor."""

    value: Value
    length: int

    def windows(self, edge: Edge) -> tuple[Window, ...]:
        (comp,) = self.value.comps
        if edge.base.is_const and 0 <= edge.base.const <= self.length - edge.extent.const:
            return self.value.windows
        return (*self.value.windows, Window(comp.axis, comp.base, comp.base + self.length))

    def needs(self, extent: Affine) -> tuple[Need, ...]:
        row = f"row of {self.value.integers}"
        (comp,) = self.value.comps
        at = comp.base + var(row)
        integer = application(self.value.integers, (at,))
        where = [ge(var(row)), ge(Affine(self.length - 1) - var(row))]
        where += [f for w in self.value.windows for f in (ge(at - w.lo), ge(w.hi - at - 1))]
        inside = conjunction((ge(integer + 1), ge(extent - integer - 1)))
        return (Need(disjunction((negation(conjunction(where)), inside)), f"row {integer} of {extent}"),)

    def comps(self, axis: str, edge: Edge, rows: Ints, store: Store) -> tuple[Comp, ...]:
        if not edge.base.is_const:
            raise Outside("a gather at a symbolic place of its index")
        (comp,) = self.value.comps
        table = store.table(rows + edge.base.const)
        own = (Comp(comp.axis, comp.base, table),) if comp.axis else ()
        return (*own, Comp(picked_axis(self.value.integers, axis), comp.base, table))


def rows_of(cx: Context, state: State, name: str) -> Pick:
    """The integers in a fragment.

    Raises:
        Outside: If they are not a run of a tensor's elements as they lie there.
    """
    frag = state.frags.get(name)
    if not isinstance(frag, Tile) or frag.codes.ndim != 1:
        raise Outside(f"a gather by {name}, whose integers nobody follows")
    numbers = np.unique(frag.codes >> ELEMENT_BITS)
    value = cx.store.values[int(numbers[0])]
    element = frag.codes & ELEMENT_MASK
    straight = len(numbers) == 1 and bool(value.integers) and len(value.comps) == 1 and not value.claimed
    if not straight or (cx.store.tables[value.comps[0].table][element] != np.arange(len(element))).any():
        raise Outside(f"a gather by {name}, which is no run of a tensor's integers")
    if value.windows and value.pad not in (0.0, -1.0):
        raise Outside(f"a gather by {name}, padded with {value.pad}")
    return Rows(value, len(element))


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
