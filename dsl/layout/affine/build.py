"""Arithmetic and logic on forms: what is constant or affine is computed, the rest becomes an opaque atom."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import gcd
from typing import Literal

from argus.dsl.layout.affine.form import FALSE, TRUE, Affine, And, Atom, AtomKind, Eq, Formula, Ge, Ne, Or, collect


def var(name: str) -> Affine:
    """A variable."""
    return Affine(0, ((Atom(name), 1),))


def floordiv(a: Affine, c: int) -> Affine:
    """`a // c` for c > 0: multiples of c leave the division, the rest stays opaque."""
    assert c > 0
    whole = tuple((x, k // c) for x, k in a.terms if k % c == 0)
    rest = tuple((x, k) for x, k in a.terms if k % c)
    if not rest:
        return Affine(a.const // c, whole)
    offset = a.const % c
    # floor((g*x + r) / (g*c)) = floor((x + r // g) / c)
    g = reduce(gcd, (abs(k) for _, k in rest), c)
    inner = Affine(offset // g, tuple((x, k // g) for x, k in rest))
    atom = Atom(_division_text(inner, c // g), "//", (inner, Affine(c // g)))
    return collect(a.const // c, (*whole, (atom, 1)))


def _division_text(inner: Affine, c: int) -> str:
    if inner.const == c - 1:
        return f"cdiv({inner.without_const()}, {c})"
    return f"(({inner}) // {c})" if len(inner.terms) > 1 or inner.const else f"({inner} // {c})"


def _opaque(kind: AtomKind, args: tuple[Affine, ...]) -> Affine:
    text = f"{kind}({', '.join(map(str, args))})" if kind != "*" else " * ".join(f"({a})" for a in args)
    return Affine(0, ((Atom(text, kind, args), 1),))


def product(a: Affine, b: Affine) -> Affine:
    """`a * b`; opaque when neither is a constant."""
    if a.is_const:
        return b * a.const
    if b.is_const:
        return a * b.const
    first, second = sorted((a, b), key=str)
    return _opaque("*", (first, second))


def truth_of(f: Formula) -> Affine:
    """1 where a formula holds, else 0."""
    if f in (TRUE, FALSE):
        return Affine(int(f == TRUE))
    return Affine(0, ((Atom(f"[{f}]", "truth", (), f), 1),))


def application(name: str, args: tuple[Affine, ...]) -> Affine:
    """`name[args]`: an unknown function, such as a tensor of integers."""
    return Affine(0, ((Atom(f"{name}[{', '.join(map(str, args))}]", "app", args), 1),))


def division(a: Affine, b: Affine) -> Affine:
    """`a // b`; opaque where it does not come out."""
    if b.is_const and b.const > 0:
        return floordiv(a, b.const)
    if b.is_const and b.const < 0:
        return floordiv(-a, -b.const)
    return Affine(0, ((Atom(f"(({a}) // ({b}))", "//", (a, b)), 1),))


def _extreme(kind: Literal["min", "max"], a: Affine, b: Affine) -> Affine:
    gap = a - b
    if gap.is_const:
        return a if (gap.const <= 0) == (kind == "min") else b
    first, second = sorted((a, b), key=str)
    return _opaque(kind, (first, second))


def combine(kind: str, a: Affine, b: Affine) -> Affine:
    """The operation `kind` of index expressions on integers."""
    match kind:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return product(a, b)
        case "//":
            return division(a, b)
        case "cdiv":
            return floordiv(a + (b.const - 1), b.const) if b.is_const and b.const > 0 else -division(-a, b)
        case "%":
            return a - product(division(a, b), b)
        case "min" | "max":
            return _extreme(kind, a, b)
        case _:
            raise AssertionError(f"{kind} is no integer operation")


def conjunction(parts: Iterable[Formula]) -> Formula:
    """All of the parts; repeats and what is true drop out."""
    kept = tuple(dict.fromkeys(p for p in parts if p != TRUE))
    if FALSE in kept:
        return FALSE
    return kept[0] if len(kept) == 1 else And(kept)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """One of the parts at least; repeats and what is false drop out."""
    kept = tuple(dict.fromkeys(p for p in parts if p != FALSE))
    if TRUE in kept:
        return TRUE
    return kept[0] if len(kept) == 1 else Or(kept)


def ge(a: Affine) -> Formula:
    """`a >= 0`."""
    return (TRUE if a.const >= 0 else FALSE) if a.is_const else Ge(a)


def eq(a: Affine) -> Formula:
    """`a == 0`."""
    return (TRUE if a.const == 0 else FALSE) if a.is_const else Eq(a)


def ne(a: Affine) -> Formula:
    """`a != 0`."""
    return (FALSE if a.const == 0 else TRUE) if a.is_const else Ne(a)


def negation(f: Formula) -> Formula:
    """The formula that holds where `f` does not; integers, so `not a >= 0` is `-a - 1 >= 0`."""
    match f:
        case Ge(a):
            return ge(-a - 1)
        case Eq(a):
            return ne(a)
        case Ne(a):
            return eq(a)
        case And(parts):
            return disjunction(negation(p) for p in parts)
        case Or(parts):
            return conjunction(negation(p) for p in parts)
