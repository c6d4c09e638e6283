"""One tag component of many elements at once, and where two of them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from argus.dsl.layout.affine import TRUE, Affine, Formula, ne
from argus.dsl.tags.domain import ELEMENT_BITS, ELEMENT_MASK, Bools, Ints, Store, Value

Reduce = Callable[[Affine], Affine]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A component of an array of elements: `bases[which] + local`; `which` None means all have the first base.

    `bases` have what is fixed put in and no constant; `raw` are the same before that, for records and messages.
    """

    bases: tuple[Affine, ...]
    raw: tuple[Affine, ...]
    which: Ints | None
    local: Ints

    def part(self, index: tuple[slice | int, ...]) -> Column:
        which = None if self.which is None else self.which[index]
        return Column(self.bases, self.raw, which, self.local[index])

    def at(self, index: tuple[int, ...]) -> Affine:
        """The component of one element, unreduced."""
        base = self.raw[0 if self.which is None else int(self.which[index])]
        return base + int(self.local[index])


def values_of(codes: Ints, store: Store) -> list[tuple[Value, Bools | None]]:
    """The values that the codes refer to, each with its elements (None: all). No code may be uninitialised."""
    numbers = codes >> ELEMENT_BITS
    first = int(numbers.flat[0])
    if (numbers == first).all():
        return [(store.values[first], None)]
    return [(store.values[int(n)], numbers == n) for n in np.unique(numbers)]


def column(codes: Ints, axis: str, store: Store, reduce: Reduce) -> Column | None:
    """The component `axis`; None if some element lacks it."""
    parts = values_of(codes, store)
    element = codes & ELEMENT_MASK
    if len(parts) == 1:
        comp = next((c for c in parts[0][0].comps if c.axis == axis), None)
        if comp is None:
            return None
        base = reduce(comp.base)
        local = store.tables[comp.table][element]
        if base.const:
            local = local + base.const
        return Column((base.without_const(),), (_match_const(comp.base, base),), None, local)
    bases, raw = list[Affine](), list[Affine]()
    which, local = np.zeros(codes.shape, np.int64), np.zeros(codes.shape, np.int64)
    for value, mask in parts:
        comp = next((c for c in value.comps if c.axis == axis), None)
        if comp is None:
            return None
        base = reduce(comp.base)
        flat = base.without_const()
        if flat not in bases:
            bases.append(flat)
            raw.append(_match_const(comp.base, base))
        which[mask] = bases.index(flat)
        local[mask] = store.tables[comp.table][element[mask]] + base.const
    return Column(tuple(bases), tuple(raw), which if len(bases) > 1 else None, local)


def _match_const(raw: Affine, reduced: Affine) -> Affine:
    """`raw` less the constant that reduction moved into the local table, so that `raw + local` is right."""
    return raw - reduced.const


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Elements where two columns differ under `bad`.

    Attributes:
        bad: The condition on symbols under which they do; TRUE: always.
        where: The elements.
        want, got: The components of the first of them.
    """

    bad: Formula
    where: Bools
    first: tuple[int, ...]
    want: Affine
    got: Affine

    @property
    def count(self) -> int:
        return int(self.where.sum())


def differences(want: Column, got: Column) -> Iterator[Difference]:
    """All ways in which two columns (broadcast against each other) differ; nothing when they are equal."""
    shape = np.broadcast(want.local, got.local).shape
    if want.which is None and got.which is None:
        yield from _compare(want, got, (0, 0), np.ones(shape, np.bool_))
        return
    left = np.broadcast_to(0 if want.which is None else want.which, shape)
    right = np.broadcast_to(0 if got.which is None else got.which, shape)
    for i in range(len(want.bases)):
        for j in range(len(got.bases)):
            mask = (left == i) & (right == j)
            if mask.any():
                yield from _compare(want, got, (i, j), mask)


def _compare(want: Column, got: Column, bases: tuple[int, int], mask: Bools) -> Iterator[Difference]:
    """Differences among the elements of `mask`, which have these bases."""
    gap = got.bases[bases[1]] - want.bases[bases[0]]
    steps = np.broadcast_to(got.local - want.local, mask.shape)
    if gap.is_const:
        where = (steps != -gap.const) & mask
        if where.any():
            yield _difference(TRUE, where, want, got, bases)
        return
    # The forms differ: to be equal, elements would need symbols to take one special value for each distinct step.
    for step in np.unique(steps[mask])[:2]:
        yield _difference(ne(gap + int(step)), (steps == step) & mask, want, got, bases)


def _difference(bad: Formula, where: Bools, want: Column, got: Column, bases: tuple[int, int]) -> Difference:
    first = tuple(int(x) for x in np.argwhere(where)[0])
    left = want.raw[bases[0]] + int(np.broadcast_to(want.local, where.shape)[first])
    right = got.raw[bases[1]] + int(np.broadcast_to(got.local, where.shape)[first])
    return Difference(bad, where, first, left, right)
