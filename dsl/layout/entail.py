"""Cheap decisions about formulas: bounds by monotonicity, consequences by subtracting a fact.

What these functions do not see, a solver may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from argus.dsl.layout.affine import Affine, And, Atom, Eq, Formula, Ge, Ne, Or, ge, substitute_affine


def lower_bound(a: Affine, least: Mapping[str, int]) -> int | None:
    """A value that `a` never falls below, given least values of variables; None if none is evident."""
    total = a.const
    for atom, c in a.terms:
        bound = _atom_bound(atom, least) if c > 0 else None
        if bound is None:
            return None
        total += c * bound
    return total


def _atom_bound(atom: Atom, least: Mapping[str, int]) -> int | None:
    match atom.kind:
        case "var":
            return least.get(atom.text)
        case "//" if atom.args[1].is_const and atom.args[1].const > 0:
            inner = lower_bound(atom.args[0], least)
            return None if inner is None else inner // atom.args[1].const
        case "max":
            bounds = [b for a in atom.args if (b := lower_bound(a, least)) is not None]
            return max(bounds, default=None)
        case "app":
            return None
        case "min" | "*":
            bounds = [lower_bound(a, least) for a in atom.args]
            left, right = bounds
            if left is None or right is None:
                return None
            return min(left, right) if atom.kind == "min" else (left * right if left >= 0 and right >= 0 else None)
        case "truth":
            return 0
        case _:
            return None


def entails(facts: Iterable[Formula], goal: Formula, least: Mapping[str, int]) -> bool:
    """Whether the goal evidently follows; False means only that this cheap test does not see it."""
    match goal:
        case And(parts):
            facts = tuple(facts)
            return all(entails(facts, p, least) for p in parts)
        case Ge(a):
            bound = lower_bound(a, least)
            if bound is not None and bound >= 0:
                return True
            return any(_follows(a, fact, least) for fact in facts)
        case Ne(a):
            facts = tuple(facts)
            return goal in facts or entails(facts, ge(a - 1), least) or entails(facts, ge(-a - 1), least)
        case Eq():
            return goal in facts or Eq(-goal.a) in facts
        case Or(parts):
            facts = tuple(facts)
            return goal in facts or any(entails(facts, p, least) for p in parts)


def _follows(a: Affine, fact: Formula, least: Mapping[str, int]) -> bool:
    match fact:
        case Ge(b):
            bound = lower_bound(a - b, least)
        case Eq(b):
            bounds = [x for gap in (a - b, a + b) if (x := lower_bound(gap, least)) is not None]
            bound = max(bounds, default=None)
        case And(parts):
            return any(_follows(a, p, least) for p in parts)
        case _:
            return False
    return bound is not None and bound >= 0


def settle_extremes(a: Affine, facts: Sequence[Formula], least: Mapping[str, int]) -> Affine:
    """`a` with each `min` and `max` whose greater side is evident replaced by one side."""
    while env := dict(_extremes(a, facts, least)):
        a = substitute_affine(a, env)
    return a


def _extremes(a: Affine, facts: Sequence[Formula], least: Mapping[str, int]) -> Iterator[tuple[str, Affine]]:
    for atom, _ in a.terms:
        if atom.kind in ("min", "max"):
            x, y = atom.args
            for low, high in ((x, y), (y, x)):
                if entails(facts, ge(high - low), least):
                    yield atom.text, (low if atom.kind == "min" else high)
                    break
        for inner in atom.args:
            yield from _extremes(inner, facts, least)
