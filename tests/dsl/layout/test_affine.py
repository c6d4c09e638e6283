"""Affine forms mean what the expressions they come from mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.dsl.layout import Const, Expr, Op, Var, cdiv, evaluate
from argus.dsl.layout.affine import (
    FALSE,
    TRUE,
    Affine,
    affine,
    evaluate_affine,
    evaluate_formula,
    floordiv,
    formula,
    ge,
    negation,
    substitute_affine,
    substitute_formula,
    var,
)
from argus.dsl.layout.entail import entails, lower_bound

NAMES = ("K", "kt", "bm")


def expressions() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(st.integers(0, 70).map(Const), st.sampled_from(NAMES).map(Var))

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pair = st.tuples(inner, inner)
        divided = st.tuples(inner, st.integers(1, 64).map(Const))
        return st.one_of(
            st.tuples(st.sampled_from(("+", "-", "*", "min", "max")), pair).map(lambda x: Op(x[0], x[1])),
            st.tuples(st.sampled_from(("//", "%", "cdiv")), divided).map(lambda x: Op(x[0], x[1])),
        )

    return st.recursive(leaves, grow, max_leaves=8)


def truths() -> st.SearchStrategy[Expr]:
    comparison = st.tuples(st.sampled_from(("<", "<=", ">", ">=", "==", "!=")), st.tuples(expressions(), expressions()))
    leaves = comparison.map(lambda x: Op(x[0], x[1]))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(("and", "or")), st.tuples(inner, inner)).map(lambda x: Op(x[0], x[1])),
            inner.map(lambda x: Op("not", (x,))),
        ),
        max_leaves=4,
    )


ENVS = st.fixed_dictionaries({name: st.integers(-3, 200) for name in NAMES})


@given(expressions(), ENVS)
def test_a_form_has_the_value_of_its_expression(e: Expr, env: dict[str, int]) -> None:
    assert evaluate_affine(affine(e, {}), env) == evaluate(e, env)


@given(truths(), ENVS)
def test_a_formula_has_the_truth_of_its_expression(e: Expr, env: dict[str, int]) -> None:
    f = formula(e, {})
    assert evaluate_formula(f, env) == bool(evaluate(e, env))
    assert evaluate_formula(negation(f), env) != evaluate_formula(f, env)


@pytest.mark.slow
@given(expressions(), truths(), ENVS, st.integers(0, 5))
def test_substitution_is_evaluation_with_another_value(e: Expr, f: Expr, env: dict[str, int], q: int) -> None:
    put = {"kt": var("q") * 3 + 1}
    moved = {**env, "q": q}
    there = {**env, "kt": 3 * q + 1}
    assert evaluate_affine(substitute_affine(affine(e, {}), put), moved) == evaluate(e, there)
    assert evaluate_formula(substitute_formula(formula(f, {}), put), moved) == bool(evaluate(f, there))


@given(truths(), truths(), ENVS)
@pytest.mark.slow
def test_what_is_entailed_holds_where_the_facts_hold(fact: Expr, goal: Expr, env: dict[str, int]) -> None:
    least = {"K": 1, "bm": 0}
    given_, wanted = formula(fact, {}), formula(goal, {})
    in_domain = all(env[name] >= value for name, value in least.items())
    if in_domain and evaluate_formula(given_, env) and entails([given_], wanted, least):
        assert evaluate_formula(wanted, env)


@given(expressions(), ENVS)
def test_a_lower_bound_is_one(e: Expr, env: dict[str, int]) -> None:
    bound = lower_bound(affine(e, {}), {name: env[name] for name in NAMES})
    if bound is not None:
        assert bound <= evaluate(e, env)


def test_divisions_that_come_out_leave_nothing_opaque() -> None:
    i = var("q") * 6 + 4
    assert floordiv(i, 2) == var("q") * 3 + 2
    assert affine(Var("kt") % 3, {"kt": i}) == Affine(1)
    assert affine(cdiv(Var("kt"), 3), {"kt": i}) == var("q") * 2 + 2


def test_an_opaque_atom_can_be_substituted_by_its_text() -> None:
    stage = affine((cdiv(Var("K"), 64) - 1) % 2, {})
    assert stage.symbols() >= {"cdiv(K, 64)"}
    assert substitute_affine(stage, {"cdiv(K, 64)": var("q") * 2 + 1}) == Affine(0)


def test_constants_decide() -> None:
    assert formula(Op("<", (Const(3), Const(4))), {}) == TRUE
    assert formula(Op(">=", (Const(3), Const(4))), {}) == FALSE
    assert ge(Affine(0)) == TRUE
