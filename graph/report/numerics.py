"""Part 7: the winner's results against the fp64 reference."""

from __future__ import annotations

from argus.graph.report.charts import stack
from argus.graph.report.figures import plural, shape_text
from argus.graph.report.markup import Cell, Child, Column, Html, Row, h, table
from argus.graph.report.read import RunData
from argus.tools.results import TestCase

_EXECUTED = {"ir": "IR (interpreter)", "tir": "lowered code (lockstep simulator)", "object": "object (GPU)"}


def numerics(run: RunData) -> Html | None:
    """One row a test case; None for a run without a winner."""
    winner = run.winner
    if winner is None:
        return None
    cases = winner.tests.cases if winner.tests else ()
    if not cases:
        return h("p", "Numeric tests: none.", class_="warning")
    task, dtype = run.problem.task, run.problem.dtype
    bound = task.tolerance.get(dtype)
    rule: Child = None
    if bound is not None:
        rule = (
            f"An output element may differ from the fp64 reference of {task.name} by {bound:.3g} times the sum of the "
            "absolute values of its products. "
        )
    symbols = "×".join(task.symbols.values())
    told = h(
        "p",
        rule,
        "An error of 1 is the whole tolerance. Held-out sizes follow from a seed and appear in no prompt.",
        class_="muted",
    )
    heads = (
        symbols,
        "inputs",
        "executed",
        "held out",
        "largest error, as a share of the tolerance",
        Column(""),
        "verdict",
    )
    hidden = sum(c.held_out for c in cases)
    summary = h(
        "p",
        h("strong", f"{sum(c.passed for c in cases)} of {plural(len(cases), 'case')} passed"),
        f", {hidden} of them held out." if hidden else ".",
    )
    return h("div", summary, told, table(heads, [_row(c) for c in cases], "compact"))


def _row(c: TestCase) -> Row:
    bar = stack([("mfma", min(1.0, c.error))], 1.0, f"{c.error:.3f} of the tolerance") if c.error is not None else None
    passed = h("span", "passed", class_="ok") if c.passed else h("span", f"failed: {c.message}", class_="no")
    error = "–" if c.error is None else f"{c.error:.3f}"
    held_out = "yes" if c.held_out else "no"
    return Row(
        (
            shape_text(c.sizes),
            c.inputs,
            _EXECUTED.get(c.executed, c.executed),
            held_out,
            Cell(bar, kind="wide"),
            error,
            passed,
        )
    )
