"""Counting: how often a family of intervals, one for each value of some symbols, holds a given point.

A member of the family holds point x when `x = base(symbols) + offset` for an offset of its runs. Where a symbol s has
coefficient c and the runs are at most |c| wide, s is the quotient of a division by c, so the count is a formula without
quantifiers over linear integer arithmetic. Wider runs are cut into pieces of width |c|.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from argus.dsl.layout.affine import (
    TRUE,
    Affine,
    And,
    Atom,
    Formula,
    Ge,
    conjunction,
    disjunction,
    eq,
    evaluate_affine,
    evaluate_formula,
    formula_variables,
    ge,
    ne,
    negation,
    substitute_affine,
    substitute_formula,
    var,
)
from argus.dsl.tags.domain import Domain, Ints, Term, Window, own
from argus.dsl.tags.obligations import POINTS, Box, CoversOnce, WritesOnce

Run = tuple[int, int, int]


class NotCountable(Exception):
    """The family is not of a form that this module counts; the message says why."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate of a family: the point asked for, where members lie, and which offsets they hold."""

    point: Affine
    base: Affine
    runs: tuple[Run, ...]
    windows: tuple[tuple[Affine, Affine], ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    axes: tuple[Axis, ...]
    domains: tuple[Domain, ...]
    given: tuple[Formula, ...] = ()


def reduction_families(claim: CoversOnce, point: Affine) -> list[Family]:
    return [
        Family((_term_axis(t, point), *_across(claim, t)), t.domains, _members(claim, t, point)) for t in claim.terms
    ]


def _across(claim: CoversOnce, term: Term) -> tuple[Axis, ...]:
    """The one coordinate of the term's members along each other axis."""
    at = dict(term.beside)
    return tuple(
        Axis(var(point), at[axis].without_const(), ((at[axis].const, at[axis].const + 1, 1),))
        for point, (axis, _) in zip(POINTS[1:], claim.across, strict=False)
    )


def _members(claim: CoversOnce, term: Term, point: Affine) -> tuple[Formula, ...]:
    """The conditions under which a point of the term's runs is a member."""
    return tuple(substitute_formula(keep, {own(claim.axis): point}) for keep, _ in term.masks)


def _term_axis(term: Term, point: Affine) -> Axis:
    return Axis(point, term.base, term.runs, tuple((w.lo, w.hi) for w in term.windows))


def output_families(claim: WritesOnce, points: Sequence[Affine]) -> list[Family]:
    blocks = tuple(
        Domain(name, conjunction((ge(var(name)), ge(count - var(name) - 1)))) for name, count in claim.blocks
    )
    return [_box_family(box, points, blocks) for box in claim.boxes]


def _box_family(box: Box, points: Sequence[Affine], blocks: tuple[Domain, ...]) -> Family:
    axes = tuple(
        Axis(point, base.without_const(), ((base.const, base.const + size, 1),), _windows(box.windows, i))
        for i, (point, base, size) in enumerate(zip(points, box.base, box.size, strict=True))
    )
    domains = (*blocks, *box.domains)
    bound = {d.symbol for d in domains}
    given = tuple(f for f in box.given if not formula_variables(f).isdisjoint(bound))
    return Family(axes, domains, given)


def _windows(windows: tuple[Window, ...], axis: int) -> tuple[tuple[Affine, Affine], ...]:
    return tuple((w.lo, w.hi) for w in windows if w.axis == str(axis))


# ----------------------------------------------------------------------------------------- as formulas


class Counter:
    """Builds the formulas; `definitions` fix the fresh symbols that they use."""

    def __init__(self) -> None:
        self.definitions: list[Formula] = []
        self._fresh = 0

    def total(self, families: Sequence[Family]) -> Affine:
        """How many members of all families hold the points.

        Raises:
            NotCountable: If some family is of another form.
        """
        out = Affine()
        for family in families:
            for part in _narrow(family):
                out += self._count(part)
        return out

    def _symbol(self, word: str) -> Affine:
        self._fresh += 1
        return var(f"{word}'{self._fresh}")

    def _count(self, family: Family) -> Affine:
        open_symbols = {d.symbol: d.guard for d in family.domains}
        solved = dict[str, Affine]()
        member = list[Formula]()
        weight = 1
        waiting = list(family.axes)
        while waiting:
            axis = min(waiting, key=lambda a: len(_unsolved(a, open_symbols)))
            waiting.remove(axis)
            unsolved = _unsolved(axis, open_symbols)
            if len(unsolved) > 1:
                raise NotCountable(f"{', '.join(sorted(unsolved))} move the same coordinate")
            offset = self._offset(axis, unsolved, solved, open_symbols)
            weights = {n for _, _, n in axis.runs}
            if len(weights) > 1:
                raise NotCountable("runs of different counts")
            weight *= weights.pop()
            inside = disjunction(conjunction((ge(offset - a), ge(Affine(b - 1) - offset))) for a, b, _ in axis.runs)
            member.append(inside)
        for axis in family.axes:
            for lo, hi in axis.windows:
                member += [
                    ge(axis.point - substitute_affine(lo, solved)),
                    ge(substitute_affine(hi, solved) - axis.point - 1),
                ]
        member += [substitute_formula(d.guard, solved) for d in family.domains if d.symbol in solved]
        member += [substitute_formula(f, solved) for f in family.given]
        held = conjunction(member)
        if not open_symbols:
            return _truth(held) * weight
        if len(open_symbols) > 1:
            raise NotCountable(f"{', '.join(sorted(open_symbols))} move no coordinate")
        return self._multiplied(held, weight, *next(iter(open_symbols.items())), solved)

    def _offset(
        self, axis: Axis, unsolved: frozenset[str], solved: dict[str, Affine], open_symbols: dict[str, Formula]
    ) -> Affine:
        """The point's place within its member; solves for the symbol that moves the member."""
        base = substitute_affine(axis.base, solved)
        if not unsolved:
            return axis.point - base
        (name,) = unsolved
        c = base.coefficient(name)
        rest = base - var(name) * c
        if c == 0 or name in rest.variables():
            raise NotCountable(f"{name} moves a coordinate in steps that differ")
        quotient = self._symbol(name)
        solved[name] = quotient if c > 0 else -quotient
        del open_symbols[name]
        low = min(a for a, _, _ in axis.runs)
        place = axis.point - rest - quotient * abs(c)
        self.definitions += [ge(place - low), ge(Affine(low + abs(c) - 1) - place)]
        return place

    def _multiplied(self, held: Formula, weight: int, name: str, guard: Formula, solved: dict[str, Affine]) -> Affine:
        """Each value of a symbol that moves nothing counts once more; its values are consecutive from 0."""
        guard = substitute_formula(guard, solved)
        begin = _begin(guard, name)
        values, out = self._symbol("values"), self._symbol("count")

        def at(value: Affine) -> Formula:
            return substitute_formula(guard, {name: value})

        self.definitions.append(
            disjunction(
                (
                    conjunction((eq(values), negation(at(Affine(begin))))),
                    conjunction((ge(values - 1), at(values + (begin - 1)), negation(at(values + begin)))),
                )
            )
        )
        self.definitions.append(
            disjunction((conjunction((held, eq(out - values * weight))), conjunction((negation(held), eq(out)))))
        )
        return out


def _unsolved(axis: Axis, open_symbols: dict[str, Formula]) -> frozenset[str]:
    return axis.base.variables() & open_symbols.keys()


def _begin(guard: Formula, name: str) -> int:
    """The least value that a guard allows for a symbol."""
    parts = guard.parts if isinstance(guard, And) else (guard,)
    for part in parts:
        if isinstance(part, Ge) and part.a.coefficient(name) == 1 and (part.a - var(name)).is_const:
            return -part.a.const
    raise NotCountable(f"{name} has no least value")


def _truth(f: Formula) -> Affine:
    if f == And(()):
        return Affine(1)
    return Affine(0, ((Atom(f"[{f}]", "truth", (), f), 1),))


def _narrow(family: Family) -> list[Family]:
    """Families whose runs are no wider than the step of the symbol that moves them, and of equal counts."""
    choices = list[list[Axis]]()
    symbols = {d.symbol for d in family.domains}
    for axis in family.axes:
        moving = [c for a, c in axis.base.terms if a.text in symbols]
        choices.append([piece for part in _by_count(axis) for piece in _cut(part, abs(moving[0]) if moving else 0)])
    return [Family(tuple(axes), family.domains, family.given) for axes in product(*choices)]


def _by_count(axis: Axis) -> list[Axis]:
    counts = sorted({n for _, _, n in axis.runs})
    return [Axis(axis.point, axis.base, tuple(r for r in axis.runs if r[2] == n), axis.windows) for n in counts]


def _cut(axis: Axis, step: int) -> list[Axis]:
    low, high = min(a for a, _, _ in axis.runs), max(b for _, b, _ in axis.runs)
    if step == 0 or high - low <= step:
        return [axis]
    pieces = list[Axis]()
    for start in range(low, high, step):
        runs = tuple(
            (max(a, start), min(b, start + step), n) for a, b, n in axis.runs if max(a, start) < min(b, start + step)
        )
        if runs:
            pieces.append(Axis(axis.point, axis.base, runs, axis.windows))
    return pieces


# --------------------------------------------------------------------------------------------- the claims


def reduction_violated(claim: CoversOnce, point: str = POINTS[0]) -> list[Formula]:
    """Formulas that are satisfiable together exactly if some coordinate is not summed as often as it should be."""
    counter = Counter()
    x = var(point)
    count = counter.total(reduction_families(claim, x))
    inside = substitute_formula(claim.inside, {POINTS[0]: x})
    bad = (
        ne(count - _truth(inside))
        if claim.once
        else disjunction((conjunction((inside, ge(-count))), conjunction((negation(inside), ge(count - 1)))))
    )
    points = [(x, claim.extent), *((var(p), e) for p, (_, e) in zip(POINTS[1:], claim.across, strict=False))]
    inside_all = [f for at, extent in points for f in (ge(at), ge(extent - at - 1))]
    return [*inside_all, *counter.definitions, bad]


def padding_summed(claim: CoversOnce) -> list[list[Formula]]:
    """For each term whose padding does not vanish: formulas satisfiable if it sums padding."""
    out = list[list[Formula]]()
    for number, term in enumerate(claim.terms):
        x = var(f"padding'{number}")
        at = x - term.base
        inside = disjunction(conjunction((ge(at - a), ge(Affine(b - 1) - at))) for a, b, _ in term.runs)
        here = [inside, *(d.guard for d in term.domains)]
        keeps = _members(claim, term, x)
        if not term.absorbing:
            outside = disjunction(f for w in term.windows for f in (ge(w.lo - x - 1), ge(x - w.hi)))
            out.append([*here, outside, *keeps])
        # Of several masks the last that an element fails says what it holds.
        out += [
            [*here, negation(keeps[i]), *keeps[i + 1 :]] for i, (_, neutral) in enumerate(term.masks) if not neutral
        ]
    return out


def beyond_summed(claim: CoversOnce) -> list[list[Formula]]:
    """For each term that may hold data at or beyond the extent: formulas satisfiable if it does."""
    out = list[list[Formula]]()
    for number, term in enumerate(claim.terms):
        if any(w.hi == claim.extent for w in term.windows):
            continue
        x = var(f"beyond'{number}")
        at = x - term.base
        held = disjunction(conjunction((ge(at - a), ge(Affine(b - 1) - at))) for a, b, _ in term.runs)
        windows = [f for w in term.windows for f in (ge(x - w.lo), ge(w.hi - x - 1))]
        guards = [d.guard for d in term.domains]
        out.append([held, *guards, *windows, *_members(claim, term, x), ge(x - claim.extent)])
    return out


def output_violated(claim: WritesOnce, points: Sequence[str] = POINTS) -> list[Formula]:
    """Formulas that are satisfiable together exactly if some output element is not written as often as it should be."""
    counter = Counter()
    at = [var(p) for p in points[: len(claim.extents)]]
    count = counter.total(output_families(claim, at))
    want = _truth(substitute_formula(claim.inside, dict(zip(POINTS, at, strict=False))))
    inside = [f for x, extent in zip(at, claim.extents, strict=True) for f in (ge(x), ge(extent - x - 1))]
    return [*inside, *counter.definitions, ne(count - want)]


# ------------------------------------------------------------------------------------------- by counting


MOST_VALUES = 64  # of one symbol; sizes tried by counting are small
MOST_POINTS = 1 << 20


def tally(families: Sequence[Family], env: dict[str, int], extents: Sequence[int]) -> Ints | None:
    """How often each point of a box is held at concrete sizes, by enumeration; None if the box is too large.

    Raises:
        KeyError: If a symbol has no value.
    """
    if any(e <= 0 for e in extents) or int(np.prod(extents)) > MOST_POINTS:
        return None
    counts = np.zeros(tuple(extents), np.int64)
    for family in families:
        points = {name for axis in family.axes for name in axis.point.variables()}
        fixed = [f for f in family.given if formula_variables(f).isdisjoint(points)]
        pointwise = [f for f in family.given if f not in fixed]
        for values in _values(family.domains, dict(env)):
            if all(evaluate_formula(f, values) for f in fixed):
                mine = np.zeros_like(counts) if pointwise else counts
                _add(mine, family, values)
                if pointwise:
                    counts += mine * _held(pointwise, family, values, counts.shape)
    return counts


def _held(conditions: Sequence[Formula], family: Family, env: dict[str, int], extents: tuple[int, ...]) -> Ints:
    """Where the conditions on a point hold."""
    (axis,) = family.axes
    (name,) = axis.point.variables()
    held = [all(evaluate_formula(f, {**env, name: x}) for f in conditions) for x in range(extents[0])]
    return np.array(held, np.int64)


def _values(domains: tuple[Domain, ...], env: dict[str, int]) -> list[dict[str, int]]:
    """All values of the symbols that their guards allow."""
    envs = [env]
    for domain in domains:
        envs = [
            {**e, domain.symbol: v} for e in envs for v in range(MOST_VALUES)
            if evaluate_formula(domain.guard, {**e, domain.symbol: v})
        ]  # fmt: skip
    return envs


def wanted(inside: Formula, env: Mapping[str, int], extents: Sequence[int]) -> Ints:
    """How often each point of a box should be held.

    Raises:
        KeyError: If a symbol has no value.
    """
    want = np.ones(tuple(extents), np.int64)
    if inside != TRUE:
        for point in np.ndindex(*extents):
            want[point] = evaluate_formula(inside, {**env, **dict(zip(POINTS, point, strict=False))})
    return want


def _add(counts: Ints, family: Family, env: dict[str, int]) -> None:
    spans = list[list[Run]]()
    for extent, axis in zip(counts.shape, family.axes, strict=True):
        base = evaluate_affine(axis.base, env)
        low = max([0, *(evaluate_affine(lo, env) for lo, _ in axis.windows)])
        high = min([extent, *(evaluate_affine(hi, env) for _, hi in axis.windows)])
        spans.append([(max(base + a, low), min(base + b, high), n) for a, b, n in axis.runs])
    for pick in product(*spans):
        if all(a < b for a, b, _ in pick):
            counts[tuple(slice(a, b) for a, b, _ in pick)] += int(np.prod([n for _, _, n in pick]))
