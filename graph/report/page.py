"""The page: one file that needs no network, its parts in the order of the questions a reader asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files

from argus.graph.report.candidates import candidates, progress
from argus.graph.report.figures import shape_text
from argus.graph.report.learning import learning
from argus.graph.report.machine import machine
from argus.graph.report.markup import Child, Html, h
from argus.graph.report.numerics import numerics
from argus.graph.report.proof import proof
from argus.graph.report.read import RunData
from argus.graph.report.reproduce import reproduce
from argus.graph.report.steps import steps
from argus.graph.report.trust import trust
from argus.graph.report.verdict import headline, verdict

Part = Callable[[RunData], Html | None]

PARTS: tuple[tuple[str, str, Part], ...] = (
    ("verdict", "Verdict", verdict),
    ("path", "Path to the winner", steps),
    ("candidates", "Every candidate", candidates),
    ("progress", "Best so far", progress),
    ("proof", "Proof", proof),
    ("machine", "Machine view", machine),
    ("numerics", "Numerics", numerics),
    ("learning", "What the policy learned", learning),
    ("trust", "Trust", trust),
    ("reproduce", "Reproduce", reproduce),
)


def page(run: RunData) -> str:
    """The whole document; parts without data are left out and keep their numbers."""
    written = [
        (i, name, title, body) for i, (name, title, part) in enumerate(PARTS, 1) if (body := part(run)) is not None
    ]
    contents = h("nav", h("ol", [h("li", h("a", title, href=f"#{name}"), value=i) for i, name, title, _ in written]))
    sections = [
        h("section", h("h2", h("span", i, class_="number"), title), body, id=name) for i, name, title, body in written
    ]
    head = h(
        "head",
        h("meta", charset="utf-8"),
        h("meta", name="viewport", content="width=device-width, initial-scale=1"),
        h("meta", name="color-scheme", content="light dark"),
        h("title", f"Argus: {headline(run)}"),
        h("style", Html(_file("style.css"))),
    )
    body = h("body", _header(run), contents, h("main", sections), h("script", Html(_file("sort.js"))))
    return f"<!DOCTYPE html>\n{h('html', head, body, lang='en')}\n"


def _header(run: RunData) -> Html:
    record = run.record
    models = sorted(set(record.models.values()))
    told: list[Child] = [f"run {record.run_id}", f"policy {', '.join(models)}", f"seed {record.task.seed}"]
    if run.started is not None:
        told.append(datetime.fromtimestamp(run.started.time, UTC).strftime("%-d %B %Y, %H:%M UTC"))
    p = run.problem
    return h(
        "header",
        h("p", "Argus", class_="brand"),
        h(
            "h1",
            f"{p.task.name} {p.dtype} ",
            h("span", shape_text(p.shape), class_="size"),
            f" → {headline(run).rpartition('→ ')[2]}",
        ),
        h("p", [[h("span", t), " "] for t in told], class_="strip"),
    )


def _file(name: str) -> str:
    return files("argus.graph.report").joinpath(name).read_text("utf-8")
