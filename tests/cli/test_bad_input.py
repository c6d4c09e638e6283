"""Bad input gets a clear message, the right exit code and no traceback, and nothing is written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from argus.cli.main import app

GOOD = Path(__file__).parents[1] / "kernels" / "good" / "start_single_stage.py"


def argus(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from argus.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gemmm"], "did you mean 'gemm'"),
        (["gemm", "--target", "gfx90a"], "targets are"),
        (["gemm", "--dtype", "f64"], "dtypes are bf16, f16"),
        (["gemm", "--shape", "q=4"], "sizes are m, n, k"),
        (["gemm", "--shape", "m=0"], "not positive"),
        (["gemm", "--shape", "m=-5"], "not positive"),
        (["gemm", "--shape", "m=abc"], "write --shape m=4096"),
        (["gemm", "--model", "planner=anthropic:some-model"], "ANTHROPIC_API_KEY"),
        (["gemm", "--model", "nope:x"], "providers are"),
        (["gemm", "--model", "wrong=offline"], "agents are planner"),
        (["--resume", "no-such-run"], "run.json"),
        (["gemm", "--rounds", "many"], "--rounds"),
    ],
)
def test_a_request_that_cannot_run(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    answer = argus("optimize", *arguments, "--json", cwd=tmp_path)
    assert answer.returncode == 2
    error = json.loads(answer.stdout)["error"]
    assert message in error["message"] + error["hint"]
    assert "Traceback" not in answer.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["search", "--target", "sm90"], "--target"),
        (["search", "--target", "sm_90a", "--without", "luck"], "--without"),
        (["search", "--table", "none.json"], "none.json"),
        (["estimator", "--table", "none.json"], "none.json"),
        (["times", "bundle", "--results", "none.json"], "none.json"),
    ],
)
def test_an_evaluation_that_cannot_run(
    arguments: list[str], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(app, ["eval", *arguments, "--json"])
    assert answer.exit_code == 2
    assert json.loads(answer.stdout)["error"]["where"] == where
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = argus("optimize", "gemm", "--out", "file/run", "--json", cwd=tmp_path)
    assert answer.returncode == 2
    assert "cannot write" in json.loads(answer.stdout)["error"]["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "code", "where"),
    [
        (("def gemm(", "def ("), "syntax", ":2:"),
        (("    As, Bs", "    import os\n    As, Bs"), "forbidden", ":6:5"),
        (("cdiv(K, 32)", "(1).__class__"), "forbidden", ":8:"),
        (("cdiv(K, 32)", "[0 for a in range(10) for b in range(10)]"), "forbidden", ":8:"),
        (("cdiv(K, 32)", "(" * 10_000 + "K" + ")" * 10_000), "limit", ":8:"),
        (("store(Bs, b)", "store(Bz, b)"), "unknown-name", ":12:"),
        (("64, 64, grid", "64, 128, grid"), "bad-shape", ":"),
        (("shared(bf16, 64, 32), ", "shared(bf16, 64, 512), "), "limit", ":6:"),
    ],
)
def test_a_text_that_is_no_kernel(edit: tuple[str, str], code: str, where: str, tmp_path: Path) -> None:
    text = GOOD.read_text("utf-8")
    assert edit[0] in text
    (tmp_path / "kernel.py").write_text(text.replace(*edit), "utf-8")
    answer = argus("check", "kernel.py", "--format", "json", cwd=tmp_path)
    assert answer.returncode == 2
    error = json.loads(answer.stdout)["error"]
    assert error["code"] == code
    assert f"kernel.py{where}" in error["where"]
    assert "Traceback" not in answer.stderr


@pytest.mark.slow
def test_a_changed_contract_is_refuted(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(GOOD.read_text("utf-8").replace("over(k, K)", "over(k, 8)"), "utf-8")
    answer = argus("check", "kernel.py", "--task", "gemm", "--format", "json", cwd=tmp_path)
    assert answer.returncode == 1
    report = json.loads(answer.stdout)
    assert not report["ok"]
    assert "contract" in {o["kind"] for o in report["obligations"] if o["verdict"] == "refuted"}


@pytest.mark.slow
def test_long_lines_are_shown_around_their_caret(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(GOOD.read_text("utf-8").replace("cdiv(K, 32)", "(" * 10_000 + "K"), "utf-8")
    answer = argus("check", "kernel.py", cwd=tmp_path)
    assert answer.returncode == 2
    assert max(len(line) for line in answer.stderr.splitlines()) < 250
    assert "^" in answer.stderr
