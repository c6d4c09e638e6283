"""Planted Hopper bugs: built only when refuted, with waits that trap; what they did on a GPU is read back."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from argus.cli.main import app
from argus.dsl.diagnostics import ToolchainError
from argus.evals.hopper_bugs import (
    Launches,
    Memchecked,
    MemcheckRuns,
    Ran,
    evaluate_hopper_bugs,
    stored_memcheck,
    stored_runs,
)
from argus.evals.hopper_bundle import TRAP, build, folder, printed, sha, trapping
from argus.evals.planted_hopper import BUGS, HopperBug, sources

needs_nvcc = pytest.mark.skipif(
    shutil.which("nvcc") is None and not Path("/usr/local/cuda/bin/nvcc").is_file(), reason="no nvcc here"
)
SIZES = {"M": 128, "N": 128, "K": 64}


def named(name: str) -> HopperBug:
    return next(b for b in BUGS if b.name == name)


# ------------------------------------------------------------------------------------------------ the bundle


def test_what_is_proved_is_no_bug(tmp_path: Path) -> None:
    bug = replace(BUGS[0], old="mma_wait(1)", new="mma_wait(0)")  # waits for more than it has to
    with pytest.raises(ValueError, match="the text is proved"):
        build(bug.text, bug, tmp_path)


def test_what_is_not_proved_is_no_right_kernel(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not proved"):
        build(BUGS[0].text, None, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bytes of one copy announced", "more bytes announced than copied"])
def test_numbers_of_bytes_that_lowering_refuses_are_printed(name: str) -> None:
    bug = named(name)
    assert f", {bug.new.removeprefix('bytes=')});" in printed(bug.text, bug).source


def test_another_kernel_s_text_is_not_taken_for_a_bug_s() -> None:
    bug = named("bytes of one copy announced")
    with pytest.raises(AssertionError, match="what is printed is not the text"):
        printed(sources()["by hand"], bug)


def test_waits_trap() -> None:
    cuda = printed(sources()["by hand"], None)
    made = trapping(cuda)
    assert made.source == TRAP + cuda.source
    assert len(made.lines) == len(cuda.lines) + 1
    assert "if (polls >> 26) __trap();" in made.source


@needs_nvcc
@pytest.mark.slow
def test_a_bug_s_cubin_polls_and_traps(tmp_path: Path) -> None:
    bug = named("use waits for another stage")
    artifact = build(bug.text, bug, tmp_path / folder(bug.name))
    ptx = artifact.emit("asm").decode()
    assert "trap;" in ptx
    assert "mbarrier.test_wait" in ptx
    assert "mbarrier.try_wait" not in ptx
    assert artifact.manifest.kernel_sha == sha(bug.text)


# ------------------------------------------------------------------------------------------------ what it did


def launches(wrong: int) -> Launches:
    return Launches(sizes=SIZES, launches=20, wrong=wrong, error=0.0, nan=0)


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        (Ran(id="b", status="right", checks=(launches(0),)), "not shown in 20 launches"),
        (Ran(id="b", status="wrong", checks=(launches(0), launches(7))), "wrong in 7 of 40 launches"),
        (
            Ran(id="b", status="fault", at=SIZES, fault_seconds=2.5, checks=(launches(0),)),
            "hang: a wait traps at 128×128×64 after 2.5 s",
        ),
        (
            Ran(id="b", status="fault", at=SIZES, fault_seconds=0.3, checks=(launches(20),)),
            "wrong in 20 of 20 launches, then fault at 128×128×64 after 0.3 s",
        ),
        (Ran(id="b", status="killed"), "hang, killed"),
        (Ran(id="b", status="failed", message="no PyTorch"), "failed: no PyTorch"),
    ],
)
def test_effects(ran: Ran, said: str) -> None:
    assert ran.render() == said


def test_every_bug_ran_and_most_show() -> None:
    ran = {r.kernel_sha: r for r in stored_runs().results}
    outcomes = {bug.name: ran[sha(bug.text)] for bug in BUGS}
    shown = [name for name, r in outcomes.items() if {*r.effects} - {"not shown"}]
    assert len(shown) >= 20
    assert all("not shown" in outcomes[bug.name].effects for bug in BUGS if bug.name not in shown)
    assert all(ran[sha(text)].status == "right" for text in sources().values())


def test_the_checker_s_word_stands_beside_the_gpu_s() -> None:
    bug = named("last k-step left out")
    report = evaluate_hopper_bugs(stored_runs(), stored_memcheck(), bugs=[bug])
    (judged,) = report.judged
    assert (judged.as_expected, judged.found, judged.effects) == (True, "completeness", ("wrong results",))
    assert "1 of 1 refuted as expected; 1 show" in report.render()
    assert not report.ok, "one is not enough"


def test_a_run_of_another_text_says_nothing() -> None:
    bug = named("last k-step left out")
    runs = stored_runs()
    others = runs.model_copy(update={"results": tuple(r for r in runs.results if r.kernel_sha != sha(bug.text))})
    (judged,) = evaluate_hopper_bugs(others, stored_memcheck(), bugs=[bug]).judged
    assert (judged.effects, judged.shown, judged.gpu) == ((), False, "no run of this text is stored")


def test_a_bug_that_is_found_elsewhere_is_not_as_expected() -> None:
    bug = replace(named("last k-step left out"), consumer="copy_async(st.As")
    (judged,) = evaluate_hopper_bugs(stored_runs(), stored_memcheck(), bugs=[bug]).judged
    assert not judged.as_expected
    assert "NOT AS EXPECTED" in judged.render()


# -------------------------------------------------------------------------------------------------- memcheck


def test_every_timed_cubin_is_clean() -> None:
    found = stored_memcheck()
    assert len(found.timed) == 18
    assert found.clean
    assert "18 of 18 timed cubins clean" in found.render()


def test_memory_is_clean_only_when_everything_ran() -> None:
    one = Memchecked(name="k", status="clean", cubin_sha="a", sizes=(SIZES,))
    runs = MemcheckRuns(date="", results=(one,), timed=("a",))
    assert runs.clean
    assert not runs.model_copy(update={"timed": ()}).clean
    more = runs.model_copy(update={"timed": ("a", "b")})
    assert not more.clean
    assert "not run: cubin b" in more.render()
    bad = one.model_copy(update={"status": "errors", "message": "Invalid __global__ write"})
    assert not runs.model_copy(update={"results": (bad,)}).clean


# ------------------------------------------------------------------------------------------------ the command


@pytest.mark.slow
def test_the_command_prints_all_of_it() -> None:
    done = CliRunner().invoke(app, ["eval", "hopper-bugs", "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert len(report["judged"]) == len(BUGS)


def test_the_command_says_which_file_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}", "utf-8")
    done = CliRunner().invoke(app, ["eval", "hopper-bugs", "--results", str(tmp_path / "x.json")])
    assert done.exit_code == 3
    assert "no results of planted bugs" in done.output


def test_results_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="no results of memcheck"):
        stored_memcheck(tmp_path / "nowhere.json")
