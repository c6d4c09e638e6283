"""What lint asks of one card."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from argus.retrieval import wordpieces
from argus.retrieval.card import Change, Example
from argus.retrieval.change import ChangeError, field_parts, params_between, params_in
from argus.retrieval.expressions import (
    Constraint,
    ExpressionError,
    Path,
    parse_condition,
    parse_constraint,
    parse_expectation,
    path_text,
    resolve,
)
from argus.retrieval.load import CardFile, SourceEntry
from argus.retrieval.metrics import REPORT_METRICS, schedule_values, vocabulary
from argus.retrieval.problem import Problem

MAX_SECTION_PIECES = 200
# A technique turns its own knobs; a whole schedule in a card would be the answer, not a technique.
MAX_FIELDS_SET = 4

ParseSchedule = Callable[[dict[str, Any]], BaseModel]
Families = Mapping[str, ParseSchedule]

_CITED = re.compile(r"\[([A-Z]\d+[a-z]?)\]")
# Rates, shares, times and factors; sizes and counts are facts of a layout and need no witness.
_FIGURE = re.compile(r"\d\s?(?:%|TB/s|GB/s|TFLOP/s|PFLOP/s|µs|us\b|ms\b|ns\b|clk\b|GHz)|\d\u00d7(?!\s?\d)|\d-fold")


def check_card(file: CardFile, families: Families, sources: Mapping[str, SourceEntry]) -> Iterator[Problem]:
    """Every fault that shows without the other cards."""
    yield from _metrics(file, families)
    yield from _expectations(file)
    yield from _change(file, families)
    yield from _example(file, families)
    yield from _effects(file)
    yield from _sources(file, sources)
    yield from _sections(file)
    yield from _status(file)


def _metrics(file: CardFile, families: Families) -> Iterator[Problem]:
    card = file.card
    starts = [parse({}) for name, parse in families.items() if card.fits(family=name)]
    known = REPORT_METRICS.union(*(vocabulary(start) for start in starts))
    for field, texts in (("applies_when", card.applies_when), ("avoid_when", card.avoid_when)):
        for i, text in enumerate(texts):
            try:
                path = parse_condition(text).path
            except ExpressionError as error:
                yield file.problem("expression", str(error), field, i)
            else:
                yield from _known(file, path, known, field, i)


def _expectations(file: CardFile) -> Iterator[Problem]:
    for i, text in enumerate(file.card.expect.report):
        try:
            path = parse_expectation(text).path
        except ExpressionError as error:
            yield file.problem("expression", str(error), "expect", "report", i)
        else:
            yield from _known(file, path, REPORT_METRICS, "expect", "report", i)
    for target, texts in file.card.expect.counters.items():
        for i, text in enumerate(texts):
            try:
                parse_expectation(text)
            except ExpressionError as error:
                yield file.problem("expression", str(error), "expect", "counters", target, i)


def _known(file: CardFile, path: Path, known: frozenset[Path], *place: str | int) -> Iterator[Problem]:
    if path not in known:
        near = sorted(path_text(p) for p in known if p[0] == path[0])
        hint = f"{path[0]} has {', '.join(p.removeprefix(f'{path[0]}.') for p in near)}" if near else ""
        yield file.problem("metric", f"unknown metric {path_text(path)}", *place, hint=hint)


def _change(file: CardFile, families: Families) -> Iterator[Problem]:
    change, example = file.card.change, file.card.example
    if change is None or example is None or example.family not in families:
        return
    start = schedule_values(families[example.family]({}))
    fields = set[str]()
    for field in change.set:
        try:
            name, index = field_parts(field)
            fields.add(name)
            resolve(start, (name,) if index is None else (name, index), field)
        except (ChangeError, ExpressionError) as error:
            yield file.problem("change", str(error), "change", "set", field)
    if len(fields) > MAX_FIELDS_SET:
        message = f"sets {len(fields)} fields: {', '.join(sorted(fields))}"
        yield file.problem("change", message, "change", "set", hint=f"a technique sets at most {MAX_FIELDS_SET}")
    used = params_in(change)
    for name in sorted(used - set(change.params)):
        yield file.problem("change", f"${name} is no parameter", "change", "set")
    for name in sorted(set(change.params) - used):
        yield file.problem("change", f"parameter {name!r} is never used", "change", "params", name)
    yield from _constraints(file, change, start)


def _constraints(file: CardFile, change: Change, start: Mapping[str, Any]) -> Iterator[Problem]:
    names = {**start, **{name: p.default for name, p in change.params.items()}, "old": start}
    for name in sorted(set(change.params) & {*start, "old"}):
        yield file.problem("change", f"parameter {name!r} hides a schedule field", "change", "params", name)
    for i, text in enumerate(change.constraints):
        try:
            constraint: Constraint = parse_constraint(text)
            for path in sorted(constraint.paths, key=path_text):
                resolve(names, path, text)
            constraint.holds(names)
        except ExpressionError as error:
            yield file.problem("expression", str(error), "change", "constraints", i)


def _example(file: CardFile, families: Families) -> Iterator[Problem]:
    card, example = file.card, file.card.example
    if (example is None) != (card.change is None):
        message = "a change needs an example" if example is None else "an example needs a change"
        yield file.problem("example", message, "example" if example else "change")
        return
    if example is None:
        return
    if example.family not in families:
        hint = f"families with schedules are {', '.join(families)}"
        yield file.problem("example", f"no family {example.family!r}", "example", "family", hint=hint)
        return
    both = example_schedules(example, families[example.family])
    for side, got in both.items():
        if isinstance(got, str):
            yield file.problem("example", f"{side} is no legal schedule: {got}", "example", side)
        elif set(getattr(example, side)) >= set(type(got).model_fields):
            yield file.problem("example", f"{side} names a complete schedule", "example", side)
    before, after = both["before"], both["after"]
    if isinstance(before, str) or isinstance(after, str):
        return
    if before == after and card.kind == "optimisation":
        yield file.problem("example", "before and after are the same schedule", "example")
    try:
        if params_between(card, before, after) is None:
            yield file.problem("example", "the change does not lead from before to after", "example", "after")
    except (ChangeError, ExpressionError) as error:
        yield file.problem("example", f"the change does not apply to before: {error}", "example", "before")


def example_schedules(example: Example, parse: ParseSchedule) -> dict[str, BaseModel | str]:
    """`before` and `after` with every field, or what makes one illegal."""
    out: dict[str, BaseModel | str] = {}
    for side, fields in (("before", example.before), ("after", example.after)):
        try:
            out[side] = parse(dict(fields))
        except ValidationError as error:
            out[side] = "; ".join(".".join(map(str, (*e["loc"], e["msg"]))) for e in error.errors())
        except ValueError as error:
            out[side] = str(error)
    return out


def _effects(file: CardFile) -> Iterator[Problem]:
    card = file.card
    if card.change is None or card.kind != "optimisation":
        return
    for field in ("relieves", "applies_when", "mistakes", "invariants"):
        if not getattr(card, field):
            yield file.problem("effect", f"an optimisation with a change has {field}", field)
    if not card.expect.report:
        yield file.problem("effect", "an optimisation with a change says what it expects of the report", "expect")


def _sources(file: CardFile, sources: Mapping[str, SourceEntry]) -> Iterator[Problem]:
    card = file.card
    named = {source.id for source in card.sources}
    for i, source in enumerate(card.sources):
        if source.id not in sources:
            hint = "add it to sources.json, or correct the key"
            yield file.problem("reference", f"no source {source.id!r}", "sources", i, hint=hint)
    for i, relief in enumerate(card.relieves):
        if relief.source not in named:
            message = f"the effect on {relief.resource} rests on {relief.source!r}, which the card does not cite"
            yield file.problem("reference", message, "relieves", i)
    for section in card.sections:
        for key in sorted(set(_CITED.findall(section.text)) - named):
            yield _in_section(file, section.line, "reference", f"[{key}] is not among the card's sources")


def _sections(file: CardFile) -> Iterator[Problem]:
    headings = [section.heading for section in file.card.sections]
    for wanted in ("When", "How"):
        if wanted not in headings:
            yield file.problem("schema", f"the body has no section `## {wanted}`")
    for repeated in sorted({h for h in headings if headings.count(h) > 1}):
        yield file.problem("schema", f"the body has two sections `## {repeated}`")
    for section in file.card.sections:
        pieces = wordpieces.count(section.text)
        if pieces >= MAX_SECTION_PIECES:
            message = f"section {section.heading!r} has {pieces} word pieces; at most {MAX_SECTION_PIECES - 1} fit"
            yield _in_section(file, section.line, "length", message)
        for paragraph in section.text.split("\n\n"):
            figure = _FIGURE.search(paragraph)
            if figure and not _CITED.search(paragraph) and "folklore" not in paragraph.lower():
                around = paragraph[max(0, figure.start() - 20) : figure.end()].replace("\n", " ")
                hint = "name the source as [S01], or say that it is folklore"
                yield _in_section(file, section.line, "figure", f"…{around!r} has no source", hint)


def _in_section(file: CardFile, line: int, rule: Any, message: str, hint: str = "") -> Problem:  # noqa: ANN401 - a Rule
    return Problem(file=file.path.name, line=line, rule=rule, message=message, hint=hint)


def _status(file: CardFile) -> Iterator[Problem]:
    card = file.card
    if card.status == "prose" and card.changes_schedules:
        yield file.problem("status", "a card with a change is `draft` or `checked`, not `prose`", "status")
    if card.status != "prose" and not card.changes_schedules:
        yield file.problem("status", f"a card without a change is `prose`, not `{card.status}`", "status")
