"""`argus runs`: what past optimisations did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import BaseModel, ValidationError

from argus.cli.output import SCHEMA_VERSION, fail, print_json
from argus.cli.summary import summary
from argus.graph.record import RunRecord
from argus.graph.run import RUNS

app = typer.Typer(no_args_is_help=True, help="Past runs: list, show, report, replay.")

Folder = Annotated[Path, typer.Option("--runs", help="The folder of runs.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run's id or folder.")]


class RunLine(BaseModel, frozen=True):
    """One run in `argus runs list`; a run without a status was cut short and can be resumed."""

    run_id: str
    folder: str
    task: str
    target: str
    seed: int
    status: str
    attempts: int
    best_us: float | None


class RunList(BaseModel, frozen=True):
    """What `argus runs list --json` prints."""

    schema_version: int = SCHEMA_VERSION
    runs: tuple[RunLine, ...]
    unreadable: tuple[str, ...] = ()


@app.command("list")
def list_runs(runs: Folder = RUNS, json: Json = False) -> None:
    """Every run, newest last."""
    lines: list[RunLine] = []
    unreadable: list[str] = []
    for folder in sorted((p.parent for p in runs.glob("*/run.json")), key=lambda p: (p / "run.json").stat().st_mtime):
        try:
            lines.append(_line(folder, _read(folder)))
        except (OSError, ValidationError):
            unreadable.append(str(folder))
    if json:
        print_json(RunList(runs=tuple(lines), unreadable=tuple(unreadable)))
        return
    for line in lines:
        best = "-" if line.best_us is None else f"{line.best_us:,.1f} us"
        typer.echo(f"{line.run_id:10} {line.task:8} {line.target:8} {line.status:12} {line.attempts:>4}  {best}")
    for folder in unreadable:
        typer.echo(f"{folder}: run.json cannot be read", err=True)


@app.command()
def show(run: Run, runs: Folder = RUNS, json: Json = False) -> None:
    """One run's result; with --json what `argus optimize --json` printed."""
    record = load(run, runs, json=json)
    if record.result is None:
        fail("no-result", "the run has not ended", run, f"argus optimize --resume {run}", json=json)
    if json:
        print_json(record.result)
    else:
        typer.echo(summary(record.result))


@app.command()
def report(run: Run, runs: Folder = RUNS) -> None:
    """Write the run's report, one HTML file without network, and print its path."""
    from argus.cli.report import report_run  # noqa: PLC0415 - brings the evaluations along

    record, folder = load(run, runs, json=False), _folder(run, runs)
    try:
        typer.echo(str(report_run(folder, record)))
    except OSError as error:
        fail("store", f"the report cannot be written: {error.strerror}", str(folder))


@app.command()
def replay(run: Run, runs: Folder = RUNS, json: Json = False) -> None:
    """Check, compile and estimate every valid kernel of a run anew. Exit 1 when anything differs."""
    from argus.cli.replay import replay_run  # noqa: PLC0415

    record = load(run, runs, json=json)
    if record.result is None:
        fail("no-result", "the run has not ended", run, f"argus optimize --resume {run}", json=json)
    outcome = replay_run(_folder(run, runs), record)
    if json:
        print_json(outcome)
    else:
        for line in outcome.lines:
            typer.echo(f"{line.id:>4}  {'same' if line.same else 'DIFFERS'}  {line.note}")
    raise typer.Exit(code=0 if outcome.ok else 1)


def load(run: str, runs: Path, *, json: bool) -> RunRecord:
    """A run's record; ends the command when there is none."""
    folder = _folder(run, runs)
    try:
        return _read(folder)
    except OSError:
        fail("input", f"no run {run!r} in {runs}", str(folder), "argus runs list", json=json)
    except ValidationError as error:
        problem = error.errors()[0]
        fail("store", f"run.json cannot be read: {problem['msg']}", str(folder / "run.json"), json=json)


def _folder(run: str, runs: Path) -> Path:
    return Path(run) if (Path(run) / "run.json").exists() else runs / run


def _read(folder: Path) -> RunRecord:
    return RunRecord.model_validate_json((folder / "run.json").read_bytes())


def _line(folder: Path, record: RunRecord) -> RunLine:
    found = record.result
    best = next((a.time_us for a in found.attempts if a.id == found.best), None) if found else None
    return RunLine(
        run_id=record.run_id,
        folder=str(folder),
        task=record.task.name,
        target=record.task.target,
        seed=record.task.seed,
        status=found.status if found else "unfinished",
        attempts=len(found.attempts) if found else 0,
        best_us=best,
    )
