"""`argus bench checker`: figures beside their limits, and a profile where one falls short."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from argus.cli import bench as command
from argus.evals import bench_checker
from argus.evals.bench import BenchReport
from argus.evals.bench_checker import LIMITS_MS, Figure, figures, slope


def test_the_slope_of_a_power_law_is_its_exponent() -> None:
    assert slope([(x, 1.5 * x + 2) for x in (0.0, 1.0, 2.0, 5.0)]) == pytest.approx(1.5)


def test_a_figure_that_falls_short_says_so() -> None:
    late = Figure(name="check x", value=120.0, limit=100.0, unit="ms", profile=("9.0 % in f (g.py:1), 2 calls",))
    assert not late.holds
    assert "falls short\n    9.0 % in f" in late.render()
    assert "falls short" not in Figure(name="check x", value=100.0, limit=100.0, unit="ms").render()


def test_what_is_too_slow_comes_with_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    (case, *_) = bench_checker._cases()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setitem(LIMITS_MS, case.name, 0.0)
    found = bench_checker._timed(case, LIMITS_MS[case.name], 1)  # pyright: ignore[reportPrivateUsage]
    assert len(found.profile) == 10
    assert all("% in " in line and " calls" in line for line in found.profile)


@pytest.mark.slow
def test_every_promise_has_its_figure() -> None:
    found = {f.name: f for f in figures(1)}
    assert {f"check {name}" for name in LIMITS_MS} <= found.keys()
    assert {"check 10 wrong GEMMs, the median", "exponent of time in elements x stages"} <= found.keys()
    assert 50 < found["peak memory of all these"].value <= 600


def test_the_command_prints_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    report = BenchReport(suite="checker", figures=(Figure(name="check x", value=1.0, limit=2.0, unit="ms"),))
    monkeypatch.setitem(command.SUITES, "checker", lambda: report)
    runner = CliRunner()
    assert "check x" in runner.invoke(command.app, ["checker"]).stdout
    assert json.loads(runner.invoke(command.app, ["checker", "--json"]).stdout)["figures"][0]["limit"] == 2.0
