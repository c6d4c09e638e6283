"""Part 8: what the policy learned: techniques promised and gained, beliefs before and after, the planner's prompt."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from argus.agents.attempt import sha
from argus.agents.messages import Lesson
from argus.agents.policy.lessons import prompt_text
from argus.agents.prompts import load
from argus.graph.events import Learned
from argus.graph.report.figures import gained, plural
from argus.graph.report.markup import Cell, Child, Column, Html, fold, h, table
from argus.graph.report.read import RunData
from argus.graph.report.steps import diff
from argus.graph.store import step_id


@dataclass(slots=True)
class _Tries:
    """What became of one technique under one bottleneck."""

    promised: list[float] = field(default_factory=list[float])
    obtained: list[float] = field(default_factory=list[float])
    failed: int = 0


def learning(run: RunData) -> Html | None:
    """Arms, lessons, prompt versions; None when nothing was tried."""
    tried = _tried(run)
    if not tried:
        return None
    switched = (
        None
        if run.record.config.learning
        else h("p", "Learning was switched off: beliefs stayed what the cards say.", class_="warning")
    )
    return h("div", switched, _arms(tried), _beliefs(run), _prompts(run))


def _tried(run: RunData) -> dict[tuple[str, str], _Tries]:
    found: dict[tuple[str, str], _Tries] = defaultdict(_Tries)
    for judged in run.attempts.values():
        a = judged.attempt
        parent = run.attempts.get(a.parent) if a.parent is not None else None
        for technique in a.techniques:
            tries = found[technique, a.bottleneck]
            if a.valid and a.time_us and parent is not None and parent.attempt.time_us:
                tries.promised.append(a.prior)
                tries.obtained.append(math.log(parent.attempt.time_us / a.time_us))
            else:
                tries.failed += 1
    return dict(sorted(found.items()))


def _arms(tried: Mapping[tuple[str, str], _Tries]) -> Html:
    rows: list[tuple[Child | Cell, ...]] = []
    for (technique, bottleneck), t in tried.items():
        promised, obtained = (fmean(t.promised), fmean(t.obtained)) if t.obtained else (None, None)
        best = max(t.obtained, default=None)
        gains = (Cell("–" if g is None else gained(g), g or 0.0) for g in (promised, obtained, best))
        rows.append((technique, bottleneck, len(t.obtained) + t.failed, Cell(t.failed or "none", t.failed), *gains))
    heads = (
        "technique", "parent limited by", Column("tries"), Column("without a valid kernel"), Column("promised, mean"),
        Column("obtained, mean"), Column("obtained, best"),
    )  # fmt: skip
    told = h(
        "p",
        "Gains are over the parent, as geometric means; in a bundle every technique is shown with the gain of the "
        "whole. Promises are those of card and closed form.",
        class_="muted",
    )
    return h("div", h("h3", "Techniques tried"), told, table(heads, rows, "sortable compact"))


def _beliefs(run: RunData) -> Html:
    """Each arm's correction of what is promised, before any try and after the last."""
    last: dict[str, Mapping[str, Any]] = {}
    for row in run.lessons:
        known = last.get(row["id"])
        if known is None or row["n"] >= known["n"]:
            last[row["id"]] = row
    if not last:
        return h("div", h("h3", "Lessons"), h("p", "None: no technique was tried twice under one bottleneck."))
    rows = [
        (
            r["technique"],
            r["bottleneck"],
            f"{r['n']:.0f}",
            gained(0.0),
            gained(r["mean"]),
            f"±{100 * math.expm1(r['sd']):.0f} %",
            r["note"],
        )
        for r in sorted(last.values(), key=lambda r: (-r["n"], r["technique"]))
    ]
    heads = (
        "technique",
        "parent limited by",
        Column("tries"),
        Column("before"),
        Column("after"),
        Column("give or take"),
        "lesson",
    )
    told = h(
        "p",
        "The factor by which the policy expects a step to miss or exceed its promise: 1.00× before anything was tried.",
        class_="muted",
    )
    return h("div", h("h3", "Beliefs before and after"), told, table(heads, rows, "compact"))


def _prompts(run: RunData) -> Html:
    """Versions of the planner's prompt by round, and how the last differs from the first."""
    learned = [e for e in run.events if isinstance(e, Learned)]
    versions = list(dict.fromkeys(e.prompt_sha for e in learned)) or [p["sha"] for p in run.prompts]
    heading = h("h3", "The planner's prompt")
    if not versions:
        return h("div", heading, h("p", "Its versions were not recorded."))
    told = h(
        "p",
        plural(len(versions), "version"),
        ": ",
        [[h("code", v), " → "] for v in versions[:-1]],
        h("code", versions[-1]),
        ".",
    )
    return h("div", heading, told, _difference(run, versions[-1]))


def _difference(run: RunData, version: str) -> Html | None:
    """The seed against the last version, as far as the text can be had again from what was stored."""
    seed = load("planner")
    text = _text_of(run, version)
    if text is None:
        return h(
            "p",
            "Its text cannot be had again: the seed prompt or the lessons are not those of this run.",
            class_="muted",
        )
    if sha(prompt_text(seed.text, ())) == version:
        return h("p", "It stayed the seed.")
    return fold("What the lessons added to the seed", diff(prompt_text(seed.text, ()), text))


def _text_of(run: RunData, version: str) -> str | None:
    """The prompt whose hash is `version`: the seed with some state of the lessons, the last first."""
    wanted = next((p["lesson_ids"] for p in run.prompts if p["sha"] == version), None)
    names: list[str] = [] if wanted is None else json.loads(wanted)
    rows = {name: [r for r in run.lessons if r["id"] == name] for name in names}
    if any(not found for found in rows.values()):
        return None
    text = prompt_text(load("planner").text, [_lesson(run, max(rows[name], key=lambda r: r["n"])) for name in names])
    return text if sha(text) == version else None


def _lesson(run: RunData, row: Mapping[str, Any]) -> Lesson:
    prefix = step_id(run.record.run_id, "")
    steps: Sequence[str] = [s.removeprefix(prefix) for s in json.loads(row["step_ids"])]
    return Lesson.model_validate({**row, "steps": tuple(steps)})
