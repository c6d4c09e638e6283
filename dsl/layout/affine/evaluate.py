"""Values of forms and formulas."""

from __future__ import annotations

from collections.abc import Mapping

from argus.dsl.layout.affine.build import application
from argus.dsl.layout.affine.form import Affine, And, Atom, Eq, Formula, Ge, Ne, Or, function_of


def evaluate_affine(a: Affine, env: Mapping[str, int]) -> int:
    """The value of a form.

    Applications have theirs under their text, with numbers for arguments: `expert[3]`.

    Raises:
        KeyError: If a variable or an application has no value.
    """
    return a.const + sum(c * _atom_value(atom, env) for atom, c in a.terms)


def _atom_value(atom: Atom, env: Mapping[str, int]) -> int:
    if atom.kind == "var":
        return env[atom.text]
    if atom.truth is not None:
        return int(evaluate_formula(atom.truth, env))
    if atom.kind == "app":
        return env[str(application(function_of(atom), tuple(Affine(evaluate_affine(x, env)) for x in atom.args)))]
    left, right = (evaluate_affine(x, env) for x in atom.args)
    match atom.kind:
        case "//":
            return left // right
        case "*":
            return left * right
        case "min":
            return min(left, right)
        case _:
            return max(left, right)


def evaluate_formula(f: Formula, env: Mapping[str, int]) -> bool:
    """Whether a formula holds.

    Raises:
        KeyError: If a variable or an application has no value.
    """
    match f:
        case Ge(a):
            return evaluate_affine(a, env) >= 0
        case Eq(a):
            return evaluate_affine(a, env) == 0
        case Ne(a):
            return evaluate_affine(a, env) != 0
        case And(parts):
            return all(evaluate_formula(p, env) for p in parts)
        case Or(parts):
            return any(evaluate_formula(p, env) for p in parts)
