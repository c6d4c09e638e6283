"""Part 6: where the time goes: resources, registers, and the main loop beside its source."""

from __future__ import annotations

from collections import Counter

from argus.dsl.codegen.report import Report
from argus.graph.report.charts import shares, stack
from argus.graph.report.figures import plural, timed, told_us
from argus.graph.report.loop import main_loop_view
from argus.graph.report.markup import Cell, Child, Column, Html, facts, h, listed, table
from argus.graph.report.read import RunData


def machine(run: RunData) -> Html | None:
    """Bars of the way to the winner, then the winner's own budget and main loop."""
    winner = run.winner
    if winner is None or winner.attempt.report is None:
        return None
    report = winner.attempt.report
    return h("div", _bars(run), _alone(report), _budget(report), main_loop_view(winner), _lints(report))


def _bars(run: RunData) -> Html | None:
    way = [(j, parts) for j in run.path if (parts := shares(j))]
    if not way:
        return None
    most = max(j.attempt.time_us or 0.0 for j, _ in way)
    rows: list[Html] = []
    for judged, parts in way:
        told = ", ".join(f"{name} {told_us(value)}" for name, value in parts)
        bar = stack(parts, most, f"candidate {judged.attempt.id}: {told}")
        rows.append(
            h(
                "div",
                h("span", h("b", judged.attempt.id), f" {judged.name}", class_="who"),
                bar,
                h("span", timed(judged.attempt.time_us, judged.attempt.time_kind), class_="n"),
                class_="barrow",
            )
        )
    names = list(dict.fromkeys(name for _, parts in way for name, _ in parts))
    return h(
        "div",
        h("h3", "Where the time goes, along the way to the winner"),
        h(
            "p",
            "A bar is the estimated time: what its busiest resource alone needs, then the time in which no resource is "
            "the limit (latency), then the launch.",
            class_="muted",
        ),
        rows,
        h("p", [h("span", h("i", class_=f"r-{n}"), n) for n in names], class_="legend"),
    )


def _alone(report: Report) -> Html | None:
    e = report.estimate
    if e is None:
        return None
    rows: list[tuple[Child | Cell, ...]] = []
    for name, value in e.resources_us.items():
        role = "the limit" if name == e.bound else "next" if name == e.next_bound else ""
        bar = stack([(name, value)], e.time_us, f"{name}: {told_us(value)}")
        rows.append((name, Cell(bar, kind="wide"), timed(value), role))
    return h(
        "div",
        h("h3", "What each resource of the winner needs by itself"),
        h(
            "p",
            "They work at the same time, so these do not add up; the full width is the whole time of ",
            timed(e.time_us),
            ".",
            class_="muted",
        ),
        table(("resource", "share of the time", Column("alone"), ""), rows, "compact"),
    )


def _budget(report: Report) -> Html:
    r, loop = report.registers, report.main_loop
    each = Counter(" ".join(f"{k}({v})" for k, v in w.model_dump().items() if v is not None) for w in loop.waits)
    waits = ", ".join(f"{told} ×{n}" if n > 1 else told for told, n in each.items())
    issued = (
        f"{loop.mfma} MFMA, {loop.lds_read} LDS reads, {loop.lds_write} LDS writes, {loop.vmem_read} loads, "
        f"{loop.valu} VALU, {loop.salu} SALU, {loop.barriers} barriers"
    )
    return h(
        "div",
        h("h3", "Budgets"),
        facts(
            (
                ("registers a lane", f"{r.vgpr} VGPR, {r.agpr} AGPR; {r.sgpr} SGPR a wave"),
                ("spilled registers", str(report.spills) if report.spills else "none"),
                ("scratch", f"{report.scratch_bytes:,} B a lane" if report.scratch_bytes else "none"),
                ("LDS", f"{report.lds_bytes:,} B a block"),
                ("occupancy", f"{report.occupancy_waves} waves a SIMD"),
                ("main loop", f"{plural(loop.tiles, 'k-tile')} a trip; a wave issues {issued}"),
                ("waits", h("code", waits) if waits else "none"),
            )
        ),
    )


def _lints(report: Report) -> Html:
    if not report.lint:
        return h("p", h("strong", "Lints of the assembly: "), "none found anything.")
    found: list[Child] = list(report.lint)
    return h("div", h("p", h("strong", "Lints of the assembly")), listed(found))
