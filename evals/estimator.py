"""How well the sm_90a estimate agrees with measured times: rank correlation, and how far single times are off."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from argus.dsl.codegen.hopper_estimate import MODEL_VERSION
from argus.dsl.kernels import families
from argus.evals.measured import problem_of, stored_report
from argus.graph.timing import TimedSchedule, TimeTable

SCHEMA_VERSION = 1
QUANTILES = (0, 10, 25, 50, 75, 90, 100)
AIM = 0.8
FEWEST = 40


class Point(BaseModel, frozen=True):
    """One schedule; `fitted` says that constants of the estimate were fitted with it."""

    name: str
    measured_us: float
    estimated_us: float
    fitted: bool

    @property
    def ratio(self) -> float:
        return self.estimated_us / self.measured_us


class Agreement(BaseModel, frozen=True):
    """Of some schedules: Spearman's correlation, and percentiles of estimated over measured time."""

    schedules: int
    spearman: float | None
    quantiles: dict[str, float]

    @classmethod
    def of(cls, points: Sequence[Point]) -> Agreement:
        if len(points) < 3:
            return cls(schedules=len(points), spearman=None, quantiles={})
        found = np.percentile([p.ratio for p in points], QUANTILES)
        rho = spearman([p.estimated_us for p in points], [p.measured_us for p in points])
        return cls(
            schedules=len(points),
            spearman=round(rho, 4),
            quantiles={str(q): round(float(x), 3) for q, x in zip(QUANTILES, found, strict=True)},
        )

    def render(self, name: str) -> str:
        if self.spearman is None:
            return f"{name}: {self.schedules} schedules, too few to correlate"
        spread = ", ".join(f"{q} %: {x:.2f}" for q, x in self.quantiles.items())
        return f"{name}: {self.schedules} schedules, Spearman {self.spearman:.3f}; estimated over measured {spread}"


class EstimatorReport(BaseModel, frozen=True):
    """`argus eval estimator --json`."""

    schema_version: int = SCHEMA_VERSION
    model_version: str
    task: str
    dtype: str
    shape: dict[str, int]
    gpu: str
    dates: tuple[str, ...]
    held_out: Agreement
    fitted: Agreement
    without: int
    points: tuple[Point, ...]

    @property
    def ok(self) -> bool:
        """Whether the schedules that were held out are enough and rank well."""
        h = self.held_out
        return h.schedules >= FEWEST and h.spearman is not None and h.spearman >= AIM

    def render(self) -> str:
        """Two lines of figures under one that says of what."""
        sizes = "x".join(map(str, self.shape.values()))
        head = f"{self.task} {self.dtype} {sizes}, {self.gpu}, {', '.join(self.dates)}: estimate {self.model_version}"
        lines = [head, self.held_out.render("held out"), self.fitted.render("used for fitting")]
        if self.without:
            lines.append(f"left out: {self.without} without a time or an estimate, or printed otherwise today")
        return "\n".join(lines)


def evaluate_estimator(tables: Sequence[TimeTable]) -> EstimatorReport:
    """Estimate every measured schedule of one problem anew and compare.

    A schedule that several tables hold counts where it comes first; one that was used for fitting anywhere is never
    counted as held out.
    """
    fitted = {e.kernel_sha for table in tables for e in table.entries if e.fitted}
    points: dict[str, Point] = {}
    without: set[str] = set()
    for table in tables:
        for entry in table.entries:
            found = _point(table, entry, fitted=entry.kernel_sha in fitted)
            if found is None:
                without.add(entry.kernel_sha)
            else:
                points.setdefault(entry.kernel_sha, found)
    first = tables[0]
    return EstimatorReport(
        model_version=MODEL_VERSION,
        task=first.task,
        dtype=first.dtype,
        shape=first.shape,
        gpu=first.sources[0].gpu,
        dates=tuple(dict.fromkeys(s.date[:10] for table in tables for s in table.sources)),
        held_out=Agreement.of([p for p in points.values() if not p.fitted]),
        fitted=Agreement.of([p for p in points.values() if p.fitted]),
        without=len(without),
        points=tuple(points.values()),
    )


def _point(table: TimeTable, entry: TimedSchedule, *, fitted: bool) -> Point | None:
    """None for a kernel without a time, without an estimate, or whose text has changed since: that is another one."""
    problem, family = problem_of(table), families()["hopper_gemm"]
    time_us = table.time_us(entry)
    schedule = family.parse_schedule(dict(entry.schedule))
    text = family.text(schedule, problem)
    if time_us is None or hashlib.sha256(text.encode()).hexdigest() != entry.kernel_sha:
        return None
    estimate = stored_report(text, entry, problem).estimate
    if estimate is None:
        return None
    name = str(getattr(schedule, "name", ""))
    return Point(name=name, measured_us=time_us, estimated_us=estimate.time_us, fitted=fitted)


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Correlation of ranks; equal values share their mean rank."""
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: Sequence[float]) -> list[float]:
    x = np.asarray(values)
    return [float((x < v).sum() + ((x == v).sum() - 1) / 2) for v in x]
