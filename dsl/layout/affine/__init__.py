"""Affine index forms, and formulas over them: what index expressions become once loops and facts are known.

A form is `constant + sum of coefficient * atom`. Atoms are variables and whatever is not affine (a floor division that
does not come out, a product of two symbols), which is kept opaque but rebuilt when a variable is substituted.
`a % c` and `cdiv(a, c)` are written with `//`, so that equal values mostly have equal forms.
"""

from argus.dsl.layout.affine.build import (
    application,
    conjunction,
    disjunction,
    division,
    eq,
    floordiv,
    ge,
    ne,
    negation,
    product,
    truth_of,
    var,
)
from argus.dsl.layout.affine.evaluate import evaluate_affine, evaluate_formula
from argus.dsl.layout.affine.form import (
    FALSE,
    TRUE,
    Affine,
    And,
    Atom,
    AtomKind,
    Eq,
    Formula,
    Ge,
    Ne,
    Or,
    atoms_of,
    formula_atoms,
    formula_symbols,
    formula_variables,
    function_of,
)
from argus.dsl.layout.affine.read import affine, formula
from argus.dsl.layout.affine.substitute import substitute_affine, substitute_formula

__all__ = [
    "FALSE",
    "TRUE",
    "Affine",
    "And",
    "Atom",
    "AtomKind",
    "Eq",
    "Formula",
    "Ge",
    "Ne",
    "Or",
    "affine",
    "application",
    "atoms_of",
    "conjunction",
    "disjunction",
    "division",
    "eq",
    "evaluate_affine",
    "evaluate_formula",
    "floordiv",
    "formula",
    "formula_atoms",
    "formula_symbols",
    "formula_variables",
    "function_of",
    "ge",
    "ne",
    "negation",
    "product",
    "substitute_affine",
    "substitute_formula",
    "truth_of",
    "var",
]
