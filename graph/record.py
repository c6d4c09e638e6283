"""What a run was asked for: kept in its folder, and compared when it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from argus.agents.models import NODES, ModelChoice, name_of, resolve
from argus.graph.context import Budget, Config, problem_of
from argus.graph.errors import RunError
from argus.graph.folder import RunFolder
from argus.graph.result import RunResult
from argus.graph.state import TaskKey
from argus.graph.timing.executor import Timing


class RunRecord(BaseModel, frozen=True):
    """`run.json`: what a run was asked for, and what resuming must find unchanged; `timing` is who measures.

    `learned_from` is the run whose beliefs this one began with.
    """

    schema_version: int = 1
    run_id: str
    task: TaskKey
    models: dict[str, str]
    config: Config
    budget: Budget
    tracking: str = ""
    timing: Timing = "estimated"
    learned_from: str = ""
    result: RunResult | None = None


def read_record(folder: RunFolder) -> RunRecord:
    """The record of a run's folder.

    Raises:
        RunError: If it cannot be read.
    """
    try:
        return RunRecord.model_validate(folder.read_run())
    except ValidationError as error:
        raise RunError(f"run.json is damaged: {error.errors()[0]['msg']}", where=str(folder.root)) from error


def refuse_changes(
    folder: RunFolder, record: RunRecord, models: ModelChoice | None, changed: Mapping[str, Any]
) -> None:
    """Refuse options that would make the earlier attempts another run's; repeating what was said is no change.

    Raises:
        RunError: Naming the first option that differs.
    """
    problem = problem_of(record.task)
    before: dict[str, Any] = {
        "task": record.task.name,
        "shape": dict(problem.shape),
        "dtype": problem.dtype,
        "target": problem.target,
        "seed": record.task.seed,
        "config": record.config,
        "out": folder.root.resolve(),
    }
    for name, value in changed.items():
        if value is None:
            continue
        if name not in before:
            raise RunError(f"resume has no option {name!r}", f"budgets may change; {', '.join(before)} may be repeated")
        asked = {**before[name], **value} if name == "shape" else Path(value).resolve() if name == "out" else value
        if asked != before[name]:
            raise RunError(f"resume cannot change {name}: the run has {before[name]!r}", "start a new run instead")
    if models is not None and (told := named(models)) != record.models:
        node = next(n for n in NODES if told[n] != record.models.get(n))
        raise RunError(f"resume cannot change the {node}: the run has {record.models.get(node)!r}", "start a new run")


def named(models: ModelChoice) -> dict[str, str]:
    """Each agent's model as it was asked for, which resolves to the same again."""
    found = resolve(models)
    return {
        node: choice if isinstance(choice := models.get(node, models.get("default")), str) else name_of(found[node])
        for node in NODES
    }
