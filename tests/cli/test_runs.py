"""`argus runs`: what past runs did, and whether they would do it again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from argus.agents.attempt import Attempt, TimeKind
from argus.agents.validation import Judgement
from argus.cli.replay import Kept, differences
from argus.cli.report import random_search
from argus.cli.runs import app
from argus.dsl.codegen.artifact import Manifest
from argus.dsl.codegen.report import Estimate, MainLoop, Registers, Report, Wait
from argus.dsl.diagnostics import CheckReport, ObligationReport
from argus.dsl.kernels import GemmSchedule
from argus.evals.table import Entry, Table
from argus.graph.record import RunRecord
from argus.graph.run import optimize
from argus.tools.results import CompileResult, TestCase, TestReport

# ------------------------------------------------------------------------------- a run with the project's own tools


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The start kernel and one candidate, compiled and tested."""
    root = tmp_path_factory.mktemp("runs")
    optimize("gemm", shape={"m": 1024, "n": 1024, "k": 1024}, rounds=1, candidates=1, out=root / "one", track=False)
    return root


@pytest.fixture
def runs(ran: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    shutil.copytree(ran, tmp_path / "runs")
    return tmp_path / "runs"


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def answer(*words: str, code: int = 0) -> dict[str, Any]:
    result = call(*words, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_a_run_is_listed_shown_and_reported(runs: Path) -> None:
    (line,) = answer("list", "--runs", str(runs))["runs"]
    assert (line["task"], line["target"], line["attempts"]) == ("gemm", "gfx942", 2)
    shown = answer("show", "one", "--runs", str(runs))
    assert shown["run_id"] == line["run_id"]
    assert line["best_us"] == min(a["time_us"] for a in shown["attempts"] if a["time_us"])
    assert "best: candidate" in call("show", str(runs / "one")).stdout

    (runs / "one" / "report.html").unlink()
    reported = call("report", "one", "--runs", str(runs))
    assert (reported.exit_code, reported.stdout) == (0, f"{runs / 'one' / 'report.html'}\n")
    page = (runs / "one" / "report.html").read_text("utf-8")
    assert "v_mfma_f32" in page, "the main loop's assembly stands beside its source"
    assert "Not executed: the gfx942 object." in page


@pytest.mark.slow
def test_a_replay_finds_the_same_again(runs: Path) -> None:
    told = call("replay", "one", "--runs", str(runs))
    assert told.exit_code == 0
    assert [line.split()[:2] for line in told.stdout.splitlines()] == [["0", "same"], ["1", "same"]]
    assert "proved, 6 tests passed, est " in told.stdout.splitlines()[0]


@pytest.mark.slow
def test_a_replay_notices_what_differs(runs: Path) -> None:
    first, second = (runs / "one" / "attempts" / n for n in "01")
    with (first / "kernel.py").open("a") as file:
        file.write("# edited\n")
    report = Report.model_validate_json((second / "report.json").read_bytes())
    assert report.estimate is not None
    faster = report.estimate.model_copy(update={"time_us": report.estimate.time_us / 2})
    (second / "report.json").write_text(report.model_copy(update={"estimate": faster}).model_dump_json())
    told = answer("replay", "one", "--runs", str(runs), code=1)
    assert told["ok"] is False
    assert told["lines"][0]["note"] == "kernel.py is not the kernel that the run judged"
    assert told["lines"][1]["note"].startswith(f"estimate: {faster.time_us:,.1f} us, now ")


# --------------------------------------------------------------------------------------- what counts as a difference


def obligation(verdict: str) -> ObligationReport:
    place = {"file": "<kernel>", "line": 1, "col": 1, "end_line": 1, "end_col": 2}
    fields = {"id": "a", "kind": "race", "origin": "implicit", "text": "no race", "tier": "table", "verdict": verdict}
    return ObligationReport.model_validate({**fields, **place})


def check(*verdicts: str) -> CheckReport:
    return CheckReport(kernel="gemm", target="gfx942", contract_sha="c", obligations=tuple(map(obligation, verdicts)))


def compiled(time_us: float = 100.0, vgpr: int = 64, waits: int = 0) -> Report:
    estimate = Estimate(
        shape={"m": 64}, time_us=time_us, lower_bound_us=50.0, bound="mfma", next_bound="lds",
        resources_us={"mfma": 90.0}, model_version="v",
    )  # fmt: skip
    return Report(
        kernel="gemm", target="gfx942", registers=Registers(vgpr=vgpr, agpr=0, sgpr=30), spills=0, scratch_bytes=0,
        lds_bytes=8192, occupancy_waves=2, main_loop=MainLoop(mfma=4, waits=(Wait(vmcnt=waits),)), estimate=estimate,
    )  # fmt: skip


def results(*, passed: bool = True, error: float = 0.5, message: str = "0.1 s") -> TestReport:
    case = TestCase(sizes={"M": 64}, inputs="normal", executed="tir", passed=passed, error=error, message=message)
    return TestReport(cases=(case,))


def manifest(obj: str, tvm: str = "1") -> Manifest:
    return Manifest(
        symbol="gemm", target="gfx942", params=(), grid=("1", "1", "1"), threads=256, arguments=(), kernarg_bytes=0,
        lds_bytes=0, scratch_bytes=0, kernel_sha="k", files={"object": obj}, versions={"apache-tvm": tvm},
    )  # fmt: skip


def kept(*, time_kind: TimeKind = "estimated", **changed: Any) -> Kept:  # noqa: ANN401 - fields
    attempt = Attempt(id=1, round=1, status="valid", time_kind=time_kind)
    return replace(Kept(attempt, check("proved"), compiled(), results(), manifest("a")), **changed)


def again(report: Report | None = None, **changed: Any) -> Judgement:  # noqa: ANN401 - fields
    home = Path("nowhere")
    built = CompileResult(directory=home, object_path=home, asm_path=home, report=report or compiled(), seconds=0)
    return replace(Judgement("valid", check=check("proved"), compiled=built, tested=results()), **changed)


def found(was: Kept, now: Judgement, built: Manifest | None = None) -> list[str]:
    return list(differences(was, now, built or manifest("a")))


def test_equal_is_equal_however_long_the_tests_took() -> None:
    assert found(kept(), again(tested=results(message="9.9 s"))) == []


def test_verdicts() -> None:
    now = again(check=check("proved", "unknown"), status="unknown", messages=("a.py:1:1: unknown\nmore",))
    assert found(kept(), now)[:2] == ["now unknown: a.py:1:1: unknown", "verdicts: 1 proved, now 1 proved, 1 unknown"]


def test_another_object_with_equal_counts_is_the_same() -> None:
    assert found(kept(), again(), manifest("b")) == []
    assert found(kept(), again(compiled(vgpr=66)), manifest("b")) == ["compiled code: vgpr 64→66"]
    assert found(kept(), again(compiled(vgpr=66, waits=3)), manifest("b", tvm="2")) == [
        "compiled code (changed since: apache-tvm): vgpr 64→66, other waits"
    ]
    assert found(kept(report=None), again(), manifest("b"))[0] == "compiled code: nothing to compare with"


def test_estimates_and_tests() -> None:
    assert found(kept(), again(compiled(101.0))) == ["estimate: 100.0 us, now 101.0 us"]
    assert found(kept(time_kind="measured"), again(compiled(101.0))) == []
    (told,) = found(kept(), again(tested=results(passed=False, error=1.5)))
    assert told.startswith("test {'M': 64} normal: passed with error 0.5, now failed with error 1.5")
    assert found(kept(tests=None), again()) == ["tests: none, now some"]


# ------------------------------------------------------------------------------------------------------ random choice


def record(**task: Any) -> RunRecord:  # noqa: ANN401 - fields
    key = {"name": "gemm", **task}
    return RunRecord.model_validate(
        {"run_id": "r", "task": key, "models": {}, "config": {}, "budget": {"candidates": 3}}
    )


def test_random_choice_is_that_of_the_same_problem() -> None:
    entries = tuple(Entry(schedule=GemmSchedule(), time_us=t) for t in (400.0, 300.0, 200.0, 250.0))
    shape = {"m": 4096, "n": 4096, "k": 4096}
    table = Table(task="gemm", dtype="bf16", shape=shape, model_version="v", seed=0, entries=entries)
    random = random_search(table, record())
    assert random is not None
    assert len(random.median_us) == 3
    assert list(random.median_us) == sorted(random.median_us, reverse=True), "more candidates are never worse"
    assert (random.best_us, random.stored, random.model_version) == (200.0, 4, "v")
    assert random_search(table, record(shape={"m": 64})) is None
    assert random_search(table, record(dtype="f16")) is None


# -------------------------------------------------------------------------------------------------- runs that are not


def test_runs_that_are_not_there_or_not_done(tmp_path: Path) -> None:
    for command in ("show", "replay"):
        assert answer(command, "gone", "--runs", str(tmp_path), code=2)["error"]["code"] == "input"
    assert call("report", "gone", "--runs", str(tmp_path)).exit_code == 2
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "run.json").write_text(record().model_dump_json())
    for command in ("show", "replay"):
        told = answer(command, "cut", "--runs", str(tmp_path), code=1)["error"]
        assert (told["code"], told["hint"]) == ("no-result", "argus optimize --resume cut")
    assert call("report", "cut", "--runs", str(tmp_path)).exit_code == 0
    assert "No valid kernel among 0 attempts. The run has not ended." in (tmp_path / "cut" / "report.html").read_text()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text("{}")
    assert answer("show", "bad", "--runs", str(tmp_path), code=3)["error"]["code"] == "store"
    listed = answer("list", "--runs", str(tmp_path))
    assert [(line["run_id"], line["status"]) for line in listed["runs"]] == [("r", "unfinished")]
    assert listed["unreadable"] == [str(tmp_path / "bad")]
