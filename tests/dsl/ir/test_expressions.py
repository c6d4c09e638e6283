"""Index expressions: printing, sums, divisibility. The property is always equality under evaluation."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from argus.dsl.ir.divides import divisor, multiples
from argus.dsl.ir.linear import constant, equal, simplify, trips
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import ZERO, Const, Expr, Op, OpKind, Var, cdiv, evaluate

NAMES = ("x", "y", "z")
ARITHMETIC: tuple[OpKind, ...] = ("+", "-", "*", "//", "%", "cdiv", "min", "max")
PREDICATES: tuple[OpKind, ...] = ("<", "<=", ">", ">=", "==", "!=", "and", "or")

leaves = st.one_of(st.integers(-20, 20).map(Const), st.sampled_from(NAMES).map(Var))


def _two(kind: OpKind, a: Expr, b: Expr) -> Expr:
    return Op(kind, (a, b))


def _negated(a: Expr) -> Expr:
    return Op("not", (a,))


expressions: st.SearchStrategy[Expr] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(_two, st.sampled_from(ARITHMETIC + PREDICATES), inner, inner),
        st.builds(_negated, inner),
    ),
    max_leaves=8,
)
values = st.fixed_dictionaries({name: st.integers(-30, 30) for name in NAMES})


def _rounded_up(n: int, d: int) -> int:
    return -(-n // d)


def value_of(e: Expr, env: dict[str, int]) -> int | None:
    try:
        return evaluate(e, env)
    except ZeroDivisionError:
        return None


@given(expressions, values)
def test_text_means_what_python_means(e: Expr, env: dict[str, int]) -> None:
    want = value_of(e, env)
    # Python's `and` gives an operand, ours 0 or 1: compare truth there, and only where no operand is used as a number.
    if want is None or any(word in show_expr(e) for word in ("and", "or", "not", "<", ">", "=")):
        ast.parse(show_expr(e), mode="eval")
        return
    names: dict[str, object] = {**env, "cdiv": _rounded_up, "min": min, "max": max}
    assert eval(show_expr(e), {"__builtins__": {}}, names) == want


@given(expressions, values)
def test_simplify_keeps_the_value(e: Expr, env: dict[str, int]) -> None:
    want = value_of(e, env)
    if want is not None:
        assert value_of(simplify(e), env) == want


@given(expressions)
def test_simplify_is_stable(e: Expr) -> None:
    assert simplify(simplify(e)) == simplify(e)


@given(expressions, expressions, values)
def test_equal_sums_are_equal(a: Expr, b: Expr, env: dict[str, int]) -> None:
    assert equal(Op("+", (a, b)), Op("+", (b, a)))
    if equal(a, b) and None not in (value_of(a, env), value_of(b, env)):
        assert value_of(a, env) == value_of(b, env)


def test_simplified_text() -> None:
    k = Var("k")
    assert show_expr(simplify((k + 1) * 4 - k - k)) == "k * 2 + 4"
    assert show_expr(simplify(Const(3) - k + 0 * Var("y"))) == "0 - k + 3"
    assert constant((k + 3) - k) == 3
    assert constant(k) is None


@given(st.integers(-9, 9), st.integers(-9, 9))
def test_trips(start: int, stop: int) -> None:
    assert evaluate(trips(Const(start), Const(stop)), {}) == len(range(start, stop))
    symbolic = trips(Const(start), Var("n"))
    assert evaluate(symbolic, {"n": stop}) == len(range(start, stop))


def test_trips_of_a_size() -> None:
    assert trips(ZERO, cdiv(Var("K"), 32)) == cdiv(Var("K"), 32)


@given(expressions, st.integers(1, 8), st.integers(1, 8), values)
def test_divisor_divides(e: Expr, p: int, q: int, env: dict[str, int]) -> None:
    env = {**env, "x": env["x"] * p, "y": env["y"] * q}
    known = multiples([Op("and", (is_multiple("x", p), is_multiple("y", q)))])
    got, n = value_of(e, env), divisor(e, known)
    if got is not None:
        assert got % n == 0 if n else got == 0


def is_multiple(name: str, n: int) -> Expr:
    return Op("==", (Op("%", (Var(name), Const(n))), ZERO))


def test_divisors_of_a_contract() -> None:
    known = multiples([is_multiple("x", 8), is_multiple("x", 12)])
    assert divisor(Var("x"), known) == 24
    assert divisor(Var("x") * 2 + 16, known) == 16
    assert divisor(Var("y") * 64, known) == 64
    assert divisor(Var("y"), known) == 1
