"""The estimate against measured times."""

from __future__ import annotations

from functools import lru_cache

import pytest

from argus.dsl.kernels import families
from argus.evals.estimator import Agreement, Point, evaluate_estimator, spearman
from argus.evals.measured import RANDOM, SEARCHED, problem_of, stored_report, stored_times
from argus.graph.timing import TimeTable

from .hopper_tables import table


@lru_cache(maxsize=1)
def perfect() -> TimeTable:
    """Times that are the estimate's own."""
    known = table()
    problem, family = problem_of(known), families()["hopper_gemm"]
    entries: list[object] = []
    for e in known.entries[::4]:
        text = family.text(family.parse_schedule(dict(e.schedule)), problem)
        estimate = stored_report(text, e, problem).estimate
        assert estimate is not None
        entries.append(e.model_copy(update={"ratio": (known.reference_us / estimate.time_us,) * 3}))
    return known.model_copy(update={"entries": tuple(entries)})


def test_ranks_share_their_mean() -> None:
    assert spearman([1, 2, 3], [10, 20, 30]) == pytest.approx(1.0)
    assert spearman([1, 2, 3], [30, 20, 10]) == pytest.approx(-1.0)
    # By hand: ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9487, abs=1e-4)


def test_perfect_agreement() -> None:
    found = evaluate_estimator([perfect()])
    assert found.held_out.spearman == pytest.approx(1.0)
    assert found.held_out.quantiles["0"] == found.held_out.quantiles["100"] == 1.0
    assert found.ok


def test_what_was_fitted_is_not_held_out() -> None:
    known = perfect()
    fitted = tuple(e.model_copy(update={"fitted": i % 2 == 0}) for i, e in enumerate(known.entries))
    found = evaluate_estimator([known, known.model_copy(update={"entries": fitted})])
    assert found.fitted.schedules == (len(known.entries) + 1) // 2
    assert found.held_out.schedules == len(known.entries) // 2
    assert not found.ok, "fewer than forty are left"


def test_a_kernel_that_prints_otherwise_today_is_left_out() -> None:
    known = perfect()
    changed = (known.entries[0].model_copy(update={"kernel_sha": "0" * 64}), *known.entries[1:])
    found = evaluate_estimator([known.model_copy(update={"entries": changed})])
    assert found.without == 1
    assert found.held_out.schedules == len(known.entries) - 1


def test_few_points_say_nothing() -> None:
    point = Point(name="x", measured_us=1.0, estimated_us=2.0, fitted=False)
    assert Agreement.of([point]).spearman is None


def test_the_stored_random_table_was_half_used_for_fitting() -> None:
    entries = stored_times(RANDOM).entries
    assert [e.fitted for e in entries] == [i % 2 == 0 for i in range(len(entries))]
    assert all(e.drawn for e in entries)


@pytest.mark.slow
def test_the_estimate_ranks_what_an_h200_measured() -> None:
    found = evaluate_estimator([stored_times(), stored_times(RANDOM), stored_times(SEARCHED)])
    assert found.held_out.schedules >= 40
    assert found.held_out.spearman is not None
    assert found.held_out.spearman >= 0.8
    assert found.ok
