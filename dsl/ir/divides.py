"""What the contract says about divisibility of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, lcm

from argus.dsl.ir.linear import linear, simplify
from argus.dsl.layout import ZERO, Const, Expr, Op

Multiples = Mapping[Expr, int]


def multiples(where: Iterable[Expr]) -> Multiples:
    """For each expression of a predicate `e % n == 0`: the n, several of them joined."""
    out: dict[Expr, int] = {}
    stack = list(where)
    while stack:
        match stack.pop():
            case Op("and", args):
                stack += args
            case Op("==", (Op("%", (e, Const(n))), rest)) if n > 0 and rest == ZERO:
                key = simplify(e)
                out[key] = lcm(out.get(key, 1), n)
            case _:
                pass
    return out


def divisor(e: Expr, known: Multiples) -> int:
    """A number that divides `e` whatever the variables are; 0 for an expression that is zero."""
    form = linear(e)
    out = form.constant
    for term, k in form.terms.items():
        out = gcd(out, k * _term(term, known))
    return abs(out)


def _term(term: Expr, known: Multiples) -> int:
    if term in known:
        return known[term]
    match term:
        case Op("*", (a, b)):
            return divisor(a, known) * divisor(b, known)
        case Op("min" | "max", (a, b)):
            return gcd(divisor(a, known), divisor(b, known))
        case _:
            return 1
