"""The mutant suite: its own arithmetic, that it can fail, and what it finds of the checker."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from argus.cli import eval as command
from argus.dsl.diagnostics import CheckReport, Counterexample, ObligationReport, Span
from argus.dsl.frontend import parse
from argus.dsl.ir import Kernel
from argus.dsl.transform import to_core
from argus.evals import judge as judging
from argus.evals.checker import CheckerReport, evaluate_checker, is_fault, save_faults, tally
from argus.evals.judge import Judged, Verdict, is_wrong
from argus.evals.subjects import Subject, family_kernels, subjects

# Of each way to stage, synchronise and compute one kernel that executes fast.
SLICE = (
    "gemm/one-wave", "gemm/two-stages", "gemm/drained", "gemm/ring-expanded", "batched", "guarded_prefetch",
    "gemm_split_k/registers", "gemm_skinny/four-waves", "gemm_grouped/ring", "hopper_gemm/one-consumer-expanded",
    "norm/softmax-wave", "norm/rmsnorm-block", "reduction/sum-of-rows", "transpose/padded", "elementwise/bias-relu",
    "moe_up/registers", "moe_down/scatter-registers", "moe_combine/two", "attention_combine/one-part",
)  # fmt: skip
MUTANTS = int(os.environ.get("ARGUS_MUTANTS", "150"))


def judged(verdict: Verdict, wrong: str = "", operator: str = "stage", **more: object) -> Judged:
    return Judged.model_validate(
        {"operator": operator, "origin": "k", "family": "f", "sha": f"{verdict}{wrong}{operator}", "text": "",
         "verdict": verdict, "wrong": wrong, **more}
    )  # fmt: skip


def test_counts_and_faults() -> None:
    results = [
        judged("refuted", "race"), judged("unknown", "race"), judged("proved", "race"),
        judged("refuted"), judged("unknown"), judged("proved"),
        judged("proved", "C is 1, not 2", "arithmetic"), judged("proved", "", "arithmetic"),
        judged("crashed", "race", "k-step"), judged("unknown", "", "k-tile", reasons=("internal: no",)),
        judged("refuted", "", "grid", broken="Traceback"),
    ]  # fmt: skip
    assert tally(results).model_dump() == {
        "mutants": 11, "wrong": 4, "refuted": 1, "unknown": 1, "unsound": 1, "clean_unknown": 2,
        "not_wrong_refuted": 1, "arithmetic": 1, "internal": 1, "crashed": 2,
    }  # fmt: skip
    assert [is_fault(r) for r in results] == [
        False, False, True, True, False, False, False, False, True, True, True,
    ]  # fmt: skip


def one_wave() -> list[Subject]:
    return [s for s in family_kernels() if s.name == "one-wave"]


@pytest.mark.slow
def test_a_checker_that_proves_everything_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check = judging.check_kernel

    def gullible(kernel: Kernel, *, contract_sha: str, fixes: bool) -> CheckReport:
        report = check(kernel, contract_sha=contract_sha, replay=False, fixes=fixes)
        proved = {"verdict": "proved", "counterexample": None, "reason": None}
        return report.model_copy(update={"obligations": tuple(o.model_copy(update=proved) for o in report.obligations)})

    monkeypatch.setattr(judging, "check_kernel", gullible)
    report = evaluate_checker(count=12, seed=1, kernels=one_wave(), workers=1)
    assert report.unsound == report.wrong > 0
    assert report.unproved == ()
    assert not report.ok
    texts = [p.read_text("utf-8") for p in save_faults(report, tmp_path)]
    assert len(texts) == report.unsound
    assert all("# interpreter: " in t and "def gemm(" in t for t in texts)


@pytest.mark.slow
def test_a_checker_that_refutes_everything_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Span("k", 1, 1, 1, 2)
    found = Counterexample(kind="race", text="so it says", consumer=place, replayed="no")
    obligation = ObligationReport(
        id="x", kind="race", origin="implicit", text="", file="k", line=1, col=1, end_line=1, end_col=2,
        verdict="refuted", tier="table", counterexample=found,
    )  # fmt: skip
    always = CheckReport(kernel="gemm", target="gfx942", contract_sha="", obligations=(obligation,))

    def stubborn(kernel: Kernel, *, contract_sha: str, fixes: bool) -> CheckReport:
        del kernel, contract_sha, fixes
        return always

    monkeypatch.setattr(judging, "check_kernel", stubborn)
    report = evaluate_checker(count=12, seed=1, kernels=one_wave(), workers=1)
    assert report.refuted == report.wrong > 0
    assert report.not_wrong_refuted == report.mutants - report.wrong > 0
    assert report.unproved == ("one-wave",)
    assert not report.ok


def test_the_interpreter_tells_wrong_from_right() -> None:
    (kernel,) = one_wave()
    assert is_wrong(to_core(parse(kernel.text)), kernel) == ""
    broken = kernel.text.replace("range(cdiv(K, 16))", "range(K // 16)")
    assert "C[" in is_wrong(to_core(parse(broken)), kernel)
    # Wrong for many blocks only: where the grid's last row of tiles is left out.
    assert "never written" in is_wrong(to_core(parse(kernel.text.replace("cdiv(M, 32)", "M // 32"))), kernel)


def stand_in(monkeypatch: pytest.MonkeyPatch, **counts: Any) -> None:  # noqa: ANN401 - fields of the report
    """The command's suite answers at once."""

    def answer(*, count: int, seed: int, edits: int, progress: object) -> CheckerReport:
        del count, progress
        return CheckerReport(seed=seed, edits=edits, kernels=3, **counts)

    monkeypatch.setattr(command, "evaluate_checker", answer)


