"""Lint of the corpus: every fault with file and line, and what was not looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import BaseModel, computed_field

from argus.retrieval import wordpieces
from argus.retrieval.card import Card, Status
from argus.retrieval.links import check_links
from argus.retrieval.load import CardFile, corpus_folder, load_sources, read_corpus
from argus.retrieval.problem import CardError, Problem
from argus.retrieval.rules import Families, check_card, example_schedules

SCHEMA_VERSION = 1

Prove = Callable[[str, BaseModel], bool]
ParseInvariant = Callable[[str], str | None]


class LintReport(BaseModel, frozen=True):
    """What lint found.

    Attributes:
        cards: How many cards could be read.
        documentation: Cards without a change: only a model can apply them.
        statuses: The status that each card deserves: `checked` needs both callables of `lint` and no fault.
        not_checked: What this run did not look at, in words; empty when nothing was left out.
    """

    schema_version: int = SCHEMA_VERSION
    cards: int
    problems: tuple[Problem, ...]
    documentation: tuple[str, ...]
    statuses: dict[str, Status]
    not_checked: tuple[str, ...]

    @computed_field
    @property
    def ok(self) -> bool:
        """No fault among what was checked."""
        return not self.problems


def lint(
    folder: Path | None = None,
    *,
    families: Families,
    prove: Prove | None = None,
    parse_invariant: ParseInvariant | None = None,
) -> LintReport:
    """Check every card of a folder.

    Args:
        folder: The installed corpus, if left out.
        families: By name, how to read a schedule from the fields that differ from the start; ValueError if illegal.
        prove: Whether every obligation of a schedule's kernel is proved.
        parse_invariant: Why an invariant's text is not of the kernel language; None if it is.
    """
    folder = folder or corpus_folder()
    files, found = read_corpus(folder)
    problems = list(found)
    try:
        sources = load_sources(folder)
    except CardError as error:
        sources = {}
        problems += error.problems
    for file in files:
        problems += check_card(file, families, sources)
        problems += _invariants(file, parse_invariant)
        problems += _proofs(file, families, prove)
    problems += check_links({file.card.id: file for file in files})
    verified = prove is not None and parse_invariant is not None
    faulty = {problem.file for problem in problems}
    statuses: dict[str, Status] = {f.card.id: _status(f.card, verified and f.path.name not in faulty) for f in files}
    for file in files:
        if verified and file.card.status == "checked" and statuses[file.card.id] != "checked":
            problems.append(file.problem("status", "says `checked`, and lint finds faults", "status"))
    return LintReport(
        cards=len(files),
        problems=tuple(sorted(problems, key=lambda p: (p.file, p.line, p.rule))),
        documentation=tuple(file.card.id for file in files if not file.card.changes_schedules),
        statuses=statuses,
        not_checked=tuple(_left_out(prove, parse_invariant)),
    )


def write_statuses(folder: Path, report: LintReport) -> list[str]:
    """Write the statuses that lint found into the cards; returns the ids that changed."""
    changed: list[str] = []
    for file in read_corpus(folder)[0]:
        status = report.statuses.get(file.card.id, file.card.status)
        if status == file.card.status:
            continue
        lines = file.path.read_text("utf-8").splitlines(keepends=True)
        at = file.line("status") - 1
        lines[at] = f"status: {status}\n"
        file.path.write_text("".join(lines), "utf-8")
        changed.append(file.card.id)
    return changed


def _status(card: Card, verified: bool) -> Status:
    if not card.changes_schedules:
        return "prose"
    return "checked" if verified else "draft"


def _invariants(file: CardFile, parse: ParseInvariant | None) -> Iterator[Problem]:
    for i, invariant in enumerate(file.card.invariants if parse else ()):
        assert parse is not None
        if reason := parse(invariant.text):
            yield file.problem("invariant", f"`{invariant.text}` does not parse: {reason}", "invariants", i, "text")


def _proofs(file: CardFile, families: Families, prove: Prove | None) -> Iterator[Problem]:
    example = file.card.example
    if prove is None or example is None or example.family not in families:
        return
    for side, schedule in example_schedules(example, families[example.family]).items():
        if not isinstance(schedule, str) and not prove(example.family, schedule):
            yield file.problem("example", f"{side} is not proved", "example", side)


def _left_out(prove: Prove | None, parse_invariant: ParseInvariant | None) -> Iterator[str]:
    if prove is None:
        yield "examples were not proved: no checker was given"
    if parse_invariant is None:
        yield "invariants were not parsed: no parser was given"
    if not wordpieces.exact():
        yield "section lengths were estimated: the `embed` extra, which has the vocabulary, is not installed"
