"""`argus check`: prove a kernel's obligations."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from argus.cli.counted import Counted
from argus.cli.formats import junit, sarif
from argus.cli.kernel_file import read_kernel, refuse
from argus.cli.output import fail, print_json
from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse
from argus.dsl.kernels import make_problem, task_named
from argus.evals.assertions import MUTANTS, MutatedReport, judge_assertions
from argus.tools.check import check_invariants

app = typer.Typer()


class Format(StrEnum):
    """How the report is printed."""

    text = "text"
    json = "json"
    sarif = "sarif"
    junit = "junit"


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A file with one kernel, or with several and --kernel.")],
    kernel: Annotated[str | None, typer.Option(help="Which kernel of the file.")] = None,
    task: Annotated[str | None, typer.Option(help="Also compare the contract with this task's.")] = None,
    dtype: Annotated[str | None, typer.Option(help="The task's input type.")] = None,
    output: Annotated[Format, typer.Option("--format", help="How to print the report.")] = Format.text,
    mutants: Annotated[bool, typer.Option("--mutants", help="Also say what each written assertion is worth.")] = False,
    mutant_count: Annotated[int, typer.Option(min=1, help="Mutants to draw.")] = MUTANTS,
    seed: Annotated[int, typer.Option(help="Of the draw of mutants.")] = 0,
) -> None:
    """Prove every obligation of a kernel. Exit 0: all proved; 1: one refuted or unknown; 2: not a kernel."""
    as_json = output is not Format.text
    if mutants and output not in (Format.text, Format.json):
        hint = "use --format text or --format json"
        fail("usage", f"--mutants has no {output.value} form", "--mutants", hint, json=as_json)
    text = read_kernel(file, json=as_json)
    try:
        # Targets state the contract differently, so it is the kernel's own that counts.
        problem = None
        if task is not None:
            target = parse(text, str(file), kernel=kernel).target
            problem = make_problem(task_named(task), dtype=dtype, target=target)
        report = check_invariants(file, problem, kernel=kernel, advise=True)
        worth = None
        if mutants:
            worth = judge_assertions(
                text, report, count=mutant_count, seed=seed, kernel=kernel, progress=Counted("judged")
            )
    except KernelError as error:
        refuse(error, text, json=as_json)
    match output:
        case Format.text:
            typer.echo(report.render(text))
            if worth is not None:
                typer.echo(worth.render())
        case Format.json:
            print_json(report if worth is None else MutatedReport(**dict(report), mutants=worth))
        case Format.sarif:
            typer.echo(sarif(report, text))
        case Format.junit:
            typer.echo(junit(report, text))
    raise typer.Exit(code=0 if report.ok else 1)
