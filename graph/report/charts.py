"""Pictures as inline SVG: colours come from the page's style, so they follow light, dark and print."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from argus.agents.attempt import Attempt
from argus.graph.report.figures import told_us
from argus.graph.report.markup import Html, h
from argus.graph.report.read import Judged, RunData

_WIDTH, _HEIGHT = 960, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 178, 28, 46
_TICKS = 9  # at most so many on the axis of times
_STEPS = ((1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))
_LABEL = 15.0  # the least distance between two labels


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a candidate's number and a time lie in the picture; times on a logarithmic axis."""

    last: int
    low: float
    high: float

    def x(self, number: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * number / max(1, self.last)

    def y(self, time: float) -> float:
        share = (math.log(time) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(1.0, max(0.0, share))

    @property
    def ticks(self) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        inside: list[float] = []
        for steps in _STEPS:
            inside = [t for d in decades for s in steps if self.low <= (t := s * 10.0**d) <= self.high]
            if len(inside) <= _TICKS:
                break
        return inside


def progress_chart(run: RunData) -> Html | None:
    """Time against candidates: each valid one, the best so far, the floor, random choice; None without a time."""
    found = [j.attempt for j in run.attempts.values()]
    timed = [a for a in found if a.valid and a.time_us is not None]
    if not timed:
        return None
    last = max(a.id for a in found)
    random = [(n, t) for n, t in enumerate(run.random.median_us[:last], 1) if math.isfinite(t)] if run.random else []
    floor = [(n, run.floor_us) for n in (0, last)] if run.floor_us else []
    best = list(accumulate(timed, _faster))
    shown = [_time(a) for a in timed] + [t for _, t in (*random, *floor)]
    frame = _Frame(last, min(shown) * 0.93, max(shown) * 1.07)
    won = told_us(_time(best[-1]), best[-1].time_kind)
    lines = [(_time(best[-1]), f"best {won}", "best")]
    parts = [_axes(frame)]
    for name, points in (("floor", floor), ("random", random)):
        if points:
            parts.append(_path([(frame.x(n), frame.y(t)) for n, t in points], name))
            lines.append((points[-1][1], f"{name} {told_us(points[-1][1])}", name))
    parts.append(_path(_staircase(frame, [a.id for a in timed], [_time(a) for a in best]), "best"))
    parts += [_dot(frame, a, run) for a in timed]
    parts += [_cross(frame, a.id, f"{a.id}: {a.status.replace('_', ' ')}") for a in found if not a.valid]
    parts.append(_labels(frame, lines))
    return _svg(_WIDTH, _HEIGHT, f"Best time so far, against candidates: {won} in the end", *parts)


def stack(segments: Sequence[tuple[str, float]], most: float, title: str) -> Html:
    """One bar of segments end to end, `most` being the full width; each is coloured by its name. `title` tells them."""
    parts: list[Html] = []
    at = 0.0
    for name, value in segments:
        width = 100 * value / most if most > 0 else 0.0
        box = h(
            "rect",
            x=f"{at:.3f}%",
            y=0,
            width=f"{width:.3f}%",
            height=18,
            class_=f"r-{name}",
        )
        parts.append(box)
        at += width
    return h("svg", h("title", title), *parts, class_="bar", role="img", width="100%", height=18)


def shares(judged: Judged) -> list[tuple[str, float]]:
    """A time as parts that add up to it: its busiest resource, then waiting, then the launch."""
    report = judged.attempt.report
    if report is None or report.estimate is None:
        return []
    e = report.estimate
    alone: Mapping[str, float] = {n: t for n, t in e.resources_us.items() if n not in ("latency", "launch")}
    busiest = max(alone, key=lambda n: alone[n])
    launch = e.resources_us.get("launch", 0.0)
    waiting = max(0.0, e.time_us - alone[busiest] - launch)
    return [(busiest, alone[busiest]), ("latency", waiting), ("launch", launch)]


def _axes(frame: _Frame) -> Html:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts: list[Html] = []
    for tick in frame.ticks:
        y = frame.y(tick)
        parts += [_line(_LEFT, y, right, y, "grid"), _text(_LEFT - 8, y + 4, f"{tick:,.4g}", "end")]
    every = next((s for s in (1, 2, 4, 5, 10, 20, 50, 100) if frame.last / s <= 14), 200)
    for number in range(0, frame.last + 1, every):
        x = frame.x(number)
        parts += [_line(x, bottom, x, bottom + 5, "axis"), _text(x, bottom + 19, str(number), "middle")]
    parts.append(_line(_LEFT, bottom, right, bottom, "axis"))
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 6, "candidate", "middle"))
    parts.append(_text(_LEFT - 8, 12, "µs", "end"))
    return h("g", parts, class_="axes")


def _staircase(frame: _Frame, numbers: Sequence[int], best: Sequence[float]) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    for number, time in zip(numbers, best, strict=True):
        if points:
            points.append((frame.x(number), points[-1][1]))
        points.append((frame.x(number), frame.y(time)))
    points.append((frame.x(frame.last), frame.y(best[-1])))
    return points


def _dot(frame: _Frame, a: Attempt, run: RunData) -> Html:
    title = h("title", f"{a.id}: {run.attempts[a.id].name}, {told_us(_time(a), a.time_kind)}")
    won = a.id == run.best
    x, y = _at(frame.x(a.id)), _at(frame.y(_time(a)))
    return h("circle", title, cx=x, cy=y, r=5 if won else 3.5, class_="dot winner" if won else "dot")


def _cross(frame: _Frame, number: int, told: str) -> Html:
    x, y = frame.x(number), _HEIGHT - _BOTTOM - 8
    d = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return h("path", h("title", told), d=d, class_="cross")


def _labels(frame: _Frame, lines: Iterable[tuple[float, str, str]]) -> Html:
    """Names of the lines at their right ends, moved apart where they would overlap."""
    parts: list[Html] = []
    at = -math.inf
    for y, told, kind in sorted((frame.y(time), told, kind) for time, told, kind in lines):
        at = max(y, at + _LABEL)
        parts.append(_text(_WIDTH - _RIGHT + 10, at + 4, told, "start", kind))
    return h("g", parts, class_="labels")


def _svg(width: int, height: int, told: str, *parts: Html) -> Html:
    return h("svg", h("title", told), *parts, viewBox=f"0 0 {width} {height}", role="img", class_="chart")


def _path(points: Sequence[tuple[float, float]], kind: str) -> Html:
    return h("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=kind)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
    return h("line", x1=_at(x1), y1=_at(y1), x2=_at(x2), y2=_at(y2), class_=kind)


def _text(x: float, y: float, told: str, anchor: str, kind: str | None = None) -> Html:
    return h("text", told, x=_at(x), y=_at(y), text_anchor=anchor, class_=kind)


def _at(value: float) -> str:
    return f"{value:.1f}"


def _time(a: Attempt) -> float:
    return math.inf if a.time_us is None else a.time_us


def _faster(old: Attempt, new: Attempt) -> Attempt:
    return new if _time(new) < _time(old) else old
