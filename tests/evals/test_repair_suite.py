"""Planted bugs: really bugs, of many kinds; repaired when the agent is told why, and mostly not when it is not."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from argus.cli import eval as command
from argus.dsl.frontend import parse
from argus.dsl.ir.contract import contract_sha
from argus.dsl.kernels import make_problem, task_named
from argus.dsl.transform import to_core
from argus.evals.judge import is_wrong
from argus.evals.planted import BUGS, PlantedBug, sources
from argus.evals.repair import RepairedBug, RepairReport, Tried, evaluate_repair, still_wrong
from argus.evals.subjects import SCHEDULES

PROBLEM = make_problem(task_named("gemm"), dtype="bf16")


def test_there_are_twenty_of_many_classes_some_without_a_schedule() -> None:
    known = sources()
    assert len({bug.name for bug in BUGS}) == len(BUGS) == 20
    assert len({bug.fix_class for bug in BUGS}) >= 5
    assert all(bug.origin in known for bug in BUGS)
    assert sum(bug.origin not in SCHEDULES for bug in BUGS) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_interpreter_or_the_contract_shows_every_bug(bug: PlantedBug) -> None:
    kernel = sources()[bug.origin]
    assert still_wrong(kernel.text, PROBLEM, kernel) == ""
    text = bug.plant(kernel.text)
    assert still_wrong(text, PROBLEM, kernel) != ""
    if bug.fix_class == "contract missing":
        assert contract_sha(parse(text)) != contract_sha(parse(kernel.text))
    else:
        assert is_wrong(to_core(parse(text)), kernel) != ""


def test_a_bug_that_fits_nowhere_is_an_error() -> None:
    (kernel,) = (s for s in sources().values() if s.name == "single")
    with pytest.raises(ValueError, match="2 times, not once"):
        PlantedBug("twice", "single", "        barrier()\n", "", "missing barrier").plant(kernel.text)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_counterexamples_are_what_repairs_live_on() -> None:
    report = evaluate_repair(seed=0)
    assert report.shown_share >= 0.8, report.render()
    assert report.hidden_share <= 0.2, report.render()
    assert report.ok
    # Nobody gets more tries than the graph allows: the broken text and three edits.
    assert all(tried.checks <= 4 for b in report.bugs for tried in (b.shown, b.hidden))


def outcome(shown: bool, hidden: bool) -> RepairedBug:
    tried = (Tried(fixed=fixed, checks=2, text="", why_not="" if fixed else "race") for fixed in (shown, hidden))
    return RepairedBug(
        name="b", origin="single", fix_class="missing barrier", scheduled=True, shown=next(tried), hidden=next(tried)
    )


@pytest.mark.parametrize(
    ("shown", "hidden", "code"), [(0.8, 0.2, 0), (0.75, 0.0, 1), (1.0, 0.25, 1)], ids=["good", "unhelpful", "guessed"]
)
def test_the_exit_code_follows_both_shares(
    shown: float, hidden: float, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(*, seed: int, model: str, progress: object) -> RepairReport:
        del progress
        bugs = (outcome(True, False),)
        return RepairReport(seed=seed, model=model, bugs=bugs, shown_share=shown, hidden_share=hidden, seconds=1)

    monkeypatch.setattr(command, "evaluate_repair", answer)
    found = CliRunner().invoke(command.app, ["repair", "--json", "--seed", "3"])
    assert found.exit_code == code
    assert json.loads(found.stdout)["seed"] == 3
    assert CliRunner().invoke(command.app, ["repair"]).stdout.count("missing barrier") == 1


def test_an_unknown_model_is_bad_usage() -> None:
    found = CliRunner().invoke(command.app, ["repair", "--model", "nobody", "--json"])
    assert found.exit_code == 2
    assert json.loads(found.stdout)["error"]["where"] == "--model"
