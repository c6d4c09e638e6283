"""Sets with predicates over whole grids, against the predicate at each place."""

from __future__ import annotations

import numpy as np
import pytest

from argus.dsl.layout import Const, Expr, Op, Var, evaluate
from argus.dsl.smt import ideal

J, Q, P = Var("j"), Var("q"), Var("p")


@pytest.mark.parametrize(
    "pred",
    [
        Op("<=", (J, Q)),
        Op("==", (Op("//", (J, Const(4))), P)),
        Op("and", (Op("<", (J, Q)), Op(">=", (Op("%", (J, Const(3))), Const(1))))),
        Op("not", (Op("<", (Op("cdiv", (J, Const(3))), Op("max", (Q, P)))),)),
        Op("or", (Op("!=", (J, Q)), Op("==", (Op("min", (J, P)), Op("-", (Q, Const(1))))))),
    ],
)
def test_a_predicate_everywhere_is_the_predicate_at_each_place(pred: Expr) -> None:
    shape = (7, 5, 3)
    places = dict(zip("jqp", np.ix_(*(np.arange(n) for n in shape)), strict=True))
    everywhere = getattr(ideal, "_everywhere")  # noqa: B009 - no part of the interface
    found = np.broadcast_to(everywhere(pred, places), shape)
    for point in np.ndindex(*shape):
        assert bool(found[point]) is bool(evaluate(pred, dict(zip("jqp", point, strict=True))))


def test_a_divisor_that_is_zero_somewhere_is_an_error() -> None:
    everywhere = getattr(ideal, "_everywhere")  # noqa: B009
    with pytest.raises(ZeroDivisionError):
        everywhere(Op("//", (J, Q)), {"j": np.arange(3), "q": np.arange(3)})