def test_the_command_prints_the_contracts_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, wrong=20, refuted=19)
    answer = CliRunner().invoke(command.app, ["checker", "--json", "--seed", "7"])
    assert answer.exit_code == 0
    found = json.loads(answer.stdout)
    wanted = {
        "kernels", "mutants", "wrong", "refuted", "unknown", "unsound", "clean_unknown", "not_wrong_refuted",
        "arithmetic", "seconds",
    }  # fmt: skip
    assert wanted <= found.keys()
    assert (found["seed"], found["schema_version"]) == (7, 1)


@pytest.mark.parametrize(
    ("counts", "code"),
    [
        ({"wrong": 10, "refuted": 8, "unknown": 2}, 1),
        ({"wrong": 10, "refuted": 10, "faults": (judged("proved", "race"),)}, 1),
        ({"wrong": 10, "refuted": 10, "unproved": ("ring",)}, 1),
        ({"wrong": 10, "refuted": 10}, 0),
    ],
)
def test_the_exit_code_says_whether_the_checker_can_be_trusted(
    counts: dict[str, Any], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(monkeypatch, **counts)
    answer = CliRunner().invoke(command.app, ["checker"])
    assert answer.exit_code == code
    assert "seed 0" in answer.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_wrong_mutant_is_proved_and_no_right_one_refuted() -> None:
    """The promise itself, on a fixed slice; `argus eval checker` is the same on ten times as many."""
    report = evaluate_checker(count=MUTANTS, seed=0, kernels=[s for s in subjects() if s.name in SLICE])
    shown = "\n\n".join(
        f"{r.operator} of {r.origin}: {r.verdict}; {r.wrong}\n{r.text}\n{r.found}" for r in report.faults
    )
    assert report.mutants == MUTANTS
    assert sum(row.mutants > 0 for row in report.by_operator) >= 15
    assert not report.faults, shown
    assert report.unproved == ()
    assert report.widened == ()
    assert (report.unsound, report.not_wrong_refuted) == (0, 0)
    assert report.refuted_share >= 0.95
    assert report.tiers.keys() >= {"structure", "affine", "table", "smt"}
