"""Part 2: the way from the start kernel to the winner, one step a technique."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import pairwise

from argus.graph.report.figures import gained, timed, times, ways
from argus.graph.report.markup import Column, Html, fold, h, table
from argus.graph.report.read import Judged, RunData
from argus.retrieval.card import Card
from argus.retrieval.load import corpus_folder, read_card
from argus.retrieval.problem import CardError

_CONTEXT = 3  # lines around a change


def steps(run: RunData) -> Html | None:
    """Each step with its card, what it promised, what it gave and what it changed."""
    way = run.path
    if len(way) < 2:
        return h("p", "The start kernel was not beaten, so there are no steps.") if way else None
    return h("div", [_step(old, new) for old, new in pairwise(way)], class_="steps")


def _step(old: Judged, new: Judged) -> Html:
    a = new.attempt
    gain = None if not (old.attempt.time_us and a.time_us) else old.attempt.time_us / a.time_us
    head = h("h3", h("span", f"{old.attempt.id} → {a.id}", class_="ids"), " ", new.name)
    told = [
        h("span", timed(old.attempt.time_us, old.attempt.time_kind), " → ", timed(a.time_us, a.time_kind)),
        h("span", "obtained ", h("strong", times(gain))),
        h("span", "predicted ", h("strong", gained(a.score)), f" (confidence {a.confidence:.2f})"),
        h("span", "card and closed form ", h("strong", gained(a.prior))),
        h("span", "reward ", h("strong", f"{a.reward:+.3f}")) if a.reward is not None else None,
        h("span", f"{a.repairs}× repaired against counterexamples") if a.repairs else None,
    ]
    return h(
        "section",
        head,
        h("p", told, class_="strip"),
        [_card(name) for name in a.techniques],
        h("p", "Changes: ", h("code", new.change)) if new.change else None,
        h("div", _source(old, new), _counters(old, new), class_="split"),
        class_="step",
    )


def _card(name: str) -> Html:
    """What the card says of the technique, if it is in the corpus that is installed."""
    card = _read(name)
    if card is None:
        return h("p", h("code", name), class_="card")
    relieves = ", ".join(f"{r.resource} {r.effect.low:g}–{r.effect.high:g}×" for r in card.relieves)
    return h(
        "p",
        h("code", name),
        f" {card.title} ",
        h("span", f"{card.level} level; relieves {relieves}", class_="muted"),
        class_="card",
    )


def _read(name: str) -> Card | None:
    try:
        return read_card(corpus_folder() / f"{name}.md").card
    except CardError:
        return None


def _source(old: Judged, new: Judged) -> Html:
    return fold("Kernel source, changed lines", diff(old.attempt.text, new.attempt.text), open_=True)


def diff(old: str, new: str) -> Html:
    """The unified difference of two texts, without its file names."""
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=_CONTEXT))[2:]
    if not lines:
        return h("p", "The texts are equal.")
    return h("pre", [_line(line) for line in lines], class_="diff")


def _line(line: str) -> Html:
    kind = {"+": "add", "-": "del", "@": "at"}.get(line[:1])
    return h("span", line, "\n", class_=kind)


def _counters(old: Judged, new: Judged) -> Html:
    """What a step changed in the compiled code."""
    before, after = dict(counters(old)), dict(counters(new))
    rows = [
        (name, before.get(name, "–"), after.get(name, "–"))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]
    if not rows:
        return h("p", "Every counter of the compiled code stayed as it was.", class_="muted")
    return table(("changed in the compiled code", Column("before"), Column("after")), rows, "compact")


def counters(judged: Judged) -> Iterator[tuple[str, str]]:
    """Counters of the compiled code, each with its unit; the main loop's by k-tile, so that unrolling cancels out."""
    r = judged.attempt.report
    if r is None:
        return
    yield "VGPRs a lane", f"{r.registers.vgpr}"
    yield "AGPRs a lane", f"{r.registers.agpr}"
    yield "spilled registers", f"{r.spills}"
    yield "LDS bytes a block", f"{r.lds_bytes:,}"
    yield "waves a SIMD", f"{r.occupancy_waves}"
    for name, way in judged.attempt.bank_conflicts.items():
        yield ways(name), f"{way:g}"
    loop = r.main_loop
    for field in ("mfma", "valu", "salu", "lds_read", "lds_write", "vmem_read", "barriers"):
        yield f"{field.replace('_', ' ')} a wave and k-tile", f"{getattr(loop, field) / loop.tiles:g}"
    yield "k-tiles a trip", f"{loop.tiles}"
    if r.estimate is not None:
        for name, time in r.estimate.resources_us.items():
            yield f"{name} alone, µs est", f"{time:,.1f}"
