"""Abstract values: what is known of the data in a fragment or in shared memory.

Hardware coordinates are enumerated: an array of element codes says, element by element, which *value* lies there and
which of the value's own elements it is. What is unbounded (block indices, loop counters, sizes) stays symbolic in the
few values that the codes refer to. A tag component of an element is therefore

    base(symbols) + table[element]

with one affine base a value and axis, and an integer table that does not depend on any symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from argus.dsl.diagnostics import NOWHERE, Span
from argus.dsl.ir.types import FragType
from argus.dsl.layout.affine import Affine, Formula, formula_variables, substitute_affine, substitute_formula, var

Reducer = Literal["sum", "max", "min"]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Substitution: TypeAlias = Mapping[str, Affine]

ELEMENT_BITS = 20  # a value has at most 2**20 elements: a megabyte of f8, far beyond any tile
ELEMENT_MASK = (1 << ELEMENT_BITS) - 1
UNINITIALISED = -1
HISTORY_AXIS = "<earlier rounds>"  # of the term that stands for what earlier rounds of a loop added


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
class Mask:
    """Elements for which `keep` is false were replaced by `pad` (None: by something unknown).

    `keep` speaks of an element's own coordinates: see `own`. Of several masks the last one wins. Those that also lie
    outside the windows along one axis hold what `apart` says of that axis, where it says something.
    """

    keep: Formula
    pad: float | None
    apart: tuple[tuple[str, float | None], ...] = ()


def own(axis: str) -> str:
    """The symbol that stands, in conditions on elements, for an element's own coordinate along an axis."""
    return f"[{axis}]"


class Ident(NamedTuple):
    """One fragment: the statement that made it, and how often that statement has run since."""

    site: int
    age: int


@dataclass(frozen=True, slots=True)
class Factor:
    """`base ** (power * m)` for a fragment m that was subtracted from exponents; `axes` are m's free ones."""

    ident: Ident
    base: str
    power: float
    axes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of a fragment as one among others.

    Attributes:
        ident: Which one it is; None once nobody can tell.
        above: Fragments that are nowhere above it: it is -inf only where they are.
        floor_of: The maximum that it is, but that something finite stands where that was -inf.
    """

    ident: Ident | None = None
    above: frozenset[Ident] = frozenset()
    floor_of: Ident | None = None

    @property
    def subject(self) -> Ident | None:
        """Whom an exponent is relative to that has this fragment subtracted."""
        return self.floor_of or self.ident


NO_MARK = Mark()


@dataclass(frozen=True, slots=True)
class Domain:
    """`symbol` takes each integer value that satisfies `guard`."""

    symbol: str
    guard: Formula


@dataclass(frozen=True, slots=True)
class Term:
    """Reduced coordinates: `base + x` for each x of each run `(start, stop, count)`, `count` times, over `domains`.

    `base` has no constant (the runs have it), so that equal terms are equal values. Padding elements add nothing when
    `absorbing`. `masks` are conditions on the members and on the coordinates of the element that they are reduced to,
    each with whether what fails it is neutral. `beside` has the members' one coordinate along other axes that are
    reduced with this one.
    """

    axis: str
    base: Affine
    runs: tuple[tuple[int, int, int], ...]
    domains: tuple[Domain, ...] = ()
    windows: tuple[Window, ...] = ()
    absorbing: bool = True
    op: Reducer = "sum"
    masks: tuple[tuple[Formula, bool], ...] = ()
    beside: tuple[tuple[str, Affine], ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


Fold: TypeAlias = tuple[Term, ...]  # of one axis: a reduction that is closed


@dataclass(frozen=True, slots=True)
class Value:
    """What one operation produced.

    Attributes:
        origins: Tensors whose elements went in.
        comps: Free coordinates, sorted by axis.
        windows: Where the elements are data.
        pad: What padding elements hold; None if that is not known, or differs from axis to axis.
        apart: What those hold that lie outside the windows along one axis only, where that differs.
        reduced: Coordinates combined by a sum, maximum or minimum that may go on.
        changed: `reduced` was multiplied by something since, so nothing may be added to it any more.
        folds: Coordinates of reductions that went into the value and that nothing can be added to any more.
        masks: Conditions under which the elements are data.
        low: Data may be -inf.
        wild: Data may be any infinity, or no number.
        scale: What the value is multiplied by, beside what the other fields tell.
        shift: What is added to it, likewise; `base` is empty.
        clashes: Operations on the way that combined elements of different coordinates, by number.
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
    folds: frozenset[Fold] = frozenset()
    changed: bool = False
    apart: tuple[tuple[str, float | None], ...] = ()
    masks: tuple[Mask, ...] = ()
    low: bool = False
    wild: bool = False
    scale: tuple[Factor, ...] = ()
    shift: tuple[Factor, ...] = ()
    clashes: frozenset[int] = frozenset()
    top: str = ""
    claimed: bool = False
    integers: str = ""
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Tile:
    """A fragment as codes over its logical elements.

    `lost` are the extents of the axes that its map is without, in the order in which they were reduced.
    """

    codes: Ints
    type: FragType
    mark: Mark = NO_MARK
    lost: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """Free coordinates along one edge of an accumulator: components with tables as long as the edge."""

    comps: tuple[Comp, ...]
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Acc:
    """An accumulator: free coordinates along its rows and columns, and what was summed.

    `pad`, `folds`, `scale`, `wild` and `clashes` are as in `Value`; `pair` has the origins of the two sides of its
    products. `changed`: the sums were multiplied by something, so that nothing may be added to them any more.

    `done` holds the terms of finished loop phases, `open` those since; both grow only at the end, so that a loop can
    tell what one iteration added.
    """

    type: FragType
    rows: Side | None = None
    cols: Side | None = None
    origins: frozenset[str] = frozenset()
    pad: float | None = 0.0
    pair: tuple[frozenset[str], frozenset[str]] | None = None
    folds: frozenset[Fold] = frozenset()
    scale: tuple[Factor, ...] = ()
    wild: bool = False
    changed: bool = False
    clashes: frozenset[int] = frozenset()
    done: tuple[Term, ...] = ()
    open: tuple[Term, ...] = ()
    mark: Mark = NO_MARK
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def reduced(self) -> tuple[Term, ...]:
        return self.done + self.open

    @property
    def empty(self) -> bool:
        """Zeros that nothing was added to; terms there may be, of loops that ran no time."""
        return not self.origins


