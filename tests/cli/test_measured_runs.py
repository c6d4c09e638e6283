"""`argus optimize --target sm_90a` where the GPU is elsewhere, and where nothing of NVIDIA's is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from argus.cli.main import app
from argus.dsl.codegen.nvcc import nvcc_path
from argus.dsl.diagnostics import ToolchainError
from argus.graph.timing import executor

runner = CliRunner()
START = ["optimize", "gemm", "--target", "sm_90a", "--rounds", "0"]


def has_nvcc() -> bool:
    try:
        nvcc_path()
    except ToolchainError:
        return False
    return True


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(executor, "gpu_here", lambda: False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*START, "--times", "t.json"], "--resume RUN --times FILE"),
        ([*START, "--without", "luck"], "one of tags, smt"),
        (["optimize", "--resume", "nowhere", "--times", "t.json"], "no run in"),
        ([*START, "--learn-from", "nowhere"], "no run in"),
    ],
)
def test_bad_usage(arguments: list[str], said: str) -> None:
    done = runner.invoke(app, arguments)
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.slow
@pytest.mark.skipif(not has_nvcc(), reason="needs nvcc")
def test_a_run_parks_and_says_what_to_do(tmp_path: Path) -> None:
    done = runner.invoke(app, [*START, "--out", "runs/one", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["status"] == "parked"
    assert "python run.py --fork --out times.json" in done.stderr
    assert "argus optimize --resume" in done.stderr
    listed = runner.invoke(app, ["runs", "list"])
    assert "parked" in listed.stdout
    (tmp_path / "t.json").write_text("{}")
    refused = runner.invoke(app, ["optimize", "--resume", "runs/one", "--times", "t.json"])
    assert refused.exit_code == 2
    assert "no results" in refused.output


@pytest.mark.slow
def test_without_nvcc_a_kernel_is_checked_and_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(shutil, "which", nothing)
    done = runner.invoke(app, [*START, "--out", "runs/one", "--json"])
    assert done.exit_code == 3, done.output
    assert "nvcc is missing" in done.stderr
    (attempt,) = json.loads(done.stdout)["attempts"]
    assert (attempt["status"], attempt["fault"]) == ("broken", "toolchain")
    assert attempt["obligations"]["proved"] > 0
    assert attempt["obligations"]["unknown"] == attempt["obligations"]["refuted"] == 0
    assert "__global__" in (tmp_path / "runs/one/attempts/0/kernel.cu").read_text()
