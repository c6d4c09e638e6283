"""`argus optimize`: run the graph on a task, or go on with a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Never

import typer

from argus.agents.models import ModelConfigError, parse_models
from argus.cli.output import EXIT_CODES, ErrorBody, Failure, fail, print_json
from argus.cli.progress import Progress
from argus.cli.shapes import parse_shape
from argus.cli.summary import summary
from argus.dsl.diagnostics import KernelError, ToolchainError
from argus.graph.context import Config
from argus.graph.errors import RunError
from argus.graph.run import RUNS, RunResult, resume
from argus.graph.run import optimize as run_graph

app = typer.Typer()


@app.command()
def optimize(
    task: Annotated[str | None, typer.Argument(help="A task, e.g. gemm.")] = None,
    shape: Annotated[str | None, typer.Option(help="Sizes: m=4096,n=4096,k=4096.")] = None,
    dtype: Annotated[str | None, typer.Option(help="Input type, e.g. bf16.")] = None,
    target: Annotated[str | None, typer.Option(help="gfx942 or sm_90a.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="NODE=MODEL, or a model for all nodes; repeatable.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Planning rounds.", min=0)] = None,
    candidates: Annotated[int | None, typer.Option(help="Kernels tried beside the start.", min=0)] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Tokens over all agents.", min=0)] = None,
    minutes: Annotated[float | None, typer.Option(help="After this time no candidate is begun.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of every draw.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run's folder.")] = None,
    events: Annotated[Path | None, typer.Option(help="A file for the events, one JSON line each.")] = None,
    resumed: Annotated[
        str | None, typer.Option("--resume", help="A run's folder or id; only budgets may change.")
    ] = None,
    times: Annotated[
        Path | None, typer.Option(help="With --resume: what a parked run's bundle wrote on the machine with the GPU.")
    ] = None,
    learn_from: Annotated[
        str | None, typer.Option(help="A run's folder or id whose results are believed from the start.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Ablation: tags, smt, feedback, learning or knowledge off; repeatable.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Optimise a task's kernel. Exit 0: improved, no gain or parked; 1: no valid kernel; 2: bad request; 3: toolchain.

    Kernels for sm_90a are timed on a GPU: this machine's, or another's, for which each round parks with a bundle.
    """
    given: dict[str, Any] = {
        "rounds": rounds,
        "candidates": candidates,
        "budget_tokens": budget_tokens,
        "minutes": minutes,
        "seed": seed,
        "dtype": dtype,
        "target": target,
        "shape": parse_shape(shape, json=json) or None,
        "events": events,
        "times": times,
        "learn_from": run_folder(learn_from) if learn_from is not None else None,
    }
    options = {name: value for name, value in given.items() if value is not None}
    if (task is None) == (resumed is None):
        fail("usage", "name a task, or --resume a run", "TASK", "argus optimize gemm", json=json)
    if times is not None and resumed is None:
        fail("usage", "times belong to a run that waits for them", "--times", "--resume RUN --times FILE", json=json)
    if without:
        options["config"] = config_without(without, json=json)
    found = _answered(lambda: _run(task, resumed, model, out, options), out, json=json)
    if json:
        print_json(found)
    else:
        typer.echo(summary(found))
    raise typer.Exit(code=found.exit_code)


def _run(
    task: str | None, resumed: str | None, model: list[str] | None, out: Path | None, options: dict[str, Any]
) -> RunResult:
    """The run of a task, or what is left of another; its events go to the terminal."""
    models = parse_models(model) if model else None
    if resumed is not None:
        return resume(run_folder(resumed), task=task, out=out, models=models, on_event=Progress(), **options)
    return run_graph(task or "", out=out, models=models, on_event=Progress(), **options)


def _answered(run: Callable[[], RunResult], out: Path | None, *, json: bool) -> RunResult:
    """The run's result, or the end of the command with what stood in its way."""
    try:
        return run()
    except KernelError as error:
        d = error.diagnostic
        _refused(str(d.code), d.message, str(d.span.file), d.hint, json=json)
    except ModelConfigError as error:
        _refused("model", error.message, "--model", error.hint, json=json)
    except RunError as error:
        _refused(error.code, error.message, error.where, error.hint, json=json)
    except ToolchainError as error:
        fail("toolchain", str(error), json=json)
    except OSError as error:
        _refused("folder", f"{error.strerror}: {error.filename}", str(out or RUNS), "choose another --out", json=json)
    except KeyboardInterrupt:
        fail("interrupted", "interrupted; the best so far is kept", hint="argus optimize --resume RUN", json=json)


def config_without(without: list[str], *, json: bool) -> Config:
    """A configuration with switches off; the run records it. An unknown switch ends the command as bad usage."""
    known = Config().switches
    if unknown := [name for name in without if name not in known]:
        fail("usage", f"no switch {unknown[0]!r}", "--without", f"one of {', '.join(known)}", json=json)
    return Config.model_validate(dict.fromkeys(without, False))


def run_folder(name: str) -> Path:
    """A folder, or an id under `runs/`."""
    path = Path(name)
    return path if path.exists() else RUNS / name


def _refused(code: str, message: str, where: str, hint: str, *, json: bool) -> Never:
    if json:
        print_json(Failure(error=ErrorBody(code=code, message=message, where=where, hint=hint)))
    else:
        typer.echo(f"error[{code}]: {message}" + (f"\n  hint: {hint}" if hint else ""), err=True)
    raise typer.Exit(code=EXIT_CODES["usage"])
