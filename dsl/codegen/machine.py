"""An event model of one compute unit of gfx942: waves that execute their steps in order and share its units.

A wave issues at most one instruction in 4 clk. Units that waves share serve in the order of issue; where two waves
could take one at the same time, the higher priority goes first, then the one that has not issued for longest.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

from argus.dsl.codegen.steps import Barrier, Step, Units, Wave
from argus.dsl.targets import gfx942


@dataclass(frozen=True, slots=True)
class Residency:
    """Which waves share the CU: `blocks` blocks of `waves` waves each."""

    blocks: int
    waves: int

    @property
    def total(self) -> int:
        return self.blocks * self.waves


def run_once(program: tuple[Step, ...], residency: Residency) -> tuple[float, float]:
    """All resident waves execute the program once.

    Returns:
        When the last wave is done with its memory operations acknowledged, and when the fabric has drained; clk.
    """
    units, ends = _run(program, residency, [0.0] * residency.blocks, trips=None)
    return max(ends), max(*ends, units.fabric)


def run_steady(program: tuple[Step, ...], residency: Residency, *, warm: int, measured: int, phases: int = 1) -> float:
    """The resident waves repeat the program without end, as a stream of blocks in their main loops does.

    Blocks that share a CU fall into step or out of it by chance, and stay so; the result is the mean over `phases`
    evenly spread delays from one block to the next. Trips of all waves are counted, so that a wave which runs ahead
    of another does not change it.

    Returns:
        Clk in which the waves complete one trip each, averaged over `measured` trips after `warm` ones.
    """
    found: list[float] = []
    for phase in range(phases):
        period = found[0] if found else 0.0
        starts = [block * phase / phases % 1.0 * period for block in range(residency.blocks)]
        _, ends = _run(program, residency, starts, trips=warm + measured)
        ends.sort()
        last, first = ends[residency.total * (warm + measured) - 1], ends[residency.total * warm - 1]
        found.append((last - first) / measured)
    return sum(found) / phases


def _draw(block: int, trip: int) -> float:
    """A point in 0..1 for each block and trip, evenly spread over both (Roberts' two-dimensional sequence)."""
    return (0.5 + 0.7548776662466927 * trip + 0.5698402909980532 * block) % 1.0


def _run(
    program: tuple[Step, ...], residency: Residency, starts: list[float], *, trips: int | None
) -> tuple[Units, list[float]]:
    """Times at which waves reached the program's end; with `trips`, until each wave did so that often on average."""
    units = Units()
    waves = _waves(residency)
    arrived: list[list[tuple[float, int]]] = [[] for _ in range(residency.blocks)]
    # (when, priority, last issue, wave): the least is served first.
    ready = sorted((starts[wave.block], 0, 0.0, i) for i, wave in enumerate(waves))
    ends: list[float] = []
    while ready:
        t, _, _, i = heappop(ready)
        wave = waves[i]
        while True:
            step = program[wave.at]
            t = step.start(units, wave, t)
            if step.scope > wave.scope and ready:
                turn = (t, -wave.priority, wave.last, i)
                if turn > ready[0]:
                    heappush(ready, turn)
                    break
            wave.last = t
            t = step.issue(units, wave, t)
            wave.at += 1
            ended = wave.at == len(program)
            if ended:
                ends.append(t if trips else max(t, wave.vm[-1] if wave.vm else 0.0))
                if trips is None:
                    break
                if len(ends) == residency.total * trips:
                    return units, ends
                wave.at = 0
                wave.trips += 1
                wave.draw = _draw(wave.block, wave.trips)
            if isinstance(step, Barrier):
                waiting = arrived[wave.block]
                waiting.append((t, i))
                if len(waiting) == residency.waves:
                    t = max(waiting)[0] + gfx942.BARRIER_CLK
                    for _, other in waiting:
                        heappush(ready, (t, -waves[other].priority, waves[other].last, other))
                    waiting.clear()
                break
            if ended:  # let the others catch up, whose trips count as well
                heappush(ready, (t, -wave.priority, wave.last, i))
                break
    return units, ends


def _waves(residency: Residency) -> list[Wave]:
    """Waves go to the SIMDs in turn."""
    per_port = gfx942.SIMDS // gfx942.LDS_PORTS
    alone = residency.total <= gfx942.SIMDS
    return [
        Wave(simd, simd // per_port, i // residency.waves, scope=1 if alone else 0)
        for i in range(residency.total)
        for simd in (i % gfx942.SIMDS,)
    ]
