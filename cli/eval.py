"""`argus eval`: suites that put figures on what the parts promise."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from pydantic import ValidationError

from argus.agents.models import ModelConfigError
from argus.cli.counted import Counted
from argus.cli.output import fail, finish, print_json
from argus.cli.shapes import parse_shape
from argus.dsl.diagnostics import KernelError, ToolchainError
from argus.dsl.kernels import make_problem, task_named
from argus.evals.checker import evaluate_checker, save_faults
from argus.evals.fuzz.campaign import evaluate_fuzz
from argus.evals.fuzz.campaign import save_faults as save_fuzz_faults
from argus.evals.races import evaluate_races
from argus.evals.repair import evaluate_repair
from argus.evals.table import Table, TableSummary, build, save, stored
from argus.tools.compile import DEFAULT_CACHE

if TYPE_CHECKING:
    from argus.graph.timing import TimeTable

app = typer.Typer(
    no_args_is_help=True,
    help="Evaluation suites: checker, races, hopper-bugs, fuzz, repair, table, search, estimator, gate, times.",
)

Seed = Annotated[int, typer.Option(help="Of every draw.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Cache = Annotated[Path, typer.Option(help="Folder of compiled kernels: what is there is not compiled anew.")]


def _save(faults: Callable[[Path], object], folder: Path, *, json: bool) -> None:
    try:
        faults(folder)
    except OSError as error:
        fail("store", error.strerror or str(error), str(folder), json=json)


@app.command()
def checker(
    count: Annotated[int, typer.Option(help="Mutants.", min=1)] = 1600,
    seed: Seed = 0,
    edits: Annotated[int, typer.Option(help="Edits that make one mutant.", min=1, max=3)] = 1,
    folder: Annotated[
        Path | None, typer.Option("--save", help="Folder for mutants that show a defect.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Judge the checker by mutants and the interpreter.

    Exit 1: a wrong kernel was proved, a right one refuted or not proved, or too few wrong ones were refuted.
    """
    report = evaluate_checker(count=count, seed=seed, edits=edits, progress=Counted("judged"))
    if folder is not None:
        _save(partial(save_faults, report), folder, json=json)
    finish(report, ok=report.ok, json=json)


@app.command()
def races(json: Json = False) -> None:
    """Judge the checker by small kernels about one hazard each, and print the confusion matrix.

    Exit 1: a verdict is not as expected.
    """
    report = evaluate_races(progress=Counted("judged"))
    finish(report, ok=report.ok, json=json)


