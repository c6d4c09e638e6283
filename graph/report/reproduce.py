"""Part 10: commands, versions and hashes that lead to the same result again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from argus import __version__
from argus.agents.models import NODES
from argus.graph.report.markup import Child, Html, facts, h
from argus.graph.report.read import RunData


def reproduce(run: RunData) -> Html:
    """What to type, and what was typed."""
    record, winner = run.record, run.winner
    config = ", ".join(f"{k} {v}" for k, v in record.config.model_dump().items())
    pairs: list[tuple[Child, Child]] = [
        ("run", h("code", record.run_id)),
        ("seed", str(record.task.seed)),
        ("models", ", ".join(f"{node} {name}" for node, name in record.models.items())),
        ("budget", ", ".join(f"{k} {'no limit' if v is None else v}" for k, v in record.budget.model_dump().items())),
        ("configuration", config),
        ("argus", __version__),
    ]
    if winner is not None:
        a = winner.attempt
        pairs.append(("kernel", _code(a.kernel_sha)))
        pairs.append(("planner's prompt", _code(a.prompt_sha)))
        if winner.check is not None:
            pairs.append(("contract", _code(winner.check.contract_sha)))
        if (m := winner.manifest) is not None:
            pairs += [(f"sha256 of {kind}", _code(value)) for kind, value in m.files.items()]
            pairs.append(("compiled with", ", ".join(f"{k} {v}" for k, v in m.versions.items())))
            pairs.append(
                ("launch", f"grid {' × '.join(m.grid)}, {m.threads} threads a block, {m.kernarg_bytes} B of arguments")
            )
    tracked = record.tracking
    pairs.append(("MLflow run", _code(tracked) if tracked else "none"))
    return h("div", h("pre", "\n".join(commands(run)), class_="told"), facts(pairs))


def commands(run: RunData) -> Iterator[str]:
    """The run itself, then what may be done with its winner."""
    record, p = run.record, run.problem
    sizes = ",".join(f"{k}={v}" for k, v in p.shape.items())
    words = ["argus", "optimize", p.task.name, "--shape", sizes, "--dtype", p.dtype, "--target", p.target]
    words += [
        "--seed",
        str(record.task.seed),
        "--rounds",
        str(record.budget.rounds),
        "--candidates",
        str(record.budget.candidates),
    ]
    if record.budget.tokens is not None:
        words += ["--budget-tokens", str(record.budget.tokens)]
    if record.budget.minutes is not None:
        words += ["--minutes", f"{record.budget.minutes:g}"]
    for node in NODES:
        if (model := record.models.get(node, "offline")) != "offline":
            words += ["--model", f"{node}={model}"]
    yield shlex.join(words)
    yield shlex.join(["argus", "runs", "replay", str(run.folder)])
    if run.winner is not None and run.winner.attempt.kernel:
        kernel = str(run.folder / "best" / "kernel.py")
        yield shlex.join(["argus", "check", kernel, "--task", p.task.name, "--dtype", p.dtype])
        yield shlex.join(["argus", "compile", kernel, "--target", p.target, "--shape", sizes, "--emit", "report"])


def _code(text: str) -> Html | None:
    return h("code", text) if text else None
