"""Bundles and the tables of their results."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from math import exp, log, sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

from argus.dsl.codegen.nvcc import CudaArtifact
from argus.dsl.diagnostics import KernelError, ToolchainError
from argus.dsl.kernels import HopperGemmSchedule, hopper_table
from argus.evals.gemm_bundle import SHAPES, Case, proposed, write_bundle
from argus.evals.gemm_results import best, choices, mean, measured, mismatches, read_results, table
from argus.tools.bundle import Entry, Plan, damaged

CASES = (Case((256, 256, 256), "bf16", (HopperGemmSchedule(tile=(128, 64, 64), stages=2),)),)
needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").is_file(), reason="no nvcc here"
)
RESULTS = Path(__file__).parents[2] / "evals" / "results"
MEASURED = RESULTS / "h200-gemm-2026-11-29.json"


@needs_nvcc
@pytest.mark.slow
def test_a_bundle_runs_by_itself_as_far_as_this_machine_goes(tmp_path: Path) -> None:
    (candidate,) = write_bundle(tmp_path / "bundle", CASES)
    assert candidate.artifact.report.spills == 0
    assert candidate.artifact.report.lint == ()
    assert candidate.obligations[0] == candidate.obligations[1] > 0
    out = tmp_path / "results.json"
    command = [sys.executable, str(tmp_path / "bundle" / "run.py"), "--out", str(out), "--only", "itself"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode in (0, 1, 3), done.stderr
    results = read_results(out)
    assert [r.id for r in results.results] == ["256x256x256 bf16-128x64x64-s2-g8 against itself"]
    assert mismatches(results, tmp_path / "bundle") == []


@needs_nvcc
@pytest.mark.slow
def test_a_changed_cubin_is_noticed(tmp_path: Path) -> None:
    (candidate,) = write_bundle(tmp_path, CASES)
    cubin = candidate.artifact.directory / "kernel.cubin"
    cubin.write_bytes(cubin.read_bytes() + b"\0")
    with pytest.raises(ToolchainError, match=r"kernel\.cubin changed"):
        CudaArtifact.load(candidate.artifact.directory)


def test_without_nvcc_it_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr(shutil, "which", nothing)
    with pytest.raises(ToolchainError, match="nvcc is missing"):
        write_bundle(tmp_path, CASES)


def test_a_schedule_that_cannot_address_the_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="need not be a multiple of 8"):
        write_bundle(tmp_path, [Case((1000, 3001, 4104), "bf16", CASES[0].schedules)])


def test_rows_of_any_pitch_have_schedules() -> None:
    fine, odd_n, odd_k = (case.schedules[0] for case in proposed(SHAPES["ragged"], count=1))
    assert (fine.engine, fine.leave) == ("wgmma", "tma")
    assert (odd_n.engine, odd_n.leave) == ("wgmma", "direct")
    assert (odd_k.engine, odd_k.staging) == ("mma", "register")


def test_proposals_fit_the_shape() -> None:
    (cube,), (skinny,) = (case.schedules for case in proposed([(4096, 4096, 4096), (16, 8192, 8192)], count=1))
    assert sorted(cube.tile[:2]) == [128, 256]
    assert (skinny.tile[:2], skinny.swap) == ((16, 64), True)


# -------------------------------------------------------------------------------------------------- results


def test_the_table_of_the_first_measurement() -> None:
    text = table(read_results(MEASURED))
    assert text.startswith("NVIDIA H200, driver 580.159.04")
    means, same = text.splitlines()[-2:]
    assert "geometric mean over 2 of the best kernel of each 102.1 % of the library" in means
    assert same == "A/A, 4 rows: geometric mean 99.74 %, each from 99.5 to 99.9 %"


def test_runs_of_an_entry_are_one_row_with_their_median_and_range() -> None:
    found = read_results(MEASURED)
    kernel = next(r for r in found.results if r.kind == "candidate")
    runs = [kernel.model_copy(update={"run": i, "ratio": (x, x, x)}) for i, x in enumerate((1.02, 0.97, 1.01))]
    (row,) = measured(found.model_copy(update={"results": tuple(runs)}))
    assert row.ratio == (1.01, 0.97, 1.02)
    broken = runs[1].model_copy(update={"status": "wrong"})
    (row,) = measured(found.model_copy(update={"results": (runs[0], broken)}))
    assert row.status == "wrong"
    assert best([row]) == {}


def test_the_mean_over_shapes_and_its_interval() -> None:
    centre, low, high = mean([1.0, 1.1, 0.9, 1.05, 0.95])
    assert centre == pytest.approx(0.9975, abs=1e-3)
    # Student's quantile of 4 degrees is 2.776.
    logs = [log(x) for x in (1.0, 1.1, 0.9, 1.05, 0.95)]
    half = 2.776 * stdev(logs) / sqrt(5)
    assert (low, high) == pytest.approx((centre * exp(-half), centre * exp(half)), rel=2e-3)
    assert mean([1.03]) == pytest.approx((1.03, 0.0, float("inf")))


def test_the_markdown_table_has_a_row_for_the_best_kernel_of_each_shape() -> None:
    found = read_results(MEASURED)
    rows = [line for line in table(found, "markdown").splitlines() if line.startswith("| ") and "×" in line]
    assert len(rows) - 1 == len(best(measured(found)))


def test_the_readme_s_table_is_what_was_measured() -> None:
    printed = table(read_results(RESULTS / "h200-gemm-2026-11-29-three-runs.json"), "markdown")
    assert printed in (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def test_the_table_of_choices_is_what_the_survey_measured(tmp_path: Path) -> None:
    name, found = choices(read_results(RESULTS / "h200-gemm-2026-11-29-survey.json"))
    hopper_table.write(tmp_path / "table.json", name, found)
    stored = Path(hopper_table.__file__).with_name(hopper_table.FILE)
    assert (tmp_path / "table.json").read_text("utf-8") == stored.read_text("utf-8")
    hopper_table.write(tmp_path / "table.json", name, found[:1])  # others stay
    assert len(hopper_table.Table.model_validate_json((tmp_path / "table.json").read_bytes()).choices) == len(found)


def test_a_file_of_the_bundle_that_was_changed_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "k"
    folder.mkdir()
    files = {"kernel.py": b"text", "kernel.cubin": b"code"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    text, cubin = (hashlib.sha256(content).hexdigest() for content in files.values())
    entry = Entry(id="k", kind="candidate", dtype="bfloat16", sizes={}, directory="k", kernel_sha=text, cubin_sha=cubin)
    plan = Plan(task="gemm", bundle_sha="", entries=(entry,))
    assert damaged(tmp_path, plan) == []
    (folder / "kernel.py").write_bytes(b"another text")
    assert damaged(tmp_path, plan) == ["k/kernel.py is not what the bundle was made with"]
    (folder / "kernel.cubin").unlink()
    assert len(damaged(tmp_path, plan)) == 2


def test_results_of_another_cubin_are_told(tmp_path: Path) -> None:
    found: dict[str, Any] = json.loads(MEASURED.read_text("utf-8"))
    ran = [r for r in found["results"] if r["kind"] == "candidate"]
    kept = ("id", "kind", "dtype", "sizes", "cubin_sha", "kernel_sha")
    entries = [{name: r[name] for name in kept if name in r} for r in found["results"]]
    plan = {"task": found["task"], "bundle_sha": found["bundle_sha"], "entries": entries}
    (tmp_path / "bundle.json").write_text(json.dumps(plan), "utf-8")
    results = read_results(MEASURED)
    assert mismatches(results, tmp_path) == []
    next(e for e in entries if e["id"] == ran[0]["id"])["cubin_sha"] = "0" * 64
    (tmp_path / "bundle.json").write_text(json.dumps(plan), "utf-8")
    assert mismatches(results, tmp_path) == [f"{ran[0]['id']} ran another cubin, or one of another kernel text"]


def test_no_results(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", "utf-8")
    with pytest.raises(ToolchainError, match="no results"):
        read_results(tmp_path / "x.json")
