"""What a bundle's runs measured, read back: tables, means over shapes, and whether what ran is what was compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import median, stdev
from typing import Literal

from argus.dsl.kernels import HopperGemmSchedule
from argus.dsl.kernels.hopper_table import Choice
from argus.tools.bundle import Result, Results, mismatches, read_results

__all__ = [
    "Format",
    "Measured",
    "Result",
    "Results",
    "best",
    "choices",
    "mean",
    "measured",
    "mismatches",
    "read_results",
    "table",
]

Format = Literal["text", "markdown"]
FEWEST = 5  # shapes that an interval of their mean is printed for
NORMAL = 1.959964  # 97.5 % of the standard normal distribution
SHORT: Mapping[str, str] = {"bfloat16": "bf16", "float16": "f16"}


@dataclass(frozen=True, slots=True)
class Measured:
    """All runs of one entry.

    Attributes:
        ratio: The peer's time over ours: of several runs the median of their medians and the range of these, of one
            run the median of its rounds with its 95 % interval. None where something failed.
        time_us, tflops, peer_tflops: Medians over the runs.
    """

    first: Result
    runs: tuple[Result, ...]
    status: str
    ratio: tuple[float, float, float] | None
    time_us: float
    tflops: float
    peer_tflops: float

    @property
    def shape(self) -> str:
        s = self.first.sizes
        return f"{s['M']}x{s['N']}x{s['K']}" if {"M", "N", "K"} <= set(s) else str(s)

    @property
    def dtype(self) -> str:
        return SHORT.get(self.first.dtype, self.first.dtype)

    @property
    def against_itself(self) -> bool:
        return self.first.kind in ("peer", "aa")


def measured(results: Results) -> tuple[Measured, ...]:
    """Entries in order of their first run."""
    groups: dict[str, list[Result]] = {}
    for r in results.results:
        groups.setdefault(r.id, []).append(r)
    return tuple(_joined(runs) for runs in groups.values())


def _joined(runs: Sequence[Result]) -> Measured:
    status = next((r.status for r in runs if r.status != "ok"), "ok")
    timed = [(r, r.ratio) for r in runs if r.ratio is not None]
    ratio: tuple[float, float, float] | None = None
    if len(timed) == len(runs) == 1:
        ratio = timed[0][1]
    elif len(timed) == len(runs):
        middles = [ratio[0] for _, ratio in timed]
        ratio = (median(middles), min(middles), max(middles))

    def middle(values: Iterable[float | None]) -> float:
        known = [v for v in values if v is not None]
        return median(known) if known else 0.0

    return Measured(
        first=runs[0],
        runs=tuple(runs),
        status=status,
        ratio=ratio,
        time_us=middle(r.time_us[0] if r.time_us else None for r in runs),
        tflops=middle(r.tflops for r in runs),
        peer_tflops=middle(r.peer_tflops for r in runs),
    )


def best(entries: Iterable[Measured]) -> dict[tuple[str, str], Measured]:
    """The fastest right candidate of each (dtype, shape)."""
    out: dict[tuple[str, str], Measured] = {}
    for m in entries:
        key = (m.dtype, m.shape)
        if m.first.kind != "candidate" or m.status != "ok" or m.ratio is None:
            continue
        if key not in out or m.ratio[0] > _ratio(out[key]):
            out[key] = m
    return out


def _ratio(m: Measured) -> float:
    assert m.ratio is not None
    return m.ratio[0]


# ------------------------------------------------------------------------------------------- over shapes


def mean(ratios: Sequence[float]) -> tuple[float, float, float]:
    """Geometric mean with its 95 % interval over shapes: Student's, of the logarithms. One value says nothing of it.

    Source: the quantile is Cornish and Fisher's expansion about the normal one, exact to 0.3 % from 4 degrees on.
    """
    logs = [log(r) for r in ratios]
    n, centre = len(logs), sum(logs) / len(logs)
    if n < 2:
        return exp(centre), 0.0, float("inf")
    half = _student(n - 1) * stdev(logs) / sqrt(n)
    return exp(centre), exp(centre - half), exp(centre + half)


def _student(freedom: int) -> float:
    z, n = NORMAL, freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )


def _summaries(entries: Sequence[Measured]) -> Iterator[str]:
    """Means of the best candidates by dtype, of whole and of ragged shapes apart; and of A/A rows."""
    groups: dict[str, list[Measured]] = {}
    for m in best(entries).values():
        whole = all(n % 16 == 0 for n in m.first.sizes.values())
        groups.setdefault(f"{m.dtype}, {'whole' if whole else 'ragged'} shapes", []).append(m)
    for name, members in groups.items():
        centre, low, high = mean([_ratio(m) for m in members])
        worst = min(members, key=_ratio)
        interval = f" [{100 * low:.1f}, {100 * high:.1f}]" if len(members) >= FEWEST else ""
        yield (
            f"{name}: geometric mean over {len(members)} of the best kernel of each {100 * centre:.1f} %{interval} of "
            f"the library; least {100 * _ratio(worst):.1f} % at {worst.shape}"
        )
    claims = {m.first.kernel_sha: m.first.obligations for m in entries if m.first.obligations is not None}
    if claims:
        whole = sum(proved == total > 0 for proved, total in claims.values())
        yield f"{whole} of {len(claims)} kernels had every obligation proved when they were bundled"
    same = [_ratio(m) for m in entries if m.against_itself and m.ratio is not None]
    if same:
        centre = exp(sum(log(r) for r in same) / len(same))
        yield (
            f"A/A, {len(same)} rows: geometric mean {100 * centre:.2f} %, each from {100 * min(same):.1f} to "
            f"{100 * max(same):.1f} %"
        )


def choices(results: Results) -> tuple[str, tuple[Choice, ...]]:
    """Where and when it was measured, and the best candidate's schedule of each shape."""
    entries = measured(results)
    return _head(results, entries), tuple(
        Choice(
            dtype=m.dtype,
            sizes=m.first.sizes,
            schedule=HopperGemmSchedule.model_validate(m.first.schedule),
            percent=round(100 * _ratio(m), 1),
        )
        for m in best(entries).values()
    )


