"""A parked run's times come back: they are kept in its folder, where the round finds them."""

from __future__ import annotations

from pathlib import Path

from argus.dsl.diagnostics import ToolchainError
from argus.graph.errors import RunError
from argus.graph.folder import RunFolder, write_text
from argus.graph.timing.order import BUNDLE, TIMES, verified
from argus.tools.bundle import MANIFEST


def accept_times(folder: RunFolder, file: Path) -> None:
    """Keep a results file as the answer to the round that waits.

    Raises:
        RunError: If no round waits, the file is no results file, or it holds times of other kernels.
    """
    waiting = parked_round(folder)
    if waiting is None:
        raise RunError("no round of this run waits for times", "resume it without --times", where=str(folder.root))
    try:
        found = verified(file, waiting / BUNDLE)
    except ToolchainError as error:
        hint = f"run {waiting / BUNDLE}/run.py on the machine with the GPU, and give what it writes"
        raise RunError(str(error), hint, where=str(file)) from error
    if not any(r.kind == "peer" and r.time_us for r in found.results):
        raise RunError("the library was not timed, so that nothing compares", "run the bundle again", where=str(file))
    write_text(waiting / TIMES, file.read_text("utf-8"))


def parked_round(folder: RunFolder) -> Path | None:
    """The last round that has a bundle, while it has no times."""
    rounds = sorted((folder.root / "rounds").glob("*"), key=lambda p: int(p.name) if p.name.isdigit() else -1)
    last = next((p for p in reversed(rounds) if (p / BUNDLE / MANIFEST).is_file()), None)
    return last if last is not None and not (last / TIMES).exists() else None
