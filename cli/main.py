"""The command `argus`. Each command lives in a file of its own and loads what it needs when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# name -> (module under argus.cli, one line of help). Listed here so that `argus --help` imports no command.
COMMANDS: dict[str, tuple[str, str]] = {
    "optimize": ("optimize", "Optimise a task's kernel, or resume a run."),
    "check": ("check", "Prove a kernel's obligations, or show a counterexample."),
    "compile": ("compile", "Compile a kernel: IR, TIR, LLVM, assembly, object or report."),
    "kernels": ("kernels", "The kernel library: list families, show a kernel's text."),
    "docs": ("docs", "Print the language reference."),
    "kb": ("kb", "The knowledge base: list, show, search, lint."),
    "runs": ("runs", "Past runs: list, show, report, replay."),
    "bench": ("bench", "Times of the checker, the compiler and whole runs."),
    "eval": ("eval", "Evaluation suites."),
    "doctor": ("doctor", "What this machine can do."),
    "mcp": ("mcp", "Serve the tools over MCP."),
    "demo": ("demo", "What `make demo` shows."),
}


# Typer may carry a click of its own: this is the class that its usage errors derive from.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]
_JSON_FORMATS = ("json", "sarif", "junit")


class LazyGroup(TyperGroup):
    """Loads a command's module only when that command runs; ends bad usage and interrupts as every failure ends."""

    # Contexts and commands are typer's or click's, by typer's version: neither has a public name that fits both.

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:  # noqa: ANN401
        words = list(sys.argv[1:] if args is None else args)
        if not wants_json(words):
            return super().main(words, *rest, **extra)
        try:
            code = super().main(words, *rest, **{**extra, "standalone_mode": False})
        except _USAGE_ERROR as error:
            code = _bad_usage(error)
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from argus.cli.output import fail  # noqa: PLC0415 - `argus --help` loads no pydantic

            fail("interrupted", "interrupted", json=wants_json(sys.argv[1:]))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401
        if cmd_name not in COMMANDS:
            return None
        module, summary = COMMANDS[cmd_name]
        if "--help" in sys.argv[1:2]:
            return TyperCommand(cmd_name, short_help=summary, help=summary)
        return typer.main.get_command(import_module(f"argus.cli.{module}").app)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:  # noqa: ANN401
        name, command, rest = super().resolve_command(ctx, args)
        return (args[0] if command is not None and args else name), command, rest


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    help="Agents that write fast GPU kernels under data-flow invariants.",
)


@app.callback()
def root() -> None:
    """Agents that write fast GPU kernels under data-flow invariants."""


def wants_json(words: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, told without parsing it: what cannot be parsed is what this is for."""
    if "--json" in words or any(f"--format={f}" in words for f in _JSON_FORMATS):
        return True
    asked = dict(pairwise(words))
    if asked.get("--format") in _JSON_FORMATS:
        return True
    if words[:1] != ["compile"] or "--help" in words:
        return False
    # What `argus compile` prints unless told otherwise is a report.
    return not any(w.startswith("--emit") for w in words) or asked.get("--emit") == "report" or "--emit=report" in words


def _bad_usage(error: Any) -> int:  # noqa: ANN401 - see above
    """Print what is wrong with the command line as JSON; answer the exit code."""
    from argus.cli.output import EXIT_CODES, ErrorBody, Failure, print_json  # noqa: PLC0415 - see `invoke`

    parameter, context = getattr(error, "param", None), getattr(error, "ctx", None)
    where = getattr(error, "option_name", None) or (parameter.opts[0] if parameter is not None else "")
    hint = f"{context.command_path} --help" if context is not None else ""
    print_json(Failure(error=ErrorBody(code="usage", message=error.format_message(), where=where, hint=hint)))
    return EXIT_CODES["usage"]


def main() -> None:
    """The command `argus`."""
    app()
