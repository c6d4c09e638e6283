"""Measured time as reward: who measures a round's kernels, here, elsewhere or from what was measured before."""

from __future__ import annotations

from argus.graph.timing.executor import Executor, FileExecutor, LocalExecutor, StoredExecutor, executor_named
from argus.graph.timing.order import Order, Wanted
from argus.graph.timing.table import TimedSchedule, TimeTable

__all__ = [
    "Executor",
    "FileExecutor",
    "LocalExecutor",
    "Order",
    "StoredExecutor",
    "TimeTable",
    "TimedSchedule",
    "Wanted",
    "executor_named",
]
