"""Live progress of a run on standard error: a growing table in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from argus.graph.events import (
    BestChanged,
    Event,
    Learned,
    Parked,
    Planned,
    Refused,
    RunFinished,
    RunStarted,
    Validated,
    Warned,
)


def _head(timing: str) -> str:
    us = "est us" if timing == "estimated" else "us"
    return (
        f"{'#':>4}  {'from':>4}  {'technique':<30} {'change':<34} {'proved':>7}  {'tests':>5}  {us:>8}  {'floor':>6}"
        "  limited by"
    )


class Progress:
    """Call it with every event."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._console = Console(file=stream or sys.stderr, highlight=False, soft_wrap=True)
        self._best: int | None = None
        self._shown = 0

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                again = "resumed" if event.resumed else "started"
                sizes = "x".join(str(v) for v in event.shape.values())
                self._line(
                    f"{again} {event.run_id}: {event.task} {event.dtype} {sizes} -> {event.target}, seed {event.seed}"
                )
                self._line(_head(event.timing), "bold")
            case Planned() if event.refusal:
                self._line(f"      no plan: {event.refusal}", "yellow")
            case Refused() if event.fix_class:
                self._line(f"{event.id:>4}  refused: {event.fix_class}; repairing", "yellow")
            case Validated():
                self._line(row(event), None if event.status == "valid" else "dim")
            case BestChanged():
                self._best = event.id
            case Learned():
                self._line(f"      round {event.round} learned from: {event.arms} arms, {event.lessons} lessons", "dim")
            case Parked():
                self._line(
                    f"      parked: {event.kernels} kernels wait for a GPU. On its machine, in a copy of", "bold"
                )
                self._line(f"        {event.bundle}")
                run = Path(event.bundle).parents[2]
                self._line(f"      run `{event.command}`, then here: argus optimize --resume {run} --times times.json")
            case Warned():
                self._line(f"      warning: {event.message}", "yellow")
            case RunFinished():
                self._line(f"stopped: {event.stop_reason} ({event.seconds:.0f} s)")
            case _:
                pass

    def _line(self, text: str, style: str | None = None) -> None:
        self._console.print(Text(text, style=style or ""))


def row(event: Validated) -> str:
    """One candidate as a line of the table."""
    parent = "-" if event.parent is None else str(event.parent)
    technique = "+".join(event.techniques) or "start"
    total = event.obligations.proved + event.obligations.refuted + event.obligations.unknown
    proved = f"{event.obligations.proved}/{total}" if total else "-"
    tried = event.tests.passed + event.tests.failed
    tests = f"{event.tests.passed}/{tried}" if tried else "-"
    time = f"{event.time_us:,.1f}" if event.time_us is not None else "-"
    floor = (
        f"{100 * event.lower_bound_us / event.time_us:.0f} %"
        if event.time_us is not None and event.lower_bound_us is not None
        else "-"
    )
    peer = f", {100 * event.peer_ratio:.1f} % of the library" if event.peer_ratio is not None else ""
    why = f"{event.bound}{peer}" if event.status == "valid" else f"{event.status}: {event.note}".rstrip(": ")
    repaired = f" (repaired {event.repairs}x)" if event.repairs else ""
    return (
        f"{event.id:>4}  {parent:>4}  {technique:<30.30} {event.change:<34.34} {proved:>7}  {tests:>5}  {time:>8}  "
        f"{floor:>6}  {why.splitlines()[0] if why else ''}{repaired}"
    )