# ----------------------------------------------------------------------------------------------- tables


def table(results: Results, form: Format = "text") -> str:
    """As text, a line an entry and the means; as Markdown, a row for the best kernel of each shape, and the means."""
    entries = measured(results)
    return "\n".join(_markdown(results, entries) if form == "markdown" else _text(results, entries))


def _head(results: Results, entries: Sequence[Measured]) -> str:
    known = [r.device for r in results.results if r.device]
    device = known[0] if known else {}
    runs = max((len(m.runs) for m in entries), default=1)
    said = f"survey of {results.survey} rounds: " if results.survey else ""
    said += "median [95 %]" if runs == 1 else f"median of {runs} runs [their range]"
    return (
        f"{device.get('name', 'unknown GPU')}, driver {results.driver or 'unknown'}, torch {device.get('torch', '?')}, "
        f"{results.date}; measured, paired, {said}"
    )


def _text(results: Results, entries: Sequence[Measured]) -> Iterator[str]:
    yield _head(results, entries)
    yield f"{'entry':52} {'status':9} {'us':>9} {'TFLOP/s':>8} {'peer':>8}   percent of peer"
    for m in entries:
        yield _line(m)
    yield from _summaries(entries)


def _line(m: Measured) -> str:
    if m.ratio is None:
        failed = next(r for r in m.runs if r.ratio is None)
        bad = next((c for c in failed.checks if not c.get("ok")), "")
        return f"{m.first.id:52} {m.status:9} {failed.message} {bad}".rstrip()
    ratio, low, high = (100 * x for x in m.ratio)
    clocks = [mhz for r in m.runs for c in r.clocks if (mhz := c.get("sm_mhz")) is not None]
    clock = f", {min(clocks):.0f}–{max(clocks):.0f} MHz" if clocks else ""
    against = "itself" if m.against_itself else "/".join(dict.fromkeys(r.library or "?" for r in m.runs))
    return (
        f"{m.first.id:52} {m.status:9} {m.time_us:9.1f} {m.tflops:8.1f} {m.peer_tflops:8.1f}   "
        f"{ratio:.1f} [{low:.1f}, {high:.1f}] of {against}{clock}"
    )


def _markdown(results: Results, entries: Sequence[Measured]) -> Iterator[str]:
    yield _head(results, entries) + "."
    yield ""
    yield "| M×N×K | dtype | schedule | µs | TFLOP/s | library | % of library |"
    yield "|---|---|---|---:|---:|---:|---|"
    for m in best(entries).values():
        assert m.ratio is not None
        ratio, low, high = (100 * x for x in m.ratio)
        shape = m.shape.replace("x", "×")
        name = m.first.name.removeprefix(f"{m.dtype}-")
        yield (
            f"| {shape} | {m.dtype} | {name} | {m.time_us:.1f} | {m.tflops:.0f} | {m.peer_tflops:.0f} | "
            f"{ratio:.1f} [{low:.1f}, {high:.1f}] |"
        )
    yield ""
    for line in _summaries(entries):
        yield f"- {line}"
