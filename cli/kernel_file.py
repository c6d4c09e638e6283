"""Reading a kernel file, and saying what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Never

import typer

from argus.cli.output import ErrorBody, Failure, fail, print_json
from argus.dsl.diagnostics import KernelError

MAX_BYTES = 1 << 20


def read_kernel(file: Path, *, json: bool) -> str:
    """The file's text; ends the command when it cannot be read as text."""
    try:
        if file.stat().st_size > MAX_BYTES:
            fail(
                "input", f"{file} holds more than {MAX_BYTES:,} bytes", str(file), "a kernel is a short text", json=json
            )
        return file.read_text("utf-8")
    except OSError as error:
        fail("input", f"cannot read the file: {error.strerror}", str(file), json=json)
    except UnicodeDecodeError as error:
        fail("input", f"not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}", str(file), json=json)


def refuse(error: KernelError, text: str, *, json: bool) -> Never:
    """End with exit code 2: the text is no kernel, and here is where and why."""
    d = error.diagnostic
    if json:
        print_json(Failure(error=ErrorBody(code=str(d.code), message=d.message, where=str(d.span), hint=d.hint)))
    else:
        typer.echo(d.render(text.splitlines()), err=True)
    raise typer.Exit(code=2)
