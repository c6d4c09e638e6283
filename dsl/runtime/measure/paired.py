"""Two ways to do the same work, replayed alternately as CUDA graphs on rotating buffers.

The clock of a GPU falls under load and drifts: only times taken next to each other compare. So each round replays
A B B A, or B A A B in turn, which cancels a steady drift; what is reported is the median of the rounds' ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .clocks import Clocks

Work = Callable[[], object]
TARGET_MS = 12.0
WARM_MS = 150.0
MAX_CALLS = 400


@dataclass
class Rounds:
    """Seconds a call of A and of B, round by round, and the clocks while they ran."""

    a: list[float] = field(default_factory=list[float])
    b: list[float] = field(default_factory=list[float])
    clocks: list[dict[str, float | None]] = field(default_factory=list[dict[str, float | None]])

    @property
    def ratios(self) -> list[float]:
        """B's time over A's: above 1 where A is faster."""
        return [b / a for a, b in zip(self.a, self.b, strict=True)]


class Graph:
    """Calls captured into one CUDA graph; `calls` of them, the work items in turn."""

    def __init__(self, torch: Any, work: Sequence[Work], target_ms: float = TARGET_MS) -> None:  # noqa: ANN401 - torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # libraries make their workspaces on the stream that is captured
            for item in work:
                item()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for item in work:
                item()
            end.record()
        torch.cuda.synchronize()
        each_ms = max(start.elapsed_time(end) / len(work), 1e-3)
        rounds = max(1, min(MAX_CALLS, round(target_ms / each_ms)) // len(work))
        self.calls = rounds * len(work)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=stream):
            for i in range(self.calls):
                work[i % len(work)]()
        torch.cuda.synchronize()

    def replay(self) -> None:
        self._graph.replay()


def alternate(
    torch: Any,  # noqa: ANN401
    a: Graph,
    b: Graph,
    rounds: int,
    clocks: Clocks,
    *,
    warm_ms: float = WARM_MS,
) -> Rounds:
    """Warm up, then measure `rounds` times."""
    for _ in range(max(1, round(warm_ms / (2 * TARGET_MS)))):
        a.replay()
        b.replay()
    torch.cuda.synchronize()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(5)]
    out = Rounds()
    for i in range(rounds):
        first, second = (a, b) if i % 2 == 0 else (b, a)
        events[0].record()
        for graph, done in zip((first, second, second, first), events[1:], strict=True):
            graph.replay()
            done.record()
        out.clocks.append(clocks.sample())  # the GPU is busy: replays only queue
        torch.cuda.synchronize()
        ms = [start.elapsed_time(end) for start, end in pairwise(events)]
        outer, inner = (ms[0] + ms[3]) / 2, (ms[1] + ms[2]) / 2
        of_a, of_b = (outer, inner) if i % 2 == 0 else (inner, outer)
        out.a.append(of_a / a.calls * 1e-3)
        out.b.append(of_b / b.calls * 1e-3)
    return out
