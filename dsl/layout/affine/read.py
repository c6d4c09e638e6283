"""Index expressions to forms."""

from __future__ import annotations

from collections.abc import Mapping

from argus.dsl.layout.affine.build import combine, conjunction, disjunction, eq, ge, ne, negation, truth_of, var
from argus.dsl.layout.affine.form import Affine, Formula
from argus.dsl.layout.expr import COMPARISONS, LOGIC, Const, Expr, Op, Var


def affine(e: Expr, env: Mapping[str, Affine]) -> Affine:
    """The form of an integer expression; names absent from `env` stand for themselves."""
    match e:
        case Const(value):
            return Affine(value)
        case Var(name):
            return env.get(name) or var(name)
        case Op(kind, args):
            if kind in COMPARISONS or kind in LOGIC:
                return truth_of(formula(e, env))
            return combine(kind, affine(args[0], env), affine(args[1], env))


def formula(e: Expr, env: Mapping[str, Affine]) -> Formula:
    """The truth of an expression; integers are true unless zero."""
    if isinstance(e, Op):
        match e.kind:
            case "and":
                return conjunction(formula(a, env) for a in e.args)
            case "or":
                return disjunction(formula(a, env) for a in e.args)
            case "not":
                return negation(formula(e.args[0], env))
            case "<":
                return ge(affine(e.args[1], env) - affine(e.args[0], env) - 1)
            case "<=":
                return ge(affine(e.args[1], env) - affine(e.args[0], env))
            case ">":
                return ge(affine(e.args[0], env) - affine(e.args[1], env) - 1)
            case ">=":
                return ge(affine(e.args[0], env) - affine(e.args[1], env))
            case "==":
                return eq(affine(e.args[0], env) - affine(e.args[1], env))
            case "!=":
                return ne(affine(e.args[0], env) - affine(e.args[1], env))
            case _:
                pass
    return ne(affine(e, env))
