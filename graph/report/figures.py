"""Numbers with their units, and whether they were computed or measured."""

from __future__ import annotations

import math
from collections.abc import Mapping

from argus.agents.attempt import TimeKind
from argus.graph.report.markup import Html, h, markup

_SHORT: dict[TimeKind, str] = {"estimated": "est", "measured": "measured"}
_MEANS: dict[TimeKind, str] = {
    "estimated": "computed from the compiled code, not measured",
    "measured": "the median of timed launches on a GPU",
}


def us(time: float) -> str:
    """Microseconds, to a tenth below 1,000."""
    return f"{time:,.0f} µs" if time >= 999.95 else f"{time:,.1f} µs"


def told_us(time: float, kind: TimeKind = "estimated") -> str:
    """A time and how it was found, where markup cannot stand."""
    return f"{us(time)} {_SHORT[kind]}"


def timed(time: float | None, kind: TimeKind = "estimated") -> Html:
    """A time and how it was found."""
    return markup("–") if time is None else markup((us(time), " ", label(kind)))


def label(kind: TimeKind = "estimated") -> Html:
    return h("span", _SHORT[kind], class_="kind", title=_MEANS[kind])


def times(factor: float | None) -> str:
    """A speedup: 1.33×."""
    return "–" if factor is None else f"{factor:,.2f}×"


def gained(log_gain: float) -> str:
    return times(math.exp(log_gain))


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def shape_text(sizes: Mapping[str, int]) -> str:
    return "×".join(f"{v:,}".replace(",", " ") if v >= 10_000 else str(v) for v in sizes.values())


def ways(name: str) -> str:
    """A bank conflict figure by its name in a check report: `read_way` is the worst of the reads."""
    access, _, what = name.partition("_way")
    return f"LDS {access}s, {what.strip('_') or 'worst'} ways"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
