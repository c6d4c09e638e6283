"""How every command ends: one JSON object or plain text, one error shape, the exit codes of the contract."""

from __future__ import annotations

from typing import Literal, Never, Protocol

import typer
from pydantic import BaseModel

SCHEMA_VERSION = 1

ErrorCode = Literal[
    "refuted",  # a verdict is refuted or unknown
    "no-result",  # nothing valid was found
    "usage",  # a wrong option or argument
    "input",  # a file, name, size or dtype that makes no sense
    "toolchain",  # compiler, linker, driver, worker, provider
    "store",  # a store on disk is corrupt or cannot be read or written
    "interrupted",
]

EXIT_CODES: dict[ErrorCode, int] = {
    "refuted": 1,
    "no-result": 1,
    "usage": 2,
    "input": 2,
    "toolchain": 3,
    "store": 3,
    "interrupted": 130,
}


class ErrorBody(BaseModel, frozen=True):
    """`where` is a file and line, an option or a path; `hint` says what would help. Both may be empty."""

    code: str
    message: str
    where: str = ""
    hint: str = ""


class Report(Protocol):
    """An answer that can be printed both ways."""

    def model_dump_json(self, *, indent: int | None = None) -> str: ...
    def render(self) -> str: ...


class Failure(BaseModel, frozen=True):
    """What a command prints instead of its answer when it fails with a JSON format."""

    schema_version: int = SCHEMA_VERSION
    error: ErrorBody


def print_json(model: BaseModel) -> None:
    """The command's one object on standard output."""
    typer.echo(model.model_dump_json(indent=2))


def finish(report: Report, *, ok: bool, json: bool) -> Never:
    """Print the answer and end the command: exit 0 if `ok`, else 1."""
    typer.echo(report.model_dump_json(indent=2) if json else report.render())
    raise typer.Exit(code=0 if ok else 1)


def fail(code: ErrorCode, message: str, where: str = "", hint: str = "", *, json: bool = False) -> Never:
    """Print the failure and end the command with its exit code.

    With `json` the object goes to standard output, where the answer would be; text goes to standard error.
    """
    if json:
        print_json(Failure(error=ErrorBody(code=code, message=message, where=where, hint=hint)))
    else:
        place = f"{where}: " if where else ""
        typer.echo(f"{place}error[{code}]: {message}", err=True)
        if hint:
            typer.echo(f"  hint: {hint}", err=True)
    raise typer.Exit(code=EXIT_CODES[code])
