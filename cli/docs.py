"""`argus docs`: pages that are printed from the code."""

from __future__ import annotations

from typing import Annotated

import typer

from argus.dsl.frontend.reference import compact, page

app = typer.Typer(no_args_is_help=True, help="Pages that are printed from the code.")


@app.callback()
def docs() -> None:
    """A group, so that more pages can follow."""


@app.command()
def language(
    short: Annotated[bool, typer.Option("--compact", help="A line for each construct, as prompts hold it.")] = False,
) -> None:
    """The language reference, as in docs/language.md."""
    typer.echo(compact() if short else page(), nl=False)
