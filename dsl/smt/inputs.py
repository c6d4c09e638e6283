"""Inputs for an execution: random numbers, and integers that respect what the contract assumes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from argus.dsl.layout.affine import (
    Affine,
    And,
    Atom,
    Eq,
    Formula,
    Ge,
    Or,
    application,
    evaluate_affine,
    evaluate_formula,
    formula_atoms,
    function_of,
    substitute_formula,
)
from argus.dsl.tags.contract import BOUND, Assumptions

Ints = npt.NDArray[np.int64]
Values = dict[str, int]

FREE = (-1, 3)  # the range of integers of which nothing is assumed
TRIES = 12


def integers(
    known: Assumptions, shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, int], pinned: Mapping[str, int],
    rng: np.random.Generator,
) -> dict[str, Ints] | None:  # fmt: skip
    """Tensors of integers that satisfy the assumptions, with the elements that `pinned` names by text (`slot[3]`).

    None if a few tries find none.
    """
    for attempt in range(TRIES):
        bounds = {name: _bounds(known, name, sizes) for name in shapes}
        made = {name: _drawn(bounds[name], shape, rng, attempt) for name, shape in shapes.items()}
        for text, value in pinned.items():
            name, _, rest = text.partition("[")
            if rest and name in made:
                index = tuple(int(i) for i in rest.rstrip("]").split(","))
                if all(0 <= i < n for i, n in zip(index, made[name].shape, strict=True)):
                    made[name][index] = value
        if satisfied(known, made, sizes):
            return made
    return None


def _drawn(bounds: tuple[int, int], shape: tuple[int, ...], rng: np.random.Generator, turn: int) -> Ints:
    """Values between bounds: at random, all different, or in order, by turns."""
    low, high = bounds
    count = int(np.prod(shape, dtype=np.int64))
    if turn % 3 == 1 and high - low >= count:
        flat = rng.permutation(high - low)[:count] + low
    elif turn % 3 == 2:
        flat = np.minimum(np.arange(count) + max(low, 0), max(high - 1, low))
    else:
        flat = rng.integers(low, max(high, low + 1), count)
    return flat.astype(np.int64).reshape(shape)


def _bounds(known: Assumptions, name: str, sizes: Mapping[str, int]) -> tuple[int, int]:
    """The least value, and the one after the greatest."""
    lows, highs = [FREE[0]], list[int]()
    for part in (p for a in known.all for p in _parts(a.formula)):
        if not isinstance(part, Ge):
            continue
        mine = [(atom, c) for atom, c in part.a.terms if atom.kind == "app" and function_of(atom) == name]
        if len(mine) != 1 or abs(mine[0][1]) != 1:
            continue
        (atom, c) = mine[0]
        rest = part.a - Affine(0, ((atom, c),))
        if rest.variables() <= sizes.keys() and not any(a.kind == "app" for a in formula_atoms(Ge(rest))):
            value = evaluate_affine(rest, sizes)
            (lows if c == 1 else highs).append(-value if c == 1 else value + 1)
    low = max(lows[1:], default=FREE[0])
    return low, min(highs, default=low + FREE[1] - FREE[0])


def _parts(f: Formula) -> Iterator[Formula]:
    if isinstance(f, And | Or):
        for p in f.parts:
            yield from _parts(p)
    else:
        yield f


def satisfied(known: Assumptions, made: Mapping[str, Ints], sizes: Mapping[str, int]) -> bool:
    """Whether the integers satisfy every assumption, functions without a definition taking the values they must."""
    judge = _Judge(dict(sizes), frozenset(made))
    for name, values in made.items():
        judge.env.update({f"{name}[{', '.join(map(str, i))}]": int(v) for i, v in np.ndenumerate(values)})
    given = {name: Affine(value) for name, value in sizes.items()}
    # Equations first: they give functions without a definition their values.
    for assumed in sorted(known.all, key=lambda a: not isinstance(a.formula, Eq)):
        extents = [range(evaluate_affine(known.ranges[axis], sizes)) for axis in assumed.axes]
        for values in product(*extents):
            bound = {axis + BOUND: Affine(v) for axis, v in zip(assumed.axes, values, strict=True)}
            if not judge.holds(substitute_formula(assumed.formula, given | bound)):
                return False
    return True


@dataclass(frozen=True, slots=True)
class _Judge:
    """Evaluates assumptions; an equation about a function without a definition defines it."""

    env: Values
    tensors: frozenset[str]

    def holds(self, f: Formula) -> bool:
        match f:
            case And(parts):
                return all(self.holds(p) for p in parts)
            case Or(parts):
                return any(self.holds(p) for p in sorted(parts, key=self._defines))
            case Eq(a) if self._defines(f):
                return self._defined(a)
            case _:
                try:
                    return evaluate_formula(f, self.env)
                except KeyError as missing:
                    # A function that no equation defines may take a value that fits.
                    return str(missing.args[0]).partition("[")[0] not in self.tensors

    def _defines(self, f: Formula) -> bool:
        return isinstance(f, Eq) and sum(self._value(atom) is None for atom, _ in f.a.terms) == 1

    def _value(self, atom: Atom) -> int | None:
        try:
            return evaluate_affine(Affine(0, ((atom, 1),)), self.env)
        except KeyError:
            return None

    def _defined(self, a: Affine) -> bool:
        ((atom, c),) = ((atom, c) for atom, c in a.terms if self._value(atom) is None)
        rest = evaluate_affine(a - Affine(0, ((atom, c),)), self.env)
        if atom.kind != "app" or abs(c) != 1:
            return False
        try:
            args = tuple(Affine(evaluate_affine(x, self.env)) for x in atom.args)
        except KeyError:
            return False
        self.env[str(application(function_of(atom), args))] = -rest * c
        return True
