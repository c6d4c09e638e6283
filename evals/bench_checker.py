"""How fast the checker is, how that grows, and how much memory it takes; what falls short comes with a profile.

Each repetition checks a renamed kernel, text to verdicts, in one thread of a process of its own. Times are of the
processor, so that what else a machine does counts little.
"""

from __future__ import annotations

import cProfile
import math
import multiprocessing
import pstats
import re
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import NamedTuple

from pydantic import BaseModel

from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport
from argus.dsl.kernels import GemmSchedule, HopperGemmSchedule
from argus.dsl.kernels.catalogue import subjects
from argus.dsl.kernels.gemm_examples import hopper_text
from argus.dsl.kernels.gemm_examples import text as gemm_text

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
LIMITS_MS: dict[str, float] = {
    "128x128x64, 2 stages": 100, "128x128x32, 3 stages, 16x16": 250, "256x256x64, 1 stage": 250,
    "flash attention, causal, 128": 500, "mixture of experts, up": 500, "Hopper GEMM, 128x256x64": 400,
}  # fmt: skip
REFUTED_MS = 60.0
PEAK_MIB = 600.0
EXPONENT = 1.15
# Twice the elements in shared memory, stages included, each time.
GROWING: tuple[GemmSchedule, ...] = (
    GemmSchedule(tile=(64, 64, 16)),
    GemmSchedule(tile=(64, 64, 32)),
    GemmSchedule(tile=(64, 64, 32), stages=2),
    GemmSchedule(tile=(128, 128, 32), stages=2),
    GemmSchedule(tile=(128, 128, 64), stages=2),
)
# One slip each in the family's single-stage kernel and in its ring.
SLIPS: tuple[tuple[str, str, str], ...] = (
    ("single", "        barrier()\n", ""),
    ("single", "range(cdiv(K, 32))", "range(K // 32)"),
    ("single", "B.tile(64, 32)[bn, kt]", "B.tile(64, 32)[bm, kt]"),
    ("single", "unroll(4)", "unroll(3)"),
    ("single", "cdiv(M, 64), cdiv(N, 64)", "M // 64, cdiv(N, 64)"),
    ("single", "[bm, bn], acc", "[bn, bm], acc"),
    ("two-stages", "As[kt % 2].operand", "As[(kt + 1) % 2].operand"),
    ("two-stages", "store(Bs[(kt + 1) % 2]", "store(Bs[kt % 2]"),
    ("drained", "        wait(0)\n", ""),
    ("drained", "        commit()\n", ""),
)


class Figure(BaseModel, frozen=True):
    """One measured figure beside its limit.

    Attributes:
        profile: Of a figure that falls short: where the time goes, the dearest first.
    """

    name: str
    value: float
    limit: float
    unit: str
    repetitions: int = 1
    profile: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the figure is within its limit."""
        return self.value <= self.limit

    def render(self) -> str:
        """One line, and the profile where it falls short."""
        words = f"{self.name:42} {self.value:9.2f} {self.unit:3} of {self.limit:g}"
        return "\n".join([words + ("" if self.holds else "   falls short"), *(f"    {line}" for line in self.profile)])


class _Case(NamedTuple):
    text: str
    name: str

    def renamed(self, number: int) -> str:
        return re.sub(r"^def (\w+)\(", rf"def \1_{number}(", self.text, count=1, flags=re.MULTILINE)


def figures(repetitions: int = 15) -> tuple[Figure, ...]:
    """All figures, measured in a fresh process: what this one has loaded would count as memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measure, repetitions).result()


