"""The race suite: its verdicts are the interpreter's, and the checker's are no worse."""

from __future__ import annotations

import pytest

from argus.dsl.diagnostics import CheckReport
from argus.dsl.ir import Kernel
from argus.dsl.transform import to_core
from argus.evals import judge as judging
from argus.evals.judge import is_wrong
from argus.evals.race_suite import CASES, Case
from argus.evals.races import RacesReport, evaluate_races
from argus.evals.subjects import read

HAZARDS = {
    "LDS read after write", "LDS write after read", "LDS write after write", "uninitialised LDS", "async wait",
    "async wait count", "stage copied into while read", "copies in flight at exit", "copy over an ordinary access",
    "barrier divergence", "named barriers", "ping-pong shift", "written twice or never", "out of bounds",
    "sums over blocks", "mbarrier phases", "mbarrier bytes", "mbarrier arrivals", "proxy fence", "TMA stores",
    "stage freed early", "register use before mma_wait",
}  # fmt: skip


def test_the_suite_covers_the_hazards_on_both_targets() -> None:
    assert len(CASES) >= 60
    assert len({c.name for c in CASES}) == len({c.text for c in CASES}) == len(CASES)
    assert {c.hazard for c in CASES} == HAZARDS
    assert 0.4 <= sum(c.right for c in CASES) / len(CASES) <= 0.6
    assert {c.subject.target for c in CASES} == {"gfx942", "sm_90a"}
    assert all(c.right or c.kinds for c in CASES)


@pytest.fixture(scope="module")
def report() -> RacesReport:
    return evaluate_races(workers=1)


@pytest.mark.slow
def test_the_interpreter_confirms_every_verdict(report: RacesReport) -> None:
    assert [d.name for d in report.decided if not d.confirmed] == []


@pytest.mark.slow
def test_the_checker_contradicts_none(report: RacesReport) -> None:
    assert [d.name for d in report.decided if d.is_fault] == []
    assert report.matrix["wrong"].get("proved", 0) == report.matrix["right"].get("refuted", 0) == 0


def few() -> list[Case]:
    """A right kernel and a wrong one."""
    return [c for c in CASES if c.name in ("hand-over: as it should be", "hand-over: no barrier")]


def test_the_matrix_counts_expectations_by_verdicts() -> None:
    report = evaluate_races(cases=few())
    assert report.matrix == {"right": {"proved": 1}, "wrong": {"refuted": 1}}
    assert report.ok
    assert "2 kernels, 1 of them right" in report.render()


def test_a_checker_that_proves_everything_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    check = judging.check_kernel

    def gullible(kernel: Kernel, *, contract_sha: str, fixes: bool) -> CheckReport:
        report = check(kernel, contract_sha=contract_sha, replay=False, fixes=fixes)
        proved = {"verdict": "proved", "counterexample": None, "reason": None}
        return report.model_copy(update={"obligations": tuple(o.model_copy(update=proved) for o in report.obligations)})

    monkeypatch.setattr(judging, "check_kernel", gullible)
    report = evaluate_races(cases=few())
    assert report.matrix["wrong"] == {"proved": 1}
    assert [d.is_fault for d in report.decided] == [False, True]
    assert not report.ok


def test_an_expectation_that_the_interpreter_denies_is_found_out() -> None:
    right, wrong = few()
    assert is_wrong(to_core(read(wrong.text)), wrong.subject)
    swapped = Case(wrong.name, wrong.hazard, wrong.text, wrong.reference, right=True)
    report = evaluate_races(cases=[right, swapped])
    assert report.confirmed == 1
    assert f"not confirmed: {wrong.name}" in report.render()
