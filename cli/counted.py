"""Progress of many equal steps."""

from __future__ import annotations

import sys

import typer


class Counted:
    """`done/total` on standard error: one line that changes on a terminal, else a line every tenth."""

    def __init__(self, word: str) -> None:
        self._word = word
        self._live = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        if self._live:
            typer.echo(f"\r{done}/{total} {self._word}" + ("\n" if done == total else ""), err=True, nl=False)
        elif done == total or done % max(1, total // 10) == 0:
            typer.echo(f"{done}/{total} {self._word}", err=True)
