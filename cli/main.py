"""The command `argus`. Each command lives in a file of its own and loads what it needs when it runs."""

from __future__ import annotations

import sys
from importlib import import_module

import click
import typer
from typer.core import TyperGroup

# name -> (module under argus.cli, one line of help). Listed here so that `argus --help` imports no command.
COMMANDS: dict[str, tuple[str, str]] = {
    "optimize": ("optimize", "Optimise a task's kernel, or resume a run."),
    "check": ("check", "Prove a kernel's obligations, or show a counterexample."),
    "compile": ("compile", "Compile a kernel: IR, TIR, LLVM, assembly, object or report."),
    "kb": ("kb", "The knowledge base: list, show, search, lint."),
    "runs": ("runs", "Past runs: list, show, report, replay."),
    "bench": ("bench", "Times of the checker, the compiler and whole runs."),
    "eval": ("eval", "Evaluation suites."),
    "doctor": ("doctor", "What this machine can do."),
    "mcp": ("mcp", "Serve the tools over MCP."),
    "demo": ("demo", "What `make demo` shows."),
}


class LazyGroup(TyperGroup):
    """Loads a command's module only when that command runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, summary = COMMANDS[cmd_name]
        if "--help" in sys.argv[1:2]:
            return click.Command(cmd_name, short_help=summary, help=summary)
        return typer.main.get_command(import_module(f"argus.cli.{module}").app)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
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


def main() -> None:
    app()
