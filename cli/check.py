"""`argus check`: prove a kernel's obligations."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from argus.cli.formats import junit, sarif
from argus.cli.kernel_file import read_kernel, refuse
from argus.cli.output import print_json
from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse
from argus.dsl.kernels import make_problem, task_named
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
) -> None:
    """Prove every obligation of a kernel. Exit 0: all proved; 1: one refuted or unknown; 2: not a kernel."""
    as_json = output is not Format.text
    text = read_kernel(file, json=as_json)
    try:
        # Targets state the contract differently, so it is the kernel's own that counts.
        problem = None
        if task is not None:
            target = parse(text, str(file), kernel=kernel).target
            problem = make_problem(task_named(task), dtype=dtype, target=target)
        report = check_invariants(file, problem, kernel=kernel)
    except KernelError as error:
        refuse(error, text, json=as_json)
    match output:
        case Format.text:
            typer.echo(report.render(text))
        case Format.json:
            print_json(report)
        case Format.sarif:
            typer.echo(sarif(report))
        case Format.junit:
            typer.echo(junit(report))
    raise typer.Exit(code=0 if report.ok else 1)
