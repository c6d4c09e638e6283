"""Times of the project's own parts. Each repetition is a renamed kernel, so that no cache of results can help."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from pydantic import BaseModel

from argus.dsl.check import check
from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named

SCHEMA_VERSION = 1

_X8, _X4 = "xor(8, unit=8, rows=1)", "xor(4, unit=8, rows=2)"
SCHEDULES: Mapping[str, GemmSchedule] = {
    "128x128x64, 2 stages": GemmSchedule(tile=(128, 128, 64), stages=2, vector=16, pack=2, swizzle=_X8),
    "128x128x32, 3 stages, 16x16": GemmSchedule(
        tile=(128, 128, 32), staging="dma", stages=3, wait="count", atom="16x16x16", swizzle=_X4
    ),
    "256x256x64, 1 stage": GemmSchedule(
        tile=(256, 256, 64), grid=(2, 4), vector=16, pack=2, prefetch=True, swizzle=_X8
    ),
}


class Timing(BaseModel, frozen=True):
    """Seconds of one thing done several times."""

    name: str
    repetitions: int
    median_s: float
    fastest_s: float
    slowest_s: float


class BenchReport(BaseModel, frozen=True):
    schema_version: int = SCHEMA_VERSION
    suite: str
    timings: tuple[Timing, ...]


def kernel_text(schedule: GemmSchedule, number: int) -> str:
    """The schedule's kernel under a name of its own."""
    problem = make_problem(task_named("gemm"))
    return families()["gemm"].text(schedule, problem).replace("def gemm(", f"def gemm_{number}(")


def timed(name: str, repetitions: int, work: Callable[[int], object]) -> Timing:
    """Wall seconds of `work(i)` for each i, after one repetition that does not count."""
    work(repetitions)
    seconds: list[float] = []
    for i in range(repetitions):
        start = time.perf_counter()
        work(i)
        seconds.append(time.perf_counter() - start)
    return Timing(
        name=name,
        repetitions=repetitions,
        median_s=median(seconds),
        fastest_s=min(seconds),
        slowest_s=max(seconds),
    )


def checker(repetitions: int = 20) -> BenchReport:
    """Kernel text to verdicts, one thread."""

    def proved(schedule: GemmSchedule, i: int) -> None:
        report = check(kernel_text(schedule, i))
        assert report.ok, report.render("")

    timings = [timed(f"check {name}", repetitions, lambda i, s=s: proved(s, i)) for name, s in SCHEDULES.items()]
    broken = kernel_text(GemmSchedule(), 0).replace("        barrier()\n", "", 1)
    refuted = timed(
        "check 64x64x32 without a barrier", repetitions, lambda i: check(broken.replace("gemm_0", f"gemm_{i}"))
    )
    return BenchReport(suite="checker", timings=(*timings, refuted))


def compiler(repetitions: int = 5) -> BenchReport:
    """Kernel text to object in one warm worker, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache, CompilerPool(Path(cache), workers=1) as pool:
        timings = [
            timed(
                f"compile {name}",
                repetitions,
                lambda i, s=s: pool.compile_now(CompileRequest(text=kernel_text(s, i))),
            )
            for name, s in SCHEDULES.items()
        ]
    return BenchReport(suite="compile", timings=tuple(timings))


def optimize(repetitions: int = 3) -> BenchReport:
    """A short optimisation end to end (2 rounds, 8 candidates), without tracking, with an empty cache."""
    from argus.graph.run import optimize as run_graph  # noqa: PLC0415 - the other suites need no graph
    from argus.tools.toolbox import Toolbox  # noqa: PLC0415

    def whole(i: int) -> None:
        with tempfile.TemporaryDirectory() as folder, Toolbox(Path(folder) / "cache") as tools:
            found = run_graph(
                "gemm", rounds=2, candidates=8, seed=i, out=Path(folder) / "run", toolbox=tools, track=False
            )
            assert found.best is not None, found.stop_reason

    return BenchReport(suite="optimize", timings=(timed("optimize gemm, 8 candidates", repetitions, whole),))


SUITES: Mapping[str, Callable[[], BenchReport]] = {"checker": checker, "compile": compiler, "optimize": optimize}
