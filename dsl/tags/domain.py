"""Abstract values: what is known of the data in a fragment or in shared memory.

Hardware coordinates are enumerated: an array of element codes says, element by element, which *value* lies there and
which of the value's own elements it is. What is unbounded (block indices, loop counters, sizes) stays symbolic in the
few values that the codes refer to. A tag component of an element is therefore

    base(symbols) + table[element]

with one affine base a value and axis, and an integer table that does not depend on any symbol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from argus.dsl.diagnostics import NOWHERE, Span
from argus.dsl.ir.types import FragType
from argus.dsl.layout.affine import Affine, Formula, formula_variables, substitute_affine, substitute_formula

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Substitution: TypeAlias = Mapping[str, Affine]

ELEMENT_BITS = 20  # a value has at most 2**20 elements: a megabyte of f8, far beyond any tile
ELEMENT_MASK = (1 << ELEMENT_BITS) - 1
UNINITIALISED = -1


@dataclass(frozen=True, slots=True)
class Comp:
    """One tag component of a value's elements: `base + table[element]`; `table` is an id in `Store`."""

    axis: str
    base: Affine
    table: int


@dataclass(frozen=True, slots=True)
class Window:
    """Elements whose coordinate lies outside `lo <= axis < hi` are padding, not data."""

    axis: str
    lo: Affine
    hi: Affine


@dataclass(frozen=True, slots=True)
class Domain:
    """`symbol` takes each integer value that satisfies `guard`."""

    symbol: str
    guard: Formula


@dataclass(frozen=True, slots=True)
class Term:
    """Reduced coordinates: `base + x` for each x of each run `(start, stop, count)`, `count` times, over `domains`.

    `base` has no constant (the runs have it), so that equal terms are equal values. Padding elements add nothing when
    `absorbing`.
    """

    axis: str
    base: Affine
    runs: tuple[tuple[int, int, int], ...]
    domains: tuple[Domain, ...] = ()
    windows: tuple[Window, ...] = ()
    absorbing: bool = True


@dataclass(frozen=True, slots=True)
class Value:
    """What one operation produced.

    Attributes:
        origins: Tensors whose elements went in.
        comps: Free coordinates, sorted by axis.
        windows: Where the elements are data.
        pad: What padding elements hold; None if that is not known.
        reduced: Coordinates summed over.
        changed: Something was done to the sums since, so nothing may be added to them any more.
        top: Why nothing is known of the tags; empty when they are known.
        claimed: Some component was claimed by `tag`.
        integers: The tensor of integers whose elements these are, as they lie there; empty for all other data.
        span: Where the value was made.
    """

    origins: frozenset[str]
    comps: tuple[Comp, ...]
    windows: tuple[Window, ...] = ()
    pad: float | None = 0.0
    reduced: tuple[Term, ...] = ()
    changed: bool = False
    top: str = ""
    claimed: bool = False
    integers: str = ""
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Tile:
    """A fragment as codes over its logical elements."""

    codes: Ints
    type: FragType


