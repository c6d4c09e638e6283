"""What is known of index expressions before they run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from argus.dsl.layout import Const, Expr, Op, OpKind, Var, cdiv, evaluate
from argus.dsl.lower.facts import Facts, constant, never_negative, residue, simplify

K, M = Var("K"), Var("M")
VARIABLES = ("K", "M")
KINDS: tuple[OpKind, ...] = ("+", "-", "*", "//", "%", "cdiv", "min", "max")


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> Expr:
    if depth == 0 or draw(st.booleans()):
        return draw(st.one_of(st.integers(0, 9).map(Const), st.sampled_from(VARIABLES).map(Var)))
    kind = draw(st.sampled_from(KINDS))
    left = draw(expressions(depth=depth - 1))
    right = Const(draw(st.integers(1, 9))) if kind in {"//", "%", "cdiv"} else draw(expressions(depth=depth - 1))
    return Op(kind, (left, right))


VALUES = st.fixed_dictionaries({name: st.integers(0, 40) for name in VARIABLES})


@given(expressions(), VALUES)
def test_claims_hold_for_every_value(e: Expr, values: dict[str, int]) -> None:
    value = evaluate(e, values)
    assert evaluate(simplify(e), values) == value
    assert constant(e) in {None, value}
    assert not never_negative(e) or value >= 0
    for modulus in (2, 3, 4):
        assert residue(e, modulus) in {None, value % modulus}


@given(expressions(), st.integers(0, 9), st.integers(0, 9))
def test_divisors_hold_under_the_hypotheses(e: Expr, i: int, j: int) -> None:
    facts = Facts.of((Op("==", (K % 8, Const(0))),))
    divisor = facts.divisor(e)
    value = evaluate(e, {"K": 8 * i, "M": j})
    assert value % divisor == 0 if divisor else value == 0


def test_hypotheses_join() -> None:
    both = Op("and", (Op("==", (K % 6, Const(0))), Op("==", (K % 4, Const(0)))))
    assert Facts.of((both,)).divides(12, K)
    assert Facts.of((Op("==", (M, Const(96))),)).divides(32, M * 3)
    assert not Facts.of(()).divides(2, K)


def test_stages_of_split_loops_are_constants() -> None:
    trip = Var("kt.counter") * 3 + 1
    assert constant((trip + 2) % 3) == 0
    assert constant((trip + 1) % 3) == 2
    assert constant(Var("kt") % 3) is None
    assert constant(cdiv(7, 2)) == 4
