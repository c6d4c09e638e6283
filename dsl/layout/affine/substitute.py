"""Forms in place of variables."""

from __future__ import annotations

from collections.abc import Mapping

from argus.dsl.layout.affine.build import application, combine, conjunction, disjunction, eq, ge, ne, truth_of
from argus.dsl.layout.affine.form import Affine, And, Atom, Eq, Formula, Ge, Ne, Or, function_of


def substitute_affine(a: Affine, env: Mapping[str, Affine]) -> Affine:
    """Replace variables (or opaque atoms, by their text), inside opaque atoms too, and simplify again."""
    if not a.mentions(env):
        return a
    total = Affine(a.const)
    for atom, c in a.terms:
        total += _substitute_atom(atom, env) * c
    return total


def _substitute_atom(atom: Atom, env: Mapping[str, Affine]) -> Affine:
    if (new := env.get(atom.text)) is not None:
        return new
    if atom.kind == "var":
        return Affine(0, ((atom, 1),))
    if atom.truth is not None:
        return truth_of(substitute_formula(atom.truth, env))
    args = tuple(substitute_affine(x, env) for x in atom.args)
    return application(function_of(atom), args) if atom.kind == "app" else combine(atom.kind, *args)


def substitute_formula(f: Formula, env: Mapping[str, Affine]) -> Formula:
    """`substitute_affine` in a formula."""
    match f:
        case Ge(a):
            return ge(substitute_affine(a, env))
        case Eq(a):
            return eq(substitute_affine(a, env))
        case Ne(a):
            return ne(substitute_affine(a, env))
        case And(parts):
            return conjunction(substitute_formula(p, env) for p in parts)
        case Or(parts):
            return disjunction(substitute_formula(p, env) for p in parts)
