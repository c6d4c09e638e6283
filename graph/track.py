"""MLflow: one parent run for an optimisation, one child for a candidate. The only module that imports it.

Tracking may fail without harm: the run folder holds the same facts. Calls are made in order from one thread at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from argus.agents.attempt import Attempt

if TYPE_CHECKING:
    from mlflow import MlflowClient

EXPERIMENT = "argus"
_PARENT, _NAME, _ATTEMPT = "mlflow.parentRunId", "mlflow.runName", "argus.attempt"
_TEXT_LIMIT = 490  # MLflow refuses parameters beyond 500 characters


@dataclass(slots=True)
class Tracker:
    """A parent run and its children.

    Attributes:
        uri: Where runs are kept: a database, a server.
        parent: The parent run's id once there is one; give an earlier one to go on with it.
        warn: Told of the first failure; after that tracking is off.
    """

    uri: str
    warn: Callable[[str], None]
    artifacts: Path | None = None
    parent: str = ""
    off: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _client: MlflowClient | None = None

    async def start(self, name: str, tags: Mapping[str, str], params: Mapping[str, object]) -> None:
        """Open the parent run, or the earlier one again."""
        await self._safely(lambda c: self._start(c, name, tags, params))

    async def candidate(self, attempt: Attempt, folder: Path | None) -> None:
        """One child run with everything that is known of a candidate; a second call for it does nothing."""
        await self._safely(lambda c: self._candidate(c, attempt, folder))

    async def finish(
        self, metrics: Mapping[str, float], tags: Mapping[str, str], artifacts: list[Path], *, failed: bool = False
    ) -> None:
        """Close the parent run; it opens again when the search goes on."""
        await self._safely(lambda c: self._finish(c, metrics, tags, artifacts, failed=failed))

    async def _safely(self, act: Callable[[MlflowClient], None]) -> None:
        if self.off:
            return
        async with self._lock:
            try:
                await asyncio.to_thread(self._act, act)
            except Exception as error:  # whatever MLflow, its database or the network come up with
                self.off = True
                self.warn(f"tracking stopped: {type(error).__name__}: {str(error).splitlines()[0][:200]}")

    def _act(self, act: Callable[[MlflowClient], None]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # theirs, about deprecations of their own
            if self._client is None:
                self._client = _connect(self.uri)
            act(self._client)

    def _start(self, client: MlflowClient, name: str, tags: Mapping[str, str], params: Mapping[str, object]) -> None:
        if self.parent:
            client.set_terminated(self.parent, "RUNNING")
            return
        run = client.create_run(self._experiment(client), tags={**tags, _NAME: name})
        self.parent = run.info.run_id
        for key, value in params.items():
            client.log_param(self.parent, key, _short(value))

    def _experiment(self, client: MlflowClient) -> str:
        known = client.get_experiment_by_name(EXPERIMENT)
        if known is not None:
            return known.experiment_id
        location = self.artifacts.resolve().as_uri() if self.artifacts else None
        try:
            return client.create_experiment(EXPERIMENT, artifact_location=location)
        except Exception:  # another process was faster
            known = client.get_experiment_by_name(EXPERIMENT)
            if known is None:
                raise
            return known.experiment_id

    def _candidate(self, client: MlflowClient, attempt: Attempt, folder: Path | None) -> None:
        from mlflow.entities import Metric, Param, RunTag  # noqa: PLC0415 - MLflow loads on use

        experiment = client.get_run(self.parent).info.experiment_id
        mine = f"tags.`{_PARENT}` = '{self.parent}' and tags.`{_ATTEMPT}` = '{attempt.id}'"
        if client.search_runs([experiment], mine, max_results=1):
            return
        name = f"{attempt.id}: {' + '.join(attempt.techniques) or 'start'}"
        tags = {_PARENT: self.parent, _NAME: name, _ATTEMPT: str(attempt.id)}
        run_id = client.create_run(experiment, tags=tags).info.run_id
        now = int(time.time() * 1000)
        client.log_batch(
            run_id,
            metrics=[Metric(key, value, now, 0) for key, value in _metrics(attempt).items()],
            params=[Param(key, _short(value)) for key, value in _params(attempt).items()],
            tags=[RunTag(f"argus.{key}", value) for key, value in _tags(attempt).items()],
        )
        if folder is not None and folder.is_dir():
            client.log_artifacts(run_id, str(folder))
        client.set_terminated(run_id, "FINISHED" if attempt.status != "broken" else "FAILED")
        if attempt.valid and attempt.time_us is not None:
            client.log_metric(self.parent, "time_us", attempt.time_us, step=attempt.id)

    def _finish(
        self,
        client: MlflowClient,
        metrics: Mapping[str, float],
        tags: Mapping[str, str],
        artifacts: list[Path],
        *,
        failed: bool,
    ) -> None:
        for key, value in metrics.items():
            client.log_metric(self.parent, key, value)
        for key, value in tags.items():
            client.set_tag(self.parent, key, value)
        for path in artifacts:
            if path.is_dir():
                client.log_artifacts(self.parent, str(path), path.name)
            elif path.is_file():
                client.log_artifact(self.parent, str(path))  # pyright: ignore[reportUnknownMemberType]
        client.set_terminated(self.parent, "FAILED" if failed else "FINISHED")


def default_uri(runs: Path) -> str:
    """MLFLOW_TRACKING_URI, else one database beside the run folders."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{runs.resolve() / 'mlflow.db'}"


def default_artifacts(runs: Path) -> Path | None:
    """Where files go beside that database; a server has its own place."""
    return None if os.environ.get("MLFLOW_TRACKING_URI") else runs / "mlartifacts"


def _connect(uri: str) -> MlflowClient:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient  # noqa: PLC0415 - takes a second

    # News about tables and migrations would stand among the run's progress; importing it sets the levels anew.
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    return MlflowClient(tracking_uri=uri)


def _metrics(attempt: Attempt) -> dict[str, float]:
    found: dict[str, float | None] = {
        "time_us": attempt.time_us,
        "speedup": attempt.speedup,
        "reward": attempt.reward,
        "proved": attempt.obligations.proved,
        "refuted": attempt.obligations.refuted,
        "unknown": attempt.obligations.unknown,
        "tests_passed": attempt.tests.passed,
        "tests_failed": attempt.tests.failed,
        "tokens": attempt.tokens,
        "repairs": attempt.repairs,
        "seconds": attempt.seconds,
    }
    if attempt.report is not None:
        r = attempt.report
        found |= {"vgpr": r.registers.vgpr, "agpr": r.registers.agpr, "spills": r.spills, "lds_bytes": r.lds_bytes}
    return {key: float(value) for key, value in found.items() if value is not None}


def _params(attempt: Attempt) -> dict[str, Any]:
    fields = {f"schedule.{key}": value for key, value in (attempt.schedule or {}).items()}
    return {
        "parent": attempt.parent,
        "techniques": ", ".join(attempt.techniques),
        "round": attempt.round,
        "params": attempt.params,
        **fields,
    }


def _tags(attempt: Attempt) -> dict[str, str]:
    return {
        "status": attempt.status,
        "fault": attempt.fault,
        "kernel_sha": attempt.kernel_sha,
        "prompt_sha": attempt.prompt_sha,
        "time_kind": attempt.time_kind,
        "note": attempt.note,
    }


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}…"
