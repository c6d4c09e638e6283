"""What travels in a bundle, as far as it runs without a GPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from argus.dsl.runtime.measure import child, main
from argus.dsl.runtime.measure.gemm import GUARD, Data, judge, make, sets
from argus.dsl.runtime.measure.launch import formula
from argus.dsl.runtime.measure.statistics import interval

torch = pytest.importorskip("torch")
SIZES = {"M": 40, "N": 24, "K": 512}


def test_a_grid_formula() -> None:
    grid = "min(sms, (cdiv(M, 128)) * (cdiv(N, 256)))"
    assert formula(grid, {"M": 129, "N": 256, "K": 64, "sms": 132}) == 2
    assert formula(grid, {"M": 8192, "N": 8192, "K": 64, "sms": 132}) == 132
    assert formula("K % 8 == 0", {"K": 12}) == 0


def test_a_formula_reaches_nothing_else() -> None:
    with pytest.raises(NameError):
        formula("open('x')", {})


def test_the_interval_holds_the_median_with_95_percent() -> None:
    # Of nine values the second and the eighth: 1 - 2 * (1 + 9) / 512 = 0.961.
    assert interval([9, 1, 8, 2, 7, 3, 6, 4, 5]) == (5, 2, 8)
    assert interval([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)


def test_buffers_rotate_beyond_the_l2() -> None:
    small, large = {"M": 1024, "N": 1024, "K": 1024}, {"M": 8192, "N": 8192, "K": 8192}
    assert sets(small) * 3 * 2 * 1024**2 >= 140e6
    assert sets(large) == 2


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_judge(dtype: str) -> None:
    def filled(k: int) -> Data:
        data = make(torch, SIZES, dtype, 3, "cpu")
        data.c.copy_(data.a[:, :k].float() @ data.b[:, :k].float().t())
        return data

    assert judge(torch, filled(512), dtype)["ok"]
    assert not judge(torch, filled(496), dtype)["ok"]  # one k-step is missing
    assert judge(torch, make(torch, SIZES, dtype, 3, "cpu"), dtype)["nan"] == 40 * 24  # nothing was written
    one = filled(512)
    one.c[39, 23] *= 1.02
    assert not judge(torch, one, dtype)["ok"]
    stray = filled(512)
    stray.memory[GUARD - 1] = 0.0
    found = judge(torch, stray, dtype)
    assert (found["ok"], found["guard_touched"]) == (False, 1)


# ---------------------------------------------------------------------------------------------- the parent

RUNNER = """
import json, os, sys, time
folder = sys.argv[sys.argv.index("--child") + 1]
entry = json.load(open(folder + "/entry.json"))
print("check", entry["id"], flush=True)
if entry["id"] == "hangs":
    time.sleep(60)
if entry["id"] == "dies":
    os._exit(9)
if entry["id"] == "hangs at odd sizes" and entry["check_sizes"]:
    time.sleep(60)
json.dump({"status": "ok", "library": "cublaslt" if entry["kind"] == "peer" else entry["library"], "ratio": [1, 1, 1],
    "time_us": [1, 1, 1], "tflops": 1, "checks": []}, open(folder + "/result.json", "w"))
"""


def bundle(folder: Path, *ids: str, **more: object) -> Path:
    entries: list[dict[str, object]] = [
        {"id": i, "kind": "candidate", "dtype": "bfloat16", "sizes": {"M": 8}, **more} for i in ids
    ]
    entries[0]["kind"] = "peer"
    plan = {"task": "gemm", "bundle_sha": "0", "entries": entries}
    (folder / "bundle.json").write_text(json.dumps(plan), "utf-8")
    (folder / "run.py").write_text(RUNNER, "utf-8")
    return folder


def results(folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    out = folder / "results.json"
    code = main.main(folder, ["--out", str(out), *options])
    return code, {r["id"]: r for r in json.loads(out.read_text("utf-8"))["results"]}


@pytest.mark.slow
def test_a_child_that_hangs_or_dies_does_not_stop_the_others(tmp_path: Path) -> None:
    code, found = results(bundle(tmp_path, "library", "hangs", "dies", "good"), "--kill-after", "2")
    assert code == 1
    assert {name: r["status"] for name, r in found.items()} == {
        "library": "ok", "hangs": "killed", "dies": "died", "good": "ok",
    }  # fmt: skip
    assert "check hangs" in found["hangs"]["message"]
    assert found["good"]["library"] == "cublaslt"  # what the library's own pass chose


@pytest.mark.slow
def test_a_kernel_that_hangs_at_odd_sizes_alone_is_timed_and_called_wrong(tmp_path: Path) -> None:
    made = bundle(tmp_path, "library", "hangs at odd sizes", check_sizes=[{"M": 1}])
    code, found = results(made, "--kill-after", "2")
    assert code == 1
    odd = found["hangs at odd sizes"]
    assert (odd["status"], odd["first"]["status"], odd["ratio"]) == ("wrong", "killed", [1, 1, 1])


SURVEYOR = """
import json, os, sys, time
folder = sys.argv[sys.argv.index("--child") + 1]
for i, entry in enumerate(json.load(open(folder + "/entry.json"))):
    print("time", entry["id"], entry["rounds"], flush=True)
    if entry["id"] == "dies":
        os._exit(9)
    found = {"status": "ok", "library": "cublas", "ratio": [1, 1, 1], "time_us": [1, 1, 1], "tflops": 1}
    json.dump(found, open(f"{folder}/result-{i}.json", "w"))
"""


def test_a_survey_goes_on_after_a_candidate_that_ends_its_child(tmp_path: Path) -> None:
    made = bundle(tmp_path, "library", "first", "dies", "last")
    (made / "run.py").write_text(SURVEYOR, "utf-8")
    code, found = results(made, "--survey", "5")
    assert code == 0
    assert {n: r["status"] for n, r in found.items()} == {"library": "ok", "first": "ok", "dies": "died", "last": "ok"}
    assert "time dies 5" in found["dies"]["message"]


def test_runs_follow_each_other_and_check_once(tmp_path: Path) -> None:
    made = bundle(tmp_path, "library", "good", check_sizes=[{"M": 1}])
    out = tmp_path / "results.json"
    assert main.main(made, ["--out", str(out), "--runs", "2"]) == 0
    rows = json.loads(out.read_text("utf-8"))["results"]
    assert [(r["id"], r["run"]) for r in rows] == [("library", 0), ("good", 0), ("library", 1), ("good", 1)]


def test_no_child_starts_late(tmp_path: Path) -> None:
    code, found = results(bundle(tmp_path, "library", "good"), "--minutes", "0")
    assert code == 3
    assert {r["status"] for r in found.values()} == {"skipped"}


def test_a_failure_of_the_child_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(entry: object, folder: object) -> dict[str, Any]:
        raise RuntimeError("no GPU")

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(child, "run", broken)
    monkeypatch.setattr("os._exit", leave)
    (tmp_path / "entry.json").write_text("{}", "utf-8")
    with pytest.raises(SystemExit):
        main.main(tmp_path, ["--child", str(tmp_path)])
    found = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert (found["status"], found["message"]) == ("failed", "RuntimeError: no GPU")


def test_the_package_needs_nothing_of_the_project() -> None:
    folder = Path(main.__file__).parent
    for module in folder.glob("*.py"):
        assert "argus" not in module.read_text("utf-8"), module
    assert sys.version_info >= (3, 11)