@dataclass(frozen=True, slots=True)
class Stat:
    """The result of a reduction, which may go on: `done` and `open` as in `Acc`, all else in `value`."""

    type: FragType
    value: Value
    done: tuple[Term, ...] = ()
    open: tuple[Term, ...] = ()
    mark: Mark = NO_MARK
    lost: tuple[int, ...] = ()

    @property
    def reduced(self) -> tuple[Term, ...]:
        return self.done + self.open

    @property
    def whole(self) -> Value:
        return replace(self.value, reduced=self.reduced)


@dataclass(frozen=True, slots=True)
class Coords:
    """Integers or conditions that elements' own coordinates decide, elementwise.

    Attributes:
        what: A form or formula over `own` symbols and those of the program.
        comps: For each axis whose coordinate it speaks of, that coordinate; tables run over all elements.
    """

    type: FragType
    what: Affine | Formula
    comps: tuple[Comp, ...]


@dataclass(frozen=True, slots=True)
class Lowest:
    """`x == -inf` (or `!=`), which says of a maximum whether it was of nothing."""

    type: FragType
    of: Fragment
    negated: bool


@dataclass(frozen=True, slots=True)
class Same:
    """A uniform fragment: a literal, an index, or what pointwise operations make of those.

    `value` is its number, `form` the index expression, where they are known.
    """

    type: FragType
    value: float | None = None
    form: Affine | None = None


@dataclass(frozen=True, slots=True)
class Top:
    """Nothing is known; `reason` says why, and names the obligation it hangs on or the construct met."""

    type: FragType | None
    reason: str


Fragment: TypeAlias = Tile | Acc | Stat | Coords | Lowest | Same | Top