@app.command()
def hopper_bugs(
    bundle: Annotated[
        Path | None, typer.Option(help="Compile the bugs into this folder instead, to be run on a GPU.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="What that bundle wrote there, in place of the stored run.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Check planted Hopper bugs, beside what each did on an H200; and memcheck's word on the timed kernels.

    Exit 1: one is not refuted where it is, fewer than ten show on the GPU, or memcheck found something.
    """
    from argus.evals.hopper_bugs import STORED, evaluate_hopper_bugs, stored_memcheck, stored_runs  # noqa: PLC0415
    from argus.evals.hopper_bundle import write_bug_bundle  # noqa: PLC0415

    try:
        if bundle is not None:
            write_bug_bundle(bundle, Counted("compiled"))
            typer.echo(
                f"on the machine with the GPU: python {bundle / 'run.py'} --fork --kill-after 20 --out bugs.json"
            )
            return
        runs, memcheck = stored_runs(results or STORED), stored_memcheck()
    except ToolchainError as error:
        fail("toolchain", str(error), str(bundle or results or ""), json=json)
    report = evaluate_hopper_bugs(runs, memcheck, progress=Counted("checked"))
    finish(report, ok=report.ok, json=json)


@app.command()
def fuzz(
    minutes: Annotated[float, typer.Option(help="How long.", min=0.01)] = 10.0,
    cases: Annotated[int | None, typer.Option(help="How many at most.", min=1, show_default=False)] = None,
    seed: Seed = 0,
    folder: Annotated[
        Path | None, typer.Option("--save", help="Folder for cases that broke something.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Give front end and checker random text, random edits of right kernels and random IR.

    Exit 1: a case brought a traceback or took too long.
    """
    report = evaluate_fuzz(seed=seed, minutes=minutes, cases=cases, progress=lambda line: typer.echo(line, err=True))
    if folder is not None:
        _save(partial(save_fuzz_faults, report), folder, json=json)
    finish(report, ok=report.ok, json=json)


@app.command()
def repair(
    seed: Seed = 0,
    model: Annotated[str, typer.Option(help="Who repairs: offline, or PROVIDER:NAME.")] = "offline",
    json: Json = False,
) -> None:
    """Plant bugs and have the lowering agent repair them, with the counterexample shown and hidden.

    Exit 1: fewer than 80 % are repaired when it is shown, or more than 20 % when it is hidden.
    """
    try:
        report = evaluate_repair(seed=seed, model=model, progress=Counted("repaired or given up"))
    except ModelConfigError as error:
        fail("usage", error.message, "--model", error.hint, json=json)
    except ToolchainError as error:
        fail("toolchain", str(error), json=json)
    finish(report, ok=report.ok, json=json)


@app.command()
def table(
    out: Annotated[Path, typer.Option(help="The file to write.")],
    count: Annotated[int, typer.Option(help="Schedules.", min=1)] = 2000,
    seed: Seed = 0,
    shape: Annotated[str | None, typer.Option(help="Sizes: m=4096,n=4096,k=4096.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Input type, e.g. bf16.")] = None,
    cache: Cache = DEFAULT_CACHE,
    json: Json = False,
) -> None:
    """Compile random GEMM schedules and write down their estimates. Minutes to an hour."""
    if not out.parent.is_dir():
        fail("input", "the folder does not exist", str(out.parent), json=json)
    try:
        problem = make_problem(task_named("gemm"), shape=parse_shape(shape, json=json), dtype=dtype)
        progress = Counted("compiled")
        work = build(problem, count=count, seed=seed, cache=cache, progress=lambda done, _: progress(done, count))
        built = asyncio.run(work)
        save(built, out)
    except KernelError as error:
        fail("input", error.diagnostic.message, hint=error.diagnostic.hint, json=json)
    except ToolchainError as error:
        fail("toolchain", str(error), json=json)
    except OSError as error:
        fail("store", error.strerror or str(error), str(error.filename or out), json=json)
    summary = TableSummary.of(built, out)
    finish(summary, ok=summary.compiled > 0, json=json)


@app.command()
def search(
    stored_at: Annotated[
        Path | None, typer.Option("--table", help="Another table than the package's.", show_default=False)
    ] = None,
    runs: Annotated[int, typer.Option(help="Searches, each with a seed of its own.", min=1)] = 1,
    candidates: Annotated[int, typer.Option(help="Kernels that each search may try.", min=1)] = 24,
    target: Annotated[str, typer.Option(help="gfx942: estimates; sm_90a: times measured on an H200.")] = "gfx942",
    rounds: Annotated[int, typer.Option(help="sm_90a: the policy's rounds.", min=1)] = 5,
    whole: Annotated[bool, typer.Option(help="sm_90a: the policy may leave the measured schedules.")] = False,
    without: Annotated[list[str] | None, typer.Option(help="sm_90a: a switch that is off; repeatable.")] = None,
    seed: Seed = 0,
    cache: Cache = DEFAULT_CACHE,
    json: Json = False,
) -> None:
    """Compare the offline policy with random choice among the stored schedules. Exit 1: it is no better."""
    if target not in ("gfx942", "sm_90a"):
        fail("usage", f"no target {target!r}", "--target", "gfx942 or sm_90a", json=json)
    if target == "sm_90a":
        table = _searched(json=json) if whole else _times(stored_at, json=json)
        _measured_search(table, runs, (candidates, rounds), seed, without or [], closed=not whole, json=json)
    from argus.evals.search import OutdatedTable, evaluate_search  # noqa: PLC0415 - no other suite needs the graph

    try:
        known = stored() if stored_at is None else Table.model_validate_json(stored_at.read_bytes())
        report = evaluate_search(
            known, runs=runs, candidates=candidates, seed=seed, cache=cache, progress=Counted("searches done")
        )
    except FileNotFoundError:
        where = str(stored_at) if stored_at else "evals/data"
        fail("input", "there is no table", where, "make one with argus eval table --out FILE", json=json)
    except OSError as error:
        fail("store", error.strerror or str(error), str(error.filename or stored_at), json=json)
    except ValidationError as error:
        fail("input", f"this is no table: {error.errors()[0]['msg']}", str(stored_at), json=json)
    except OutdatedTable as error:
        fail("input", str(error), hint="make it again with argus eval table --out FILE", json=json)
    except ToolchainError as error:
        fail("toolchain", str(error), json=json)
    finish(report, ok=report.ok, json=json)


def _measured_search(
    table: TimeTable,
    runs: int,
    budget: tuple[int, int],
    seed: int,
    without: list[str],
    *,
    closed: bool,
    json: bool,
) -> NoReturn:
    from argus.cli.optimize import config_without  # noqa: PLC0415
    from argus.evals.measured_search import evaluate_measured_search  # noqa: PLC0415

    report = evaluate_measured_search(
        table,
        runs=runs,
        candidates=budget[0],
        rounds=budget[1],
        seed=seed,
        closed=closed,
        config=config_without(without, json=json),
        progress=Counted("searches done"),
    )
    finish(report, ok=report.ok, json=json)


@app.command()
def estimator(
    stored_at: Annotated[
        Path | None, typer.Option("--table", help="Another table than the package's.", show_default=False)
    ] = None,
    points: Annotated[bool, typer.Option(help="Print every schedule.")] = False,
    json: Json = False,
) -> None:
    """Compare the sm_90a estimate with times measured on an H200. Exit 1: fewer than 40 schedules, or below 0.8."""
    from argus.evals.estimator import evaluate_estimator  # noqa: PLC0415
    from argus.evals.measured import RANDOM, SEARCHED, stored_times  # noqa: PLC0415

    if stored_at is not None:
        tables = [_times(stored_at, json=json)]
    else:
        tables = [_times(None, json=json), stored_times(RANDOM), stored_times(SEARCHED)]
    report = evaluate_estimator(tables)
    if json:
        print_json(report)
    else:
        typer.echo(report.render())
        for p in sorted(report.points, key=lambda p: p.measured_us) if points else ():
            fitted = "  fitted" if p.fitted else ""
            typer.echo(f"  {p.name:44} measured {p.measured_us:7.1f}  est {p.estimated_us:7.1f}  {p.ratio:.2f}{fitted}")
    raise typer.Exit(code=0 if report.ok else 1)


def _searched(*, json: bool) -> TimeTable:
    """All measured schedules, those drawn from the whole space marked."""
    from argus.evals.measured import MEASURED, RANDOM, SEARCHED, merged, stored_times  # noqa: PLC0415

    try:
        return merged([stored_times(name) for name in (MEASURED, RANDOM, SEARCHED)])
    except FileNotFoundError as error:
        fail("input", "there is no table of the whole space", str(error.filename), json=json)


def _times(path: Path | None, *, json: bool) -> TimeTable:
    """The measured table of the package, or of a file."""
    from argus.evals.measured import stored_times, whole  # noqa: PLC0415
    from argus.graph.timing import TimeTable  # noqa: PLC0415

    try:
        return stored_times() if path is None else whole(TimeTable.model_validate_json(path.read_bytes()))
    except FileNotFoundError:
        fail("input", "there is no table of measured times", str(path or "evals/data"), json=json)
    except (OSError, ValidationError) as error:
        fail("input", f"this is no table of measured times: {error}", str(path), json=json)


@app.command()
def gate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run whose lessons are at stake: an id or a folder.")],
    shape: Annotated[list[str], typer.Option(help="A task outside the run's evidence: m=…,n=…,k=…; repeatable.")],
    runs: Annotated[int, typer.Option(help="Seeds a task.", min=1)] = 3,
    candidates: Annotated[int, typer.Option(help="Kernels that each search may try.", min=1)] = 12,
    rounds: Annotated[int, typer.Option(help="Rounds of each search.", min=1)] = 3,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Whether a run's lessons help on other tasks; the verdict is kept with its prompt. Exit 1: not promoted."""
    from argus.cli.optimize import run_folder  # noqa: PLC0415
    from argus.evals.gate import decide, evaluate_gate, policy_search  # noqa: PLC0415
    from argus.graph.errors import RunError  # noqa: PLC0415
    from argus.graph.folder import RunFolder  # noqa: PLC0415
    from argus.graph.record import read_record  # noqa: PLC0415

    folder = run_folder(run)
    try:
        record = read_record(RunFolder.open(folder))
        report = evaluate_gate(
            folder,
            [parse_shape(s, json=json) for s in shape],
            runs=runs,
            search=policy_search(record, rounds=rounds, candidates=candidates),
            seed=seed,
            progress=Counted("pairs searched"),
        )
        decide(folder, report)
    except RunError as error:
        fail("input", error.message, error.where, error.hint, json=json)
    except ToolchainError as error:
        fail("toolchain", str(error), json=json)
    finish(report, ok=report.promoted, json=json)


@app.command()
def times(
    bundle: Annotated[Path, typer.Argument(help="A folder: compiled kernels, and their bundle.")],
    results: Annotated[Path | None, typer.Option(help="What the bundle wrote on the machine with the GPU.")] = None,
    out: Annotated[Path, typer.Option(help="With --results: the table to write.")] = Path("times.json"),
    cache: Cache = DEFAULT_CACHE,
    json: Json = False,
) -> None:
    """Make the table of measured times: first the bundle of the enumerated space, then the table of its results."""
    from argus.evals.hopper_space import enumerated  # noqa: PLC0415
    from argus.evals.measured_table import table_of, write_space  # noqa: PLC0415
    from argus.graph.timing.table import save as save_times  # noqa: PLC0415

    if results is not None and not results.is_file():
        fail("input", "no such file", str(results), "what the bundle wrote on the machine with the GPU", json=json)
    try:
        if results is None:
            failed = write_space(bundle, enumerated(), cache=cache, progress=Counted("compiled"))
            for name, why in failed.items():
                typer.echo(f"left out: {name}: {why}", err=True)
            typer.echo(
                f"on the machine with the GPU: python {bundle / 'bundle' / 'run.py'} --survey 9 --out results.json"
            )
            return
        table = table_of(results, bundle)
        save_times(table, out)
    except ToolchainError as error:
        fail("toolchain", str(error), str(bundle), json=json)
    valid = sum(table.time_us(e) is not None for e in table.entries)
    typer.echo(f"{out}: {len(table.entries)} schedules, {valid} valid, library {table.reference_us:.1f} us")
