"""The JSON that scripts rely on: which fields `check` and `compile` print, and of what type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from argus.cli.main import app

ROOT = Path(__file__).parents[2]
GOOD = ROOT / "tests" / "kernels" / "good" / "start_single_stage.py"

NONE = type(None)

CHECK = {
    "schema_version": int, "kernel": str, "target": str, "ok": bool, "assumed": bool, "seconds": float,
    "obligations": list, "bank_conflicts": dict, "resources": dict, "assumptions": list,
}  # fmt: skip
OBLIGATION = {
    "id": str, "kind": str, "origin": str, "text": str, "file": str, "line": int, "col": int, "end_line": int,
    "end_col": int, "verdict": str, "tier": str, "counterexample": (dict, NONE), "reason": (str, NONE),
}  # fmt: skip
COUNTEREXAMPLE = {
    "kind": str, "text": str, "sizes": dict, "block": dict, "loops": dict, "thread": int, "wave": int, "lane": int,
    "register_slot": (int, NONE), "buffer": (str, NONE), "stage": (int, NONE), "element": (list, NONE),
    "byte": (int, NONE), "bank": (int, NONE), "want": str, "got": str, "component": (str, NONE), "consumer": dict,
    "producer": (dict, NONE), "other": (dict, NONE), "hops": list, "wrong_count": int, "total_count": int,
    "pattern": str, "fix_class": (str, NONE),
}  # fmt: skip
REPORT = {
    "schema_version": int, "kernel": str, "target": str, "registers": dict, "spills": int, "scratch_bytes": int,
    "lds_bytes": int, "occupancy_waves": int, "main_loop": dict, "estimate": (dict, NONE),
}  # fmt: skip
MAIN_LOOP = {
    "mfma": int, "valu": int, "trans": int, "salu": int, "lds_read": int, "lds_write": int, "vmem_read": int,
    "vmem_write": int, "barriers": int, "waits": list,
}  # fmt: skip
ESTIMATE = {
    "shape": dict, "time_us": float, "lower_bound_us": float, "bound": str, "next_bound": str, "resources_us": dict,
    "model_version": str,
}  # fmt: skip


def conform(value: dict[str, Any], fields: dict[str, Any]) -> None:
    """Each field is there and of its type; others may stand beside them."""
    for name, kind in fields.items():
        assert name in value, name
        assert isinstance(value[name], kind), (name, value[name])


def test_check() -> None:
    answer = CliRunner().invoke(app, ["check", str(ROOT / "examples/gemm_missing_barrier.py"), "--format", "json"])
    assert answer.exit_code == 1
    told = json.loads(answer.stdout)
    conform(told, CHECK)
    assert not told["ok"]
    verdicts: set[str] = set()
    for obligation in told["obligations"]:
        conform(obligation, OBLIGATION)
        verdicts.add(obligation["verdict"])
        assert obligation["origin"] in ("implicit", "written")
        assert (obligation["counterexample"] is not None) == (obligation["verdict"] == "refuted")
        if obligation["counterexample"]:
            conform(obligation["counterexample"], COUNTEREXAMPLE)
    assert verdicts == {"proved", "refuted"}


@pytest.mark.slow
def test_compile_reports() -> None:
    words = ["compile", str(GOOD), "--target", "gfx942", "--emit", "report"]
    with_shape = CliRunner().invoke(app, [*words, "--shape", "m=512,n=512,k=512"])
    assert with_shape.exit_code == 0
    told = json.loads(with_shape.stdout)
    conform(told, REPORT)
    conform(told["registers"], {"vgpr": int, "agpr": int, "sgpr": int})
    conform(told["main_loop"], MAIN_LOOP)
    assert told["main_loop"]["waits"]
    for wait in told["main_loop"]["waits"]:
        conform(wait, {"vmcnt": (int, NONE), "lgkmcnt": (int, NONE)})
    conform(told["estimate"], ESTIMATE)
    assert told["estimate"]["shape"] == {"m": 512, "n": 512, "k": 512}
    assert set(told["estimate"]["resources_us"]) == {"mfma", "valu", "lds", "vmem", "hbm", "latency", "launch"}
    without = CliRunner().invoke(app, words)
    assert without.exit_code == 0
    assert json.loads(without.stdout)["estimate"] is None
