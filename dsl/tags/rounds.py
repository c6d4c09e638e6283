"""Facts about how loops ended, in terms of what their bounds are made of."""

from __future__ import annotations

from collections.abc import Iterable

from argus.dsl.layout.affine import (
    TRUE,
    Affine,
    Eq,
    Formula,
    eq,
    floordiv,
    formula_symbols,
    substitute_affine,
    substitute_formula,
    var,
)

ROUND = "@"  # marks the round counter of a loop


def without_rounds(facts: Iterable[Formula]) -> tuple[tuple[Formula, ...], dict[str, Affine]]:
    """The facts with round counters replaced by what they are equal to, and what that is.

    Each block has round counters of its own, so nothing may be counted over blocks by a fact that mentions one. A
    counter q with `c * q + rest == 0` is `-rest // c`, and c divides -rest.
    """
    known, values = list(dict.fromkeys(facts)), dict[str, Affine]()
    while (found := _solved(known)) is not None:
        used, counter, value, more = found
        known = [substitute_formula(f, {counter: value}) for f in known if f is not used] + more
        known = [f for f in dict.fromkeys(known) if f != TRUE]
        values = {name: substitute_affine(form, {counter: value}) for name, form in values.items()} | {counter: value}
    return tuple(known), values


def _solved(known: list[Formula]) -> tuple[Formula, str, Affine, list[Formula]] | None:
    """An equation, the counter that it gives, the counter's value, and what else follows."""
    for fact in known:
        if not isinstance(fact, Eq):
            continue
        for atom, c in fact.a.terms:
            if atom.kind != "var" or ROUND not in atom.text:
                continue
            rest = fact.a - var(atom.text) * c
            if rest.mentions((atom.text,)):
                continue
            value = rest * (-1 if c > 0 else 1)
            if abs(c) == 1:
                return fact, atom.text, value, []
            quotient = floordiv(value, abs(c))
            return fact, atom.text, quotient, [eq(value - quotient * abs(c))]
    return None


def mentions_round(f: Formula) -> bool:
    return any(ROUND in s for s in formula_symbols(f))
