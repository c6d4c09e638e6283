"""Index expressions as sums: constants folded, equal terms joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.dsl.layout import ZERO, Const, Expr, Op, evaluate


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + the sum of coefficient * term; terms are expressions that are no sums themselves."""

    terms: Mapping[Expr, int]
    constant: int


def linear(e: Expr) -> Linear:
    """`e` as a sum. Products of two terms, quotients and the like count as terms."""
    match e:
        case Const(value):
            return Linear({}, value)
        case Op("+", (a, b)):
            return _sum(linear(a), linear(b), 1)
        case Op("-", (a, b)):
            return _sum(linear(a), linear(b), -1)
        case Op("*", (a, b)):
            return _product(linear(a), linear(b))
        case Op(kind, args):
            folded = Op(kind, tuple(simplify(a) for a in args))
            if all(isinstance(a, Const) for a in folded.args):
                try:
                    return Linear({}, evaluate(folded, {}))
                except ZeroDivisionError:
                    pass
            return Linear({folded: 1}, 0)
        case _:
            return Linear({e: 1}, 0)


def _sum(a: Linear, b: Linear, sign: int) -> Linear:
    terms = dict(a.terms)
    for term, k in b.terms.items():
        terms[term] = terms.get(term, 0) + sign * k
    return Linear({t: k for t, k in terms.items() if k}, a.constant + sign * b.constant)


def _product(a: Linear, b: Linear) -> Linear:
    if b.terms:
        a, b = b, a
    if b.terms:
        return Linear({Op("*", (_expr(b), _expr(a))): 1}, 0)
    return Linear({t: k * b.constant for t, k in a.terms.items() if b.constant}, a.constant * b.constant)


def simplify(e: Expr) -> Expr:
    """An equal expression: terms in order of appearance, then the constant."""
    return _expr(linear(e))


def _expr(form: Linear) -> Expr:
    total: Expr | None = None
    for term, k in form.terms.items():
        part = term if abs(k) == 1 else Op("*", (term, Const(abs(k))))
        if total is None:
            total = part if k > 0 else Op("-", (ZERO, part))
        else:
            total = Op("+" if k > 0 else "-", (total, part))
    if total is None:
        return Const(form.constant)
    if form.constant == 0:
        return total
    return Op("+" if form.constant > 0 else "-", (total, Const(abs(form.constant))))


def equal(a: Expr, b: Expr) -> bool:
    """Whether the two are the same sum. False says nothing."""
    form = _sum(linear(a), linear(b), -1)
    return not form.terms and form.constant == 0


def constant(e: Expr) -> int | None:
    """The value of an expression without variables."""
    form = linear(e)
    return None if form.terms else form.constant


def trips(start: Expr, stop: Expr) -> Expr:
    """How often `range(start, stop)` runs."""
    count = simplify(Op("-", (stop, start)))
    if isinstance(count, Const):
        return Const(max(0, count.value))
    # A quotient that rounds up, of a size, is positive; every other difference may be negative.
    return count if start == ZERO and isinstance(count, Op) and count.kind == "cdiv" else Op("max", (count, ZERO))


def product(a: Expr, b: Expr) -> Expr:
    return simplify(Op("*", (a, b)))


def total(a: Expr, b: Expr) -> Expr:
    return simplify(Op("+", (a, b)))
