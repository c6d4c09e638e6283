"""The comparison with random choice, and the table that it draws from."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from tests.graph.graph_fakes import FakeToolbox, planted
from typer.testing import CliRunner

import argus.evals.search as suite
from argus.cli import eval as command
from argus.dsl.codegen.estimate import MODEL_VERSION
from argus.dsl.kernels import GemmSchedule
from argus.evals.search import OutdatedTable, evaluate_search
from argus.evals.space import random_schedule
from argus.evals.table import Entry, Table, TableSummary, save


class FakeTools(FakeToolbox):
    """Planted estimates, opened and closed like the real tools."""

    def __enter__(self) -> FakeTools:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def open_fakes(*, cache: Path) -> FakeTools:
    del cache
    return FakeTools(planted)


def table(*, count: int = 60, version: str = MODEL_VERSION) -> Table:
    random = Random(0)
    schedules = [random_schedule(random) for _ in range(count)]
    entries = [Entry(schedule=s, time_us=planted(s)) for s in schedules]
    entries[3] = Entry(schedule=schedules[3], failure="spills everything")
    return Table(
        task="gemm", dtype="bf16", shape={"m": 4096, "n": 4096, "k": 4096}, model_version=version, seed=0,
        entries=tuple(entries),
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("told_schedules")
def test_the_policy_is_compared_at_equal_budget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(suite, "open_toolbox", open_fakes)
    report = evaluate_search(table(), runs=2, candidates=8, seed=0, cache=tmp_path)
    assert [r.seed for r in report.runs] == [0, 1]
    assert all(r.candidates <= 8 for r in report.runs)
    assert report.median_us is not None
    assert report.stored_best_us <= report.random_median_us
    assert report.ok == (report.median_us < report.random_median_us)
    assert "median" in report.render()


def test_times_of_another_estimate_do_not_compare(tmp_path: Path) -> None:
    with pytest.raises(OutdatedTable, match="model 0"):
        evaluate_search(table(version="0"), runs=1, candidates=2, seed=0, cache=tmp_path)


def test_random_search_pays_for_failures_and_improves_with_its_budget() -> None:
    stored = table()
    assert stored.random_search(1000, 0) == min(stored.times)
    assert stored.random_median(1, range(50)) >= stored.random_median(20, range(50))
    only = stored.model_copy(update={"entries": (stored.entries[3],)})
    assert only.random_search(1, 0) == float("inf")


def test_a_table_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    save(table(), path)
    assert Table.model_validate_json(path.read_bytes()) == table()
    # One schedule a line, so that a diff can be reviewed.
    assert len(path.read_text("utf-8").splitlines()) == len(table().entries) + 2
    summary = TableSummary.of(table(), path)
    assert (summary.schedules, summary.compiled, summary.best_us) == (60, 59, min(table().times))
    assert "59 of 60" in summary.render()


def test_random_schedules_are_legal_and_varied() -> None:
    random = Random(1)
    drawn = [random_schedule(random) for _ in range(200)]
    assert all(GemmSchedule.model_validate(s.model_dump()) == s for s in drawn)
    assert {s.staging for s in drawn} == {"register", "dma"}
    assert len({s.tile for s in drawn}) > 40


def test_without_a_table_the_command_says_how_to_make_one(tmp_path: Path) -> None:
    found = CliRunner().invoke(command.app, ["search", "--json", "--table", str(tmp_path / "none.json")])
    assert found.exit_code == 2
    assert "argus eval table" in json.loads(found.stdout)["error"]["hint"]


@pytest.mark.parametrize(("content", "message"), [("{", "no table"), ("{}", "no table")])
def test_a_file_that_is_no_table(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, "utf-8")
    found = CliRunner().invoke(command.app, ["search", "--json", "--table", str(path)])
    assert found.exit_code == 2
    assert message in json.loads(found.stdout)["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--out", "none/table.json"], "input"), (["--out", "t.json", "--dtype", "f8"], "input"),
     (["--out", "t.json", "--shape", "m=x"], "usage"), (["--out", "t.json", "--shape", "m=0"], "input")],
)  # fmt: skip
def test_bad_requests_for_a_table(
    arguments: list[str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(command.app, ["table", "--json", *arguments])
    assert found.exit_code == 2
    assert json.loads(found.stdout)["error"]["code"] == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_table_of_two_schedules_is_built(tmp_path: Path) -> None:
    out = tmp_path / "table.json"
    arguments = [
        "table",
        "--json",
        "--count",
        "2",
        "--seed",
        "5",
        "--out",
        str(out),
        "--cache",
        str(tmp_path / "cache"),
    ]
    found = CliRunner().invoke(command.app, arguments)
    assert found.exit_code == 0, found.output
    built = Table.model_validate_json(out.read_bytes())
    assert len(built.entries) == 2
    assert built.times
    assert all((e.time_us is None) == bool(e.failure) for e in built.entries)
