"""`argus compile --target sm_90a` and the parts of `argus bench` that need no GPU."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from argus.cli.main import app
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named

runner = CliRunner()
MEASURED = Path(__file__).parents[2] / "evals" / "results" / "h200-gemm-2026-11-29.json"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "gemm.py"
    problem = make_problem(task_named("gemm"), target="sm_90a")
    file.write_text(hopper_gemm.text(HopperGemmSchedule(tile=(128, 64, 64)), problem), "utf-8")
    return file


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(shutil, "which", nothing)


@pytest.mark.usefixtures("no_tools")
def test_cuda_is_emitted_without_any_tool(kernel: Path) -> None:
    done = runner.invoke(app, ["compile", str(kernel), "--target", "sm_90a", "--emit", "cu"])
    assert done.exit_code == 0, done.output
    assert 'extern "C" __global__ void __launch_bounds__(384, 1)' in done.stdout


@pytest.mark.usefixtures("no_tools")
@pytest.mark.parametrize("emit", ["report", "asm", "object"])
def test_what_needs_nvcc_says_so(kernel: Path, emit: str) -> None:
    done = runner.invoke(app, ["compile", str(kernel), "--target", "sm_90a", "--emit", emit])
    assert done.exit_code == 3
    assert "nvcc is missing" in done.output


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")
def test_the_report_of_a_cubin(kernel: Path) -> None:
    done = runner.invoke(app, ["compile", str(kernel), "--target", "sm_90a"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["registers"], report["spills"], report["lint"]) == ({"regs": 168}, 0, [])
    assert report["estimate"] is None


@pytest.mark.parametrize("emit", ["ll", "tir"])
def test_hopper_kernels_have_no_llvm_ir(kernel: Path, emit: str) -> None:
    done = runner.invoke(app, ["compile", str(kernel), "--target", "sm_90a", "--emit", emit])
    assert done.exit_code == 2
    assert "they become CUDA C" in done.stderr


def test_the_other_target_is_refused(kernel: Path) -> None:
    done = runner.invoke(app, ["compile", str(kernel), "--emit", "cu"])
    assert done.exit_code == 2
    assert "the kernel is for sm_90a" in done.stderr


def test_the_contract_is_the_target_s_and_all_is_proved(kernel: Path) -> None:
    done = runner.invoke(app, ["check", str(kernel), "--task", "gemm", "--format", "json"])
    assert done.exit_code == 0, done.output
    obligations = json.loads(done.stdout)["obligations"]
    assert {o["verdict"] for o in obligations} == {"proved"}
    assert any(o["kind"] == "contract" for o in obligations)


def test_show_prints_what_was_measured() -> None:
    done = runner.invoke(app, ["bench", "--show", str(MEASURED)])
    assert done.exit_code == 0
    assert "NVIDIA H200" in done.stdout
    found = json.loads(runner.invoke(app, ["bench", "--show", str(MEASURED), "--json"]).stdout)
    assert len(found["results"]) == 10


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["gemm"], 2, "--bundle"),
        (["checker", "--bundle", "x"], 2, "no bundle"),
        (["gemm", "--bundle", "x", "--shapes", "12"], 2, "as a shape"),
        (["--run", "nowhere"], 2, "no run.py"),
        (["--show", "nowhere.json"], 2, "no results"),
    ],
)
def test_bad_usage(arguments: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, ["bench", *arguments])
    assert done.exit_code == code, done.output
    assert said in done.stderr
