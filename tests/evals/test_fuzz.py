"""Random input: every case gets an answer; a campaign that finds a fault says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.ir import Kernel
from argus.evals.fuzz import campaign
from argus.evals.fuzz.campaign import KINDS, evaluate_fuzz, make_case, save_faults


@pytest.mark.slow
def test_front_end_and_checker_answer_whatever_comes() -> None:
    report = evaluate_fuzz(seed=0, cases=150)
    assert report.faults == (), report.render()
    assert report.cases == 150
    assert sum(sum(found.values()) for found in report.outcomes.values()) == 150
    # The edits are near enough to right kernels that some reach the checker.
    assert any(report.outcomes[kind].keys() - {"refused"} for kind in ("edit", "ir"))


def test_cases_depend_on_seed_and_number_alone() -> None:
    assert [make_case(3, n) for n in range(len(KINDS))] == [make_case(3, n) for n in range(len(KINDS))]
    assert make_case(3, 0) != make_case(4, 0)
    assert {type(make_case(3, n)) for n in range(len(KINDS))} == {str, Kernel}


def test_faults_are_found_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(kernel: Kernel) -> None:
        raise AssertionError(f"{kernel.name} is too much")

    monkeypatch.setattr(campaign, "check_kernel", broken)
    report = evaluate_fuzz(seed=0, cases=6)
    assert not report.ok
    assert any("is too much" in fault.error for fault in report.faults)
    assert "AssertionError" in report.render()
    (path, *_) = save_faults(report, tmp_path)
    assert "# AssertionError" in path.read_text("utf-8")


def test_a_case_that_hangs_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def forever(kernel: Kernel) -> None:
        del kernel
        while True:
            pass

    def one_that_parses(seed: int, number: int) -> str:
        del seed, number
        return '@kernel(target="gfx942", waves=1)\ndef f(A: f32[m:M]):\n    barrier()\n'

    monkeypatch.setattr(campaign, "LIMIT_SECONDS", 0.05)
    monkeypatch.setattr(campaign, "make_case", one_that_parses)
    monkeypatch.setattr(campaign, "check_kernel", forever)
    report = evaluate_fuzz(seed=0, cases=1)
    assert "OutOfTime" in report.render()
