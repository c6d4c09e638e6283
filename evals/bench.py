"""Times of the project's own parts. Each repetition is a renamed kernel, so that no cache of results can help."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from pydantic import BaseModel

from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named
from argus.evals.bench_checker import SCHEDULES, Figure, figures

SCHEMA_VERSION = 1


class Timing(BaseModel, frozen=True):
    """Seconds of one thing done several times."""

    name: str
    repetitions: int
    median_s: float
    fastest_s: float
    slowest_s: float


class BenchReport(BaseModel, frozen=True):
    """`argus bench --json`; `figures` have limits, `timings` have none."""

    schema_version: int = SCHEMA_VERSION
    suite: str
    timings: tuple[Timing, ...] = ()
    figures: tuple[Figure, ...] = ()


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


def checker() -> BenchReport:
    """Kernel text to verdicts, one thread, beside what is promised."""
    return BenchReport(suite="checker", figures=figures())


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


SUITES: dict[str, Callable[[], BenchReport]] = {"checker": checker, "compile": compiler, "optimize": optimize}
