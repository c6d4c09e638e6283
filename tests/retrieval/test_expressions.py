from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.retrieval.expressions import (
    ExpressionError,
    lookup,
    parse_condition,
    parse_constraint,
    parse_expectation,
    path_text,
)

METRICS: dict[str, Any] = {
    "spills": 3,
    "main_loop": {"mfma": 8},
    "schedule": {"tile": (64, 32), "swap": True, "order": "rows"},
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("spills >= 3", True),
        ("spills > 3", False),
        ("main_loop.mfma == 8.0", True),
        ("schedule.tile[1] != 32", False),
        ("schedule.swap == 1", True),
        ("spills >= -1", True),
        ("main_loop.valu == 0", False),
        ("main_loop.valu != 0", False),
        ("schedule.tile[7] >= 0", False),
        ("schedule.order == 0", False),
        ("nothing.at.all < 1", False),
    ],
)
def test_conditions_are_false_where_the_metric_is_missing(text: str, holds: bool) -> None:
    assert parse_condition(text).holds(METRICS) is holds


@pytest.mark.parametrize(
    "text",
    [
        "spills",
        "spills >= x",
        "1 <= spills",
        "1 <= spills <= 3",
        "spills >= 1 and spills <= 3",
        "spills in 3",
        "f(x) >= 1",
        "tile[i] >= 1",
        "spills >= True",
        "spills >=",
        "__import__('os').system('x') == 0",
        "spills >= " + "9" * 300,
    ],
)
def test_other_conditions_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_condition(text)


def test_a_refusal_quotes_the_text_and_the_column() -> None:
    with pytest.raises(ExpressionError, match=r"`spills >= x`: `x` at column 11"):
        parse_condition("spills >= x")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("spills == 0", True),
        ("main_loop.mfma == 2.0 * old", True),
        ("main_loop.mfma < 2 * old", False),
        ("main_loop.valu == 1.0 * old", None),
        ("lds_bytes > 1.0 * old", None),
    ],
)
def test_expectations_claim_nothing_where_nothing_was_observed(text: str, holds: bool | None) -> None:
    new = {"spills": 0, "main_loop": {"mfma": 16}, "lds_bytes": 9}
    assert parse_expectation(text).holds(new, METRICS) is holds


@pytest.mark.parametrize("text", ["spills < old", "spills < 2 * new", "spills < old * 2", "spills < 1 + old", "spills"])
def test_other_expectations_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_expectation(text)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("width * 16 <= lds_row_bytes", True),
        ("4 <= waves <= 8", True),
        ("4 <= waves < 5 < 3", False),
        ("tile[0] % grid[0] == 0 and not tile[0] > old.tile[0]", True),
        ("waves // 3 == 1 or missing > 2", True),
        ("-width < 0", True),
        ("tile[1] / tile[0] == 0.5", True),
        ("staging == 'dma'", False),
    ],
)
def test_constraints(text: str, holds: bool) -> None:
    names: dict[str, Any] = {
        "width": 8, "lds_row_bytes": 128, "waves": 4, "tile": (64, 32), "grid": (2, 2), "staging": "register",
        "old": {"tile": (64, 64)},
    }  # fmt: skip
    assert parse_constraint(text).holds(names) is holds


@pytest.mark.parametrize(
    "text",
    [
        "f(1) > 0", "[1] == [1]", "(lambda: 1) == 1", "x ** 9 > 1", "x if y else z", "x := 1", "'a' 'b'", "width", "1",
        "x.y() > 1", "tile[a] > 1", "tile[0:1] == 1", "{1} == {1}", "x is y", "x < f'{y}'", "~x > 0", "x @ y > 0",
        "(" * 150 + ")" * 150, "x > None",
    ],
)  # fmt: skip
def test_other_constraints_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_constraint(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width > 1", "no width"),
        ("old.tile[3] > 1", r"no old.tile\[3\]"),
        ("tile > 1", "not supported"),
        ("tile[0] % zero == 0", "zero"),
    ],
)
def test_constraints_that_make_no_sense_say_why(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse_constraint(text).holds({"tile": (1, 2), "zero": 0, "old": {"tile": (1, 2)}})


@given(st.recursive(
    st.sampled_from(["a", "b", "3", "7"]),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
    max_leaves=8,
), st.integers(-9, 9), st.integers(-9, 9))  # fmt: skip
def test_arithmetic_is_pythons(text: str, a: int, b: int) -> None:
    constraint = parse_constraint(f"{text} >= b")
    assert constraint.holds({"a": a, "b": b}) is (eval(text, {"a": a, "b": b}) >= b)


def test_paths_read_back() -> None:
    path = parse_condition("schedule.tile[2] >= 1").path
    assert path == ("schedule", "tile", 2)
    assert path_text(path) == "schedule.tile[2]"
    assert lookup(METRICS, ("schedule", "tile", 0)) == 64.0