def _measure(repetitions: int) -> tuple[Figure, ...]:
    found = [_timed(case, LIMITS_MS[case.name], repetitions) for case in _cases()]
    found += [_refuted(max(1, repetitions // 5)), _growth(repetitions)]
    return (*found, Figure(name="peak memory of all these", value=_peak_mib(), limit=PEAK_MIB, unit="MiB"))


def _peak_mib() -> float:
    """Of this process. Linux counts what the parent held when it forked into `ru_maxrss`, but not into `VmHWM`."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _cases() -> list[_Case]:
    library = {s.name: s.text for s in subjects()}
    return [
        *(_Case(gemm_text(schedule), name) for name, schedule in SCHEDULES.items()),
        _Case(library["attention/causal-128"], "flash attention, causal, 128"),
        _Case(library["moe_up/ring"], "mixture of experts, up"),
        _Case(hopper_text(HopperGemmSchedule(tile=(128, 256, 64))), "Hopper GEMM, 128x256x64"),
    ]


def _seconds(case: _Case, repetitions: int) -> list[float]:
    """After one repetition that does not count."""
    _proved(check(case.renamed(repetitions)), case.name)
    seconds: list[float] = []
    for i in range(repetitions):
        text = case.renamed(i)
        start = time.process_time()
        report = check(text)
        seconds.append(time.process_time() - start)
        _proved(report, case.name)
    return seconds


def _proved(report: CheckReport, name: str) -> None:
    assert report.ok, f"{name} is not proved:\n{report.render('')}"


def _timed(case: _Case, limit_ms: float, repetitions: int) -> Figure:
    value = 1e3 * median(_seconds(case, repetitions))
    profile = () if value <= limit_ms else _profile(case.renamed(repetitions + 1))
    return Figure(
        name=f"check {case.name}", value=value, limit=limit_ms, unit="ms", repetitions=repetitions, profile=profile
    )


def _refuted(repetitions: int) -> Figure:
    """Text to verdicts and witnesses; edits that would mend the kernel are looked for after those."""
    texts = {name.removeprefix("gemm/"): s.text for s in subjects() if (name := s.name).startswith("gemm/")}
    slips = [_Case(_slipped(texts[origin], old, new), old) for origin, old, new in SLIPS]
    seconds: dict[_Case, list[float]] = {slip: [] for slip in slips}
    for i in range(repetitions + 1):
        for slip in slips:
            text = slip.renamed(i)
            start = time.process_time()
            report = check(text, fixes=False)
            if i:  # the first does not count
                seconds[slip].append(time.process_time() - start)
            assert report.count("refuted"), f"{slip.name!r} is not refuted:\n{report.render(text)}"
    medians = {slip: median(s) for slip, s in seconds.items()}
    value = 1e3 * median(medians.values())
    slowest = max(medians, key=lambda slip: medians[slip])
    return Figure(
        name=f"check {len(slips)} wrong GEMMs, the median", value=value, limit=REFUTED_MS, unit="ms",
        repetitions=repetitions * len(slips),
        profile=() if value <= REFUTED_MS else _profile(slowest.renamed(repetitions + 1), fixes=False),
    )  # fmt: skip


def _slipped(text: str, old: str, new: str) -> str:
    assert old in text, f"no {old!r} in\n{text}"
    return text.replace(old, new, 1)


def _growth(repetitions: int) -> Figure:
    """The slope of log time against log size by least squares."""
    points: list[tuple[float, float]] = []
    for schedule in GROWING:
        bm, bn, bk = schedule.tile
        size = (bm + bn) * bk * schedule.stages
        seconds = median(_seconds(_Case(gemm_text(schedule), str(size)), max(5, repetitions // 2)))
        points.append((math.log(size), math.log(seconds)))
    return Figure(name="exponent of time in elements x stages", value=slope(points), limit=EXPONENT, unit="")


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Of the straight line nearest to the points by least squares."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def _profile(text: str, entries: int = 10, *, fixes: bool = True) -> tuple[str, ...]:
    """Functions by the time spent in them alone, of one check."""
    profiler = cProfile.Profile()
    profiler.enable()
    check(text, fixes=fixes)
    profiler.disable()
    stats = pstats.Stats(profiler).get_stats_profile()
    total = stats.total_tt
    rows = sorted(stats.func_profiles.items(), key=lambda item: -item[1].tottime)[:entries]
    return tuple(
        f"{100 * f.tottime / total:4.1f} % in {name} ({_short(f.file_name)}:{f.line_number}), {f.ncalls} calls"
        for name, f in rows
    )


def _short(path: str) -> str:
    """A source file without where it is installed."""
    for root in ("site-packages/", "src/argus/"):
        if root in path:
            return path.partition(root)[2]
    return path.rpartition("/")[2]
