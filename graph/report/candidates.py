"""Parts 3 and 4: every candidate with what became of it, and the best time as candidates were spent."""

from __future__ import annotations

from argus.agents.attempt import Attempt
from argus.graph.report.charts import progress_chart
from argus.graph.report.figures import percent, times
from argus.graph.report.markup import Cell, Child, Column, Html, Row, h, table
from argus.graph.report.read import Judged, RunData

_LAST = 1e30  # sorts what has no time behind all that has
_SHORT = {"estimated": "est", "": "est"}


def candidates(run: RunData) -> Html:
    """One row an attempt; with a few lines of JavaScript the columns sort."""
    way = {j.attempt.id for j in run.path}
    kinds = " or ".join(sorted({j.attempt.time_kind for j in run.attempts.values() if j.attempt.time_us is not None}))
    columns = (
        Column("#"), Column("from"), Column("round"), "technique and change", "verdict", Column("proved"),
        Column("tests"), Column(f"µs {_SHORT.get(kinds, kinds)}"), Column("× parent"), Column("of floor"), "limited by",
        Column("VGPR + AGPR"), Column("LDS, B"), Column("waves"),
    )  # fmt: skip
    told = h(
        "p",
        "Rows on the way to the winner are marked. A row's files are in ",
        h("code", "attempts/#"),
        " of the run folder; VGPRs and AGPRs are by lane, LDS by block, waves by SIMD.",
        class_="muted",
    )
    rows = [_row(run, j, "winner" if n == run.best else "way" if n in way else "") for n, j in run.attempts.items()]
    return h("div", told, table(columns, rows, "sortable dense"))


def progress(run: RunData) -> Html | None:
    """The chart of part 4."""
    chart = progress_chart(run)
    if chart is None:
        return None
    return h("div", chart, h("p", _legend(run), class_="muted"))


def _row(run: RunData, judged: Judged, kind: str) -> Row:
    a = judged.attempt
    parent = run.attempts.get(a.parent) if a.parent is not None else None
    gain = parent.attempt.time_us / a.time_us if parent and parent.attempt.time_us and a.time_us else None
    share = run.floor_us / a.time_us if run.floor_us and a.time_us else None
    total = a.obligations.proved + a.obligations.refuted + a.obligations.unknown
    tested = a.tests.passed + a.tests.failed
    cells: tuple[Child | Cell, ...] = (
        a.id,
        Cell("–" if a.parent is None else a.parent, -1 if a.parent is None else a.parent),
        a.round,
        Cell((judged.name, h("code", judged.change, class_="change") if judged.change else None), kind="what"),
        _verdict(judged),
        Cell(f"{a.obligations.proved}/{total}" if total else "–", a.obligations.proved),
        Cell(f"{a.tests.passed}/{tested}" if tested else "–", a.tests.passed),
        Cell("–" if a.time_us is None else f"{a.time_us:,.1f}", a.time_us or _LAST),
        Cell(times(gain), gain or 0),
        Cell(percent(share), share or 0),
        *_compiled(a),
    )
    return Row(cells, kind)


def _compiled(a: Attempt) -> tuple[Child | Cell, ...]:
    r = a.report
    if r is None:
        return ("–", *(Cell("–", -1) for _ in range(3)))
    registers = Cell(f"{r.registers.vgpr} + {r.registers.agpr}", r.registers.vgpr + r.registers.agpr)
    return (a.bound, registers, Cell(f"{r.lds_bytes:,}", r.lds_bytes), Cell(r.occupancy_waves, r.occupancy_waves))


def _verdict(judged: Judged) -> Child:
    a = judged.attempt
    notes = [f"repaired {a.repairs}×" if a.repairs else None, _why(judged)]
    return (
        h("span", a.status.replace("_", " "), class_="ok" if a.valid else "no"),
        [h("span", note, class_="why") for note in notes if note],
    )


def _why(judged: Judged) -> str:
    """Why it is no kernel to build on; empty for a valid one."""
    a = judged.attempt
    if a.valid:
        return ""
    unproved = [o.text for o in judged.check.obligations if o.verdict != "proved"] if judged.check else []
    said = a.note or next(iter(unproved), "")
    fault = f"{a.fault}: " if a.fault != "none" else ""
    return f"{fault}{said.splitlines()[0] if said else a.status.replace('_', ' ')}"


def _legend(run: RunData) -> list[Child]:
    invalid = sum(not j.attempt.valid for j in run.attempts.values())
    told: list[Child] = ["Dots are valid kernels in the order of their numbers, the line is the fastest so far"]
    if invalid:
        told.append(f"; crosses below are the {invalid} that were refused or failed")
    told.append(". ")
    if run.random is not None:
        r = run.random
        told.append(
            f"Random: the median of {r.seeds} random searches over {r.stored:,} stored schedules, whose fastest takes "
            f"{r.best_us:,.1f} µs est. "
        )
    told.append("The time axis is logarithmic and does not begin at zero.")
    return told
