"""Who answers a round's order: a GPU of this machine, a file from another, or times that were stored."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from argus.agents.policy.arms import schedule_sha
from argus.dsl.diagnostics import ToolchainError
from argus.graph.timing.order import LIBRARY, Order, verified
from argus.graph.timing.table import TimedSchedule, TimeTable
from argus.tools.bundle import RUNNER, Result, Results

Timing = Literal["estimated", "local", "file", "stored"]
_DEVICE = Path("/dev/nvidiactl")


class Executor(Protocol):
    """Measures kernels; None where the answer has to come later."""

    @property
    def timing(self) -> Timing: ...

    async def measure(self, order: Order) -> Results | None:
        """Times of the order's kernels, or None while they are not known.

        Raises:
            ToolchainError: If nothing can be measured, or results are of other kernels.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """The bundle's runner in a process of its own, and a child of that for each kernel."""

    timing: Timing = "local"

    async def measure(self, order: Order) -> Results | None:
        if (kept := order.answered()) is not None:
            return kept
        order.write()
        command = [sys.executable, str(order.bundle / RUNNER), "--fork", "--out", str(order.times)]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said, _ = await process.communicate()
        if process.returncode == 3 or not order.times.exists():
            order.times.unlink(missing_ok=True)
            tail = said.decode(errors="replace").strip()[-600:]
            raise ToolchainError(f"nothing could be measured here: {tail}")
        return verified(order.times, order.bundle)


@dataclass(frozen=True, slots=True)
class FileExecutor:
    """Writes the bundle and waits for its times in the round's folder."""

    timing: Timing = "file"

    async def measure(self, order: Order) -> Results | None:
        if (kept := order.answered()) is not None:
            return kept
        order.write()
        return None


@dataclass(frozen=True, slots=True)
class StoredExecutor:
    """Answers from a table; what that does not hold is asked of another, or left unmeasured.

    Attributes:
        closed: Whether steps that lead outside the table are not eligible at all.
    """

    table: TimeTable
    rest: Executor | None = None
    closed: bool = True
    timing: Timing = "stored"

    @property
    def schedules(self) -> frozenset[str] | None:
        """Names of the only schedules that may be tried; None where all may."""
        if self.rest is not None or not self.closed:
            return None
        return frozenset(schedule_sha(e.schedule) for e in self.table.entries)

    async def measure(self, order: Order) -> Results | None:
        known = self.table.by_sha
        missing = {k.kernel_sha for k in order.kernels} - known.keys()
        found = [_stored(order, k.name, known[k.kernel_sha]) for k in order.kernels if k.kernel_sha in known]
        if missing and self.rest is not None:
            more = await self.rest.measure(order.only(missing))
            if more is None:
                return None
            found += [r for r in more.results if r.kind == "candidate"]
        elif missing:
            left = [k for k in order.kernels if k.kernel_sha in missing]
            found += [
                Result(id=k.name, kind="candidate", status="skipped", message="no stored time", kernel_sha=k.kernel_sha)
                for k in left
            ]
        source = self.table.sources[0]
        us = self.table.reference_us
        peer = Result(
            id=LIBRARY, kind="peer", status="ok", library=source.library, time_us=(us, us, us), ratio=(1.0, 1.0, 1.0)
        )
        return Results(
            schema_version=1,
            bundle_sha="",
            task=order.task,
            date=source.date,
            driver=source.driver,
            results=(peer, *found),
        )


def _stored(order: Order, name: str, entry: TimedSchedule) -> Result:
    us = entry.time_us or 0.0
    return Result(
        id=name,
        kind="candidate",
        status=entry.status,
        message=entry.message,
        sizes=dict(order.sizes),
        kernel_sha=entry.kernel_sha,
        cubin_sha=entry.cubin_sha,
        time_us=(us, us, us),
        ratio=entry.ratio,
        checks=tuple({"ok": True} for _ in range(entry.checks)),
    )


def executor_named(timing: Timing) -> Executor | None:
    """The executor of a run that is timed so; None for estimates, and for stored times, which need their table."""
    match timing:
        case "local":
            return LocalExecutor()
        case "file":
            return FileExecutor()
        case _:
            return None


def timing_for(target: str) -> Timing:
    """How a target's kernels are timed on this machine: sm_90a's by a GPU, here or elsewhere."""
    if target != "sm_90a":
        return "estimated"
    return "local" if gpu_here() else "file"


def gpu_here() -> bool:
    """Whether PyTorch in another process finds a CUDA device."""
    if not _DEVICE.exists() or importlib.util.find_spec("torch") is None:
        return False
    asked = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    try:
        return subprocess.run([sys.executable, "-c", asked], check=False, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
