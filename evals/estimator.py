"""How well the sm_90a estimate agrees with measured times: rank correlation, and how far single times are off."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel

from argus.dsl.kernels import families
from argus.evals.measured import problem_of, stored_report
from argus.graph.timing import TimeTable

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
    without_estimate: int
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
        if self.without_estimate:
            lines.append(f"{self.without_estimate} measured schedules have no estimate")
        return "\n".join(lines)


def evaluate_estimator(table: TimeTable) -> EstimatorReport:
    """Estimate every measured schedule anew and compare."""
    problem, family = problem_of(table), families()["hopper_gemm"]
    points: list[Point] = []
    version, without = "none", 0
    for entry in table.entries:
        time_us = table.time_us(entry)
        if time_us is None:
            continue
        schedule = family.parse_schedule(dict(entry.schedule))
        text = family.text(schedule, problem)
        # A kernel whose text has changed since is another kernel.
        if hashlib.sha256(text.encode()).hexdigest() != entry.kernel_sha:
            continue
        estimate = stored_report(text, entry, problem).estimate
        if estimate is None:
            without += 1
            continue
        version = estimate.model_version
        name = str(getattr(schedule, "name", ""))
        points.append(Point(name=name, measured_us=time_us, estimated_us=estimate.time_us, fitted=entry.fitted))
    return EstimatorReport(
        model_version=version,
        task=table.task,
        dtype=table.dtype,
        shape=table.shape,
        gpu=table.sources[0].gpu,
        dates=tuple(dict.fromkeys(s.date[:10] for s in table.sources)),
        held_out=Agreement.of([p for p in points if not p.fitted]),
        fitted=Agreement.of([p for p in points if p.fitted]),
        without_estimate=without,
        points=tuple(points),
    )


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Correlation of ranks; equal values share their mean rank."""
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: Sequence[float]) -> list[float]:
    x = np.asarray(values)
    return [float((x < v).sum() + ((x == v).sum() - 1) / 2) for v in x]
