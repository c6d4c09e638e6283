# pyright: reportUnknownMemberType=false
# (MLflow leaves parts of its client untyped.)
"""MLflow: who is whose child, what is kept, and that its failures do no harm."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from graph_fakes import FakeToolbox, cards
from mlflow import MlflowClient

from argus.agents.attempt import Attempt
from argus.graph.events import Event, Warned
from argus.graph.run import aoptimize, aresume
from argus.graph.track import Tracker, default_artifacts, default_uri

pytestmark = pytest.mark.slow  # a new database takes seconds


async def test_concurrent_optimisations_keep_their_children(tmp_path: Path) -> None:
    async def one(name: str, seed: int) -> list[int]:
        found = await aoptimize(
            "gemm",
            toolbox=FakeToolbox(delay=0.02),
            cards=cards(),
            out=tmp_path / name,
            seed=seed,
            candidates=5,
            rounds=1,
        )
        return [a.id for a in found.attempts]

    # The database first, so that two runs do not both create it.
    first = await one("first", 0)
    ids = dict(zip("ab", await asyncio.gather(one("a", 1), one("b", 2)), strict=True))
    client = MlflowClient(tracking_uri=default_uri(tmp_path))
    experiment = client.get_experiment_by_name("argus")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], max_results=1000)
    parents = {r.info.run_id: r for r in runs if "mlflow.parentRunId" not in r.data.tags}
    assert len(parents) == 3
    for name, want in {"first": first, **ids}.items():
        (parent,) = (r for r in parents.values() if r.data.tags["argus.run"] == _run_id(tmp_path / name))
        mine = [r for r in runs if r.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
        assert sorted(int(r.data.tags["argus.attempt"]) for r in mine) == want
        assert parent.info.status == "FINISHED"
        assert parent.data.tags["argus.status"] in ("improved", "no_gain")
        for child in mine:
            attempt = _attempt(tmp_path / name, int(child.data.tags["argus.attempt"]))
            assert child.data.metrics["time_us"] == attempt.time_us
            assert child.data.params["schedule.stages"] == str((attempt.schedule or {})["stages"])
            files = {f.path for f in client.list_artifacts(child.info.run_id)}
            assert files >= {"kernel.py", "check.json", "report.json", "tests.json", "kernel.s", "kernel.hsaco"}
        kept = {f.path for f in client.list_artifacts(parent.info.run_id)}
        assert kept >= {"best", "run.json", "report.html", "events.jsonl"}


async def test_resuming_adds_to_the_same_parent(tmp_path: Path) -> None:
    tools: Any = {"toolbox": FakeToolbox(), "cards": cards()}
    await aoptimize("gemm", out=tmp_path / "run", candidates=3, rounds=1, **tools)
    more = await aresume(tmp_path / "run", candidates=5, rounds=2, **tools)
    client = MlflowClient(tracking_uri=default_uri(tmp_path))
    experiment = client.get_experiment_by_name("argus")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    (parent,) = (r for r in runs if "mlflow.parentRunId" not in r.data.tags)
    assert len(runs) == 1 + len(more.attempts)
    assert parent.info.status == "FINISHED"
    assert parent.data.metrics["attempts"] == len(more.attempts)


async def test_a_tracking_failure_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mlflow.db").write_text("no database at all, but long enough to be read as one")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    seen: list[Event] = []
    found = await aoptimize(
        "gemm", toolbox=FakeToolbox(), cards=cards(), out=tmp_path / "run", candidates=2, rounds=1, on_event=seen.append
    )
    assert len(found.attempts) == 3
    (warning,) = (e for e in seen if isinstance(e, Warned))
    assert warning.message.startswith("tracking stopped: ")


async def test_a_candidate_is_recorded_once(tmp_path: Path) -> None:
    tracker = Tracker(default_uri(tmp_path), warn=pytest.fail, artifacts=default_artifacts(tmp_path))
    await tracker.start("run", {}, {"seed": 0})
    attempt = Attempt(id=4, round=1, parent=0, techniques=("agpr",), status="refuted", note="x" * 600)
    await tracker.candidate(attempt, None)
    await tracker.candidate(attempt, None)
    client = MlflowClient(tracking_uri=default_uri(tmp_path))
    experiment = client.get_experiment_by_name("argus")
    assert experiment is not None
    assert len(client.search_runs([experiment.experiment_id])) == 2


def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://tracking.example")
    assert default_uri(tmp_path) == "http://tracking.example"
    assert default_artifacts(tmp_path) is None


def _run_id(folder: Path) -> str:
    return str(json.loads((folder / "run.json").read_text())["run_id"])


def _attempt(folder: Path, number: int) -> Attempt:
    return Attempt.model_validate_json((folder / "attempts" / str(number) / "attempt.json").read_text())
