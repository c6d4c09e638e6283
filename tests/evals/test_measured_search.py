"""Searches replayed from stored times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pytest

from argus.dsl.kernels.hopper_search import HopperSearchSchedule
from argus.evals.measured import StoredToolbox, stored_times
from argus.evals.measured_search import MeasuredSearchReport, evaluate_measured_search
from argus.evals.tpe import Stored, knobs_of, tpe_search
from argus.graph.context import Config
from argus.graph.run import aoptimize
from argus.graph.timing import StoredExecutor, TimeTable

from .hopper_tables import LIBRARY_US, PROBLEM, planted, table

# Proofs are another test's business, and take seconds here.
UNCHECKED = Config(tags=False)


def replayed(known: TimeTable, seed: int = 0, candidates: int = 24) -> MeasuredSearchReport:
    return evaluate_measured_search(known, runs=1, candidates=candidates, rounds=5, seed=seed, config=UNCHECKED)


@pytest.fixture(scope="module")
def report() -> MeasuredSearchReport:
    return replayed(table())


@pytest.mark.slow
def test_the_policy_finds_what_random_choice_rarely_does(report: MeasuredSearchReport) -> None:
    (run,) = report.runs
    assert run.time_us is not None
    assert run.time_us < report.random_same_us
    assert report.ok
    assert run.peer_ratio == pytest.approx(LIBRARY_US / run.time_us)
    assert run.techniques[0] == "start"
    assert any("wgmma-tma-warp-specialization" in step for step in run.techniques)


@pytest.mark.slow
def test_what_the_report_says(report: MeasuredSearchReport) -> None:
    assert report.switches["tags"] is False
    assert report.schedules == report.valid == len(table().entries)
    assert [m.candidates for m in report.marks] == [6, 12, 18, 24]
    randoms = [m.random_us for m in report.marks]
    assert randoms == sorted(randoms, reverse=True)
    assert report.best_us == pytest.approx(190.0)
    assert "without tags" in report.render()


@pytest.mark.slow
def test_equal_seeds_replay_alike(report: MeasuredSearchReport) -> None:
    assert replayed(table()).runs[0].curve == report.runs[0].curve


@pytest.mark.slow
def test_other_times_lead_elsewhere() -> None:
    """Small tiles made fastest: the policy follows the times, not its closed form."""

    def upside_down(s: HopperSearchSchedule) -> float:
        return 40_000.0 / planted(s)

    best = replayed(table(upside_down), candidates=60).runs[0].time_us
    assert best is not None
    assert best < 150.0


@pytest.mark.slow
def test_failures_cost_and_are_not_hidden() -> None:
    known = table(lambda s: None if s.by_tma else planted(s))
    found = replayed(known)
    assert found.valid < found.schedules
    assert found.best_us == pytest.approx(190.0 * 1.1)


@pytest.mark.slow
async def test_a_replay_asks_for_nothing_that_was_not_measured(tmp_path: Path) -> None:
    tools = StoredToolbox(table())
    found = await aoptimize(
        "gemm", target="sm_90a", out=tmp_path / "run", toolbox=tools, executor=StoredExecutor(table()), track=False,
        config=UNCHECKED, candidates=20,
    )  # fmt: skip
    assert not tools.asked_in_vain
    assert {a.status for a in found.attempts} == {"valid"}
    assert {a.time_kind for a in found.attempts} == {"measured"}
    assert all(a.tests.passed == 2 for a in found.attempts)


def test_tpe_walks_the_stored_schedules_once() -> None:
    known = table()
    stored = [Stored(knobs_of(e.schedule), known.time_us(e)) for e in known.entries]
    curve = tpe_search(stored, 30, seed=1)
    assert len(curve) == 30
    assert curve == sorted(curve, reverse=True)
    assert not math.isinf(curve[-1])
    whole = tpe_search(stored[:20], 99, seed=1)
    assert len(whole) == 20
    assert whole[-1] == min(s.time_us or math.inf for s in stored[:20])


def test_knobs_of_a_schedule_are_plain() -> None:
    knobs: Mapping[str, object] = knobs_of({"tile": [1, 2], "engine": "mma"})
    assert knobs == {"tile[0]": 1, "tile[1]": 2, "engine": "mma"}


def test_the_problem_is_the_table_s() -> None:
    assert PROBLEM.shape == table().shape


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3])
def test_on_an_h200_s_times_the_policy_comes_up_to_the_library(seed: int) -> None:
    """From mma.sync without TMA, with no table of shapes and no final schedule among the cards."""
    (run,) = replayed(stored_times(), seed, candidates=60).runs
    assert run.peer_ratio is not None
    assert run.peer_ratio >= 0.95
    assert run.candidates <= 60
    assert run.rounds <= 5
    assert run.in_vain == 0