@dataclass(frozen=True, slots=True)
class Clash:
    """Where elements met that do not belong together, if `bad` holds: `want` and `got` are coordinates along `axis`."""

    text: str
    span: Span
    axis: str
    bad: Formula
    facts: tuple[Formula, ...] = field(compare=False)
    want: str = field(default="", compare=False)
    got: str = field(default="", compare=False)
    producer: Span | None = field(default=None, compare=False)


class Store:
    """Interned values and tables: equal ones get equal numbers, so that whole states compare as arrays."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.tables: list[Ints] = []
        self.clashes: list[Clash] = []
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

    def clash(self, clash: Clash) -> int:
        found = next((i for i, known in enumerate(self.clashes) if known == clash), None)
        if found is None:
            found = len(self.clashes)
            self.clashes.append(clash)
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


def recoded(store: Store, codes: Ints, change: Callable[[Value], Value]) -> Ints:
    """Codes of the same elements of changed values; the same array if nothing changes."""
    numbers = np.unique(codes >> ELEMENT_BITS)
    moved = {int(n): store.value(change(store.values[int(n)])) for n in numbers if n >= 0}
    if all(old == new for old, new in moved.items()):
        return codes
    table = np.arange(int(numbers[-1]) + 1)
    for old, new in moved.items():
        table[old] = new
    fresh = (table[codes >> ELEMENT_BITS] << ELEMENT_BITS) | (codes & ELEMENT_MASK)
    return np.where(codes >= 0, fresh, codes)


def substitute_value(value: Value, env: Substitution) -> Value:
    return replace(
        value,
        comps=substitute_comps(value.comps, env),
        windows=substitute_windows(value.windows, env),
        reduced=tuple(substitute_term(t, env) for t in value.reduced),
        folds=substitute_folds(value.folds, env),
        masks=tuple(replace(m, keep=substitute_formula(m.keep, env)) for m in value.masks),
    )


def closed(value: Value) -> Value:
    """The value with its reductions finished."""
    if not value.reduced:
        return value
    # What earlier rounds of a loop added may lie along any axis: it belongs to every reduction.
    earlier = tuple(t for t in value.reduced if t.axis == HISTORY_AXIS)
    keys = dict.fromkeys((t.axis, t.op) for t in value.reduced if t not in earlier)
    folds = {(*(t for t in value.reduced if (t.axis, t.op) == key), *earlier) for key in keys} or {earlier}
    return replace(value, reduced=(), changed=False, folds=value.folds | folds)


def unbound(value: Value, axis: str) -> Value:
    """The value once its elements have no coordinate along an axis: conditions speak of any coordinate there."""
    name = own(axis)
    if all(name not in formula_variables(keep) for keep in _conditions(value)):
        return value
    return substitute_value(value, {name: var(f"[{axis}']")})


def _conditions(value: Value) -> Iterator[Formula]:
    yield from (m.keep for m in value.masks)
    for term in (*value.reduced, *(t for fold in value.folds for t in fold)):
        yield from (keep for keep, _ in term.masks)


def substitute_folds(folds: frozenset[Fold], env: Substitution) -> frozenset[Fold]:
    return frozenset(tuple(substitute_term(t, env) for t in fold) for fold in folds)


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
        masks=tuple((substitute_formula(keep, env), neutral) for keep, neutral in term.masks),
        beside=tuple((axis, substitute_affine(form, env)) for axis, form in term.beside),
    )


def value_variables(value: Value) -> frozenset[str]:
    """Free symbols of a value."""
    found = [c.base.variables() for c in value.comps]
    found += [x.variables() for w in value.windows for x in (w.lo, w.hi)]
    found += [term_variables(t) for t in (*value.reduced, *(t for fold in value.folds for t in fold))]
    found += [formula_variables(m.keep) for m in value.masks]
    return frozenset(x for x in frozenset[str]().union(*found) if not x.startswith("["))


def term_variables(term: Term) -> frozenset[str]:
    found = [term.base.variables(), *(formula_variables(d.guard) for d in term.domains)]
    found += [x.variables() for w in term.windows for x in (w.lo, w.hi)]
    found += [formula_variables(keep) for keep, _ in term.masks]
    found += [form.variables() for _, form in term.beside]
    bound = {d.symbol for d in term.domains}
    return frozenset(x for x in frozenset[str]().union(*found) if x not in bound and not x.startswith("["))


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
