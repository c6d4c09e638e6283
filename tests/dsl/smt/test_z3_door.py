"""What the solver's door promises: sound answers, smallest models, no trust in a model that does not check."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.dsl.check import check
from argus.dsl.layout import Const, Op, Var, cdiv
from argus.dsl.layout.affine import Affine, Formula, formula, ge, ne, var
from argus.dsl.smt import z3_door
from argus.dsl.smt.z3_door import Door, Undecided

K = Var("K")


def where(*texts: tuple[str, int, int]) -> tuple[Formula, ...]:
    return tuple(formula(Op("==", (Var(name) % by, Const(rest))), {}) for name, by, rest in texts)


def test_preconditions_hold_in_every_model() -> None:
    door = Door(("K", "N"), where(("K", 8, 0), ("N", 4, 0)))
    model = door.smallest([ge(var("K") - 65)], ("K", "N"))
    assert model is not None
    assert (model["K"], model["N"]) == (72, 4)


def test_contradictory_preconditions_are_seen() -> None:
    assert not Door(("K",), where(("K", 8, 0), ("K", 4, 1))).consistent(())


def test_models_are_smallest_in_the_order_asked_for() -> None:
    door = Door(("K",), ())
    trips = formula(Op(">", (cdiv(K, 64), Var("kt"))), {})
    wanted = [trips, ge(var("kt") - 2), ge(var("i")), ge(var("i") + var("kt") - 9)]
    first_kt = door.smallest(wanted, ("kt", "i", "K"))
    first_i = door.smallest(wanted, ("i", "kt", "K"))
    assert first_kt == {"kt": 2, "i": 7, "K": 129}
    assert first_i == {"kt": 9, "i": 0, "K": 577}


def test_sizes_are_positive_and_fit_31_bits() -> None:
    door = Door(("K",), ())
    assert door.refuted([ge(-var("K"))])
    assert door.refuted([ge(var("K") - 2**31)])


def test_no_model_of_a_contradiction() -> None:
    assert Door(("K",), ()).smallest([ne(Affine())], ("K",)) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 8), st.sampled_from(("//", "%", "cdiv")))
def test_divisions_mean_what_they_mean_in_python(value: int, by: int, result: int, kind: str) -> None:
    door = Door(("K",), ())
    is_value = formula(Op("==", (K, Const(value))), {})
    divided = Op(kind, (K, Const(by)))  # pyright: ignore[reportArgumentType]
    python = {"//": value // by, "%": value % by, "cdiv": -(-value // by)}[kind]
    says = not door.refuted([is_value, formula(Op("==", (divided, Const(result))), {})])
    assert says == (python == result)


@pytest.mark.parametrize(("stop", "goes_on"), [(cdiv(K, 64), True), (K // 64, False)])
def test_whether_a_loop_always_runs(stop: Op, goes_on: bool) -> None:
    never = formula(Op("<=", (stop, Const(0))), {})
    assert Door(("K",), ()).refuted([never]) == goes_on


def test_a_spent_budget_is_no_answer() -> None:
    """Work is counted over all questions; afterwards nothing is proved, nothing found and nothing ruled out."""

    def impossible(n: int) -> list[Formula]:
        return [ge(Affine(n) - var("K")), ge(var("K") - (n + 2))]

    door = Door(("K",), (), budget=200)
    assert door.refuted(impossible(3))
    with pytest.raises(Undecided, match="budget of 200 units of work for one kernel is spent"):
        assert all(door.refuted(impossible(n)) for n in range(4, 1000))
    with pytest.raises(Undecided, match="is spent"):
        door.smallest([ge(var("K") - 5)], ("K",))
    assert door.consistent(impossible(1000))
    assert door.refuted(impossible(3))  # what was answered stays answered


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, 200, 1_000, 2_000])
def test_a_kernel_without_budget_is_unknown_with_the_reason(monkeypatch: pytest.MonkeyPatch, budget: int) -> None:
    text = (Path(__file__).parents[2] / "kernels" / "reference" / "gemm_single.py").read_text("utf-8")
    assert check(text).ok
    monkeypatch.setattr(z3_door, "BUDGET", budget)
    report = check(text)
    unknown = [o for o in report.obligations if o.verdict == "unknown"]
    assert all("budget" in (o.reason or "") for o in unknown)
    assert report.ok is (unknown == [])
    assert unknown or budget == 2_000
    wrong = check(text.replace("unroll(4)", "unroll(3)"))
    assert not wrong.ok