@dataclass(frozen=True, slots=True)
class Side:
    """Free coordinates along one edge of an accumulator: components with tables as long as the edge."""

    comps: tuple[Comp, ...]
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Acc:
    """An accumulator: free coordinates along its rows and columns, and what was summed.

    `pad` and `changed` are as in `Value`; `pair` has the origins of the two sides of its products.

    `done` holds the terms of finished loop phases, `open` those since; both grow only at the end, so that a loop can
    tell what one iteration added.
    """

    type: FragType
    rows: Side | None = None
    cols: Side | None = None
    origins: frozenset[str] = frozenset()
    pad: float | None = 0.0
    changed: bool = False
    pair: tuple[frozenset[str], frozenset[str]] | None = None
    done: tuple[Term, ...] = ()
    open: tuple[Term, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def reduced(self) -> tuple[Term, ...]:
        return self.done + self.open


@dataclass(frozen=True, slots=True)
class Same:
    """A uniform fragment: a literal, an index, or what pointwise operations make of those."""

    type: FragType


@dataclass(frozen=True, slots=True)
class Top:
    """Nothing is known; `reason` says why, and names the obligation it hangs on or the construct met."""

    type: FragType | None
    reason: str


Fragment: TypeAlias = Tile | Acc | Same | Top


class Store:
    """Interned values and tables: equal ones get equal numbers, so that whole states compare as arrays."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.tables: list[Ints] = []
        self._value_ids: dict[Value, int] = {}
        self._table_ids: dict[bytes, int] = {}
        self._grids: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}

    def value(self, value: Value) -> int:
        found = self._value_ids.get(value)
        if found is None:
            found = self._value_ids[value] = len(self.values)
            self.values.append(value)
        return found

    def table(self, local: Ints) -> int:
        flat = np.ascontiguousarray(local, dtype=np.int64).ravel()
        key = flat.tobytes()
        found = self._table_ids.get(key)
        if found is None:
            found = self._table_ids[key] = len(self.tables)
            self.tables.append(flat)
        return found

    def grid(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
        """The table of `sum of stride * index` over a row-major tile."""
        key = (shape, strides)
        if key not in self._grids:
            local = np.zeros(shape, np.int64)
            for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
                view = [1] * len(shape)
                view[axis] = extent
                local += (np.arange(extent) * stride).reshape(view)
            self._grids[key] = self.table(local)
        return self._grids[key]

    def codes(self, value: Value, shape: tuple[int, ...]) -> Ints:
        """Codes of all elements of a value, row-major."""
        size = int(np.prod(shape, dtype=np.int64))
        assert size <= ELEMENT_MASK
        return (np.arange(size) + (self.value(value) << ELEMENT_BITS)).reshape(shape)


def substitute_value(value: Value, env: Substitution) -> Value:
    return replace(
        value,
        comps=substitute_comps(value.comps, env),
        windows=substitute_windows(value.windows, env),
        reduced=tuple(substitute_term(t, env) for t in value.reduced),
    )


def substitute_comps(comps: tuple[Comp, ...], env: Substitution) -> tuple[Comp, ...]:
    return tuple(replace(c, base=substitute_affine(c.base, env)) for c in comps)


def substitute_windows(windows: tuple[Window, ...], env: Substitution) -> tuple[Window, ...]:
    return tuple(Window(w.axis, substitute_affine(w.lo, env), substitute_affine(w.hi, env)) for w in windows)


def substitute_term(term: Term, env: Substitution) -> Term:
    """Substitute free symbols; symbols bound by the term's own domains are named apart and never clash."""
    base = substitute_affine(term.base, env)
    return replace(
        term,
        base=base.without_const(),
        runs=tuple((a + base.const, b + base.const, n) for a, b, n in term.runs),
        domains=tuple(Domain(d.symbol, substitute_formula(d.guard, env)) for d in term.domains),
        windows=substitute_windows(term.windows, env),
    )


def value_variables(value: Value) -> frozenset[str]:
    """Free symbols of a value."""
    found = [c.base.variables() for c in value.comps]
    found += [x.variables() for w in value.windows for x in (w.lo, w.hi)]
    found += [term_variables(t) for t in value.reduced]
    return frozenset[str]().union(*found)


def term_variables(term: Term) -> frozenset[str]:
    found = [term.base.variables(), *(formula_variables(d.guard) for d in term.domains)]
    found += [x.variables() for w in term.windows for x in (w.lo, w.hi)]
    return frozenset[str]().union(*found) - {d.symbol for d in term.domains}


def runs_of(local: Ints) -> tuple[tuple[int, int, int], ...]:
    """A multiset of integers as runs `(start, stop, count)`."""
    low = int(local.min())
    counts = np.bincount(local.ravel() - low)
    edges = np.flatnonzero(np.diff(counts)) + 1
    starts = np.concatenate(([0], edges))
    stops = np.concatenate((edges, [len(counts)]))
    return tuple((int(a) + low, int(b) + low, int(counts[a])) for a, b in zip(starts, stops, strict=True) if counts[a])


def add_runs(
    x: tuple[tuple[int, int, int], ...], y: tuple[tuple[int, int, int], ...]
) -> tuple[tuple[int, int, int], ...]:
    """The sum of two multisets."""
    if not x or not y:
        return x or y
    low = min(x[0][0], y[0][0])
    counts = np.zeros(max(x[-1][1], y[-1][1]) - low, np.int64)
    for start, stop, count in (*x, *y):
        counts[start - low : stop - low] += count
    return runs_of(np.repeat(np.arange(len(counts)) + low, counts))
