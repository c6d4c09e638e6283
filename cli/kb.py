"""`argus kb`: list, show, search and lint the technique cards."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar, get_args

import typer
from pydantic import BaseModel

from argus.cli.output import SCHEMA_VERSION, fail, print_json
from argus.retrieval.card import Card, Dtype, Family, Kind, Level, Status, Target
from argus.retrieval.load import corpus_folder, load_corpus
from argus.retrieval.problem import CardError

app = typer.Typer(no_args_is_help=True, help="The knowledge base: list, show, search, lint.")

Cards = Annotated[Path | None, typer.Option("--cards", help="Another folder of cards.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]

T = TypeVar("T", bound=str)


class CardLine(BaseModel, frozen=True):
    """One card in `argus kb list`; without `changes_schedules` it is documentation."""

    id: str
    title: str
    level: Level
    kind: Kind
    targets: tuple[str, ...]
    families: tuple[str, ...]
    status: Status
    changes_schedules: bool


class CardList(BaseModel, frozen=True):
    """What `argus kb list --json` prints."""

    schema_version: int = SCHEMA_VERSION
    cards: tuple[CardLine, ...]


class CardShown(BaseModel, frozen=True):
    """What `argus kb show --json` prints."""

    schema_version: int = SCHEMA_VERSION
    card: Card


@app.command("list")
def list_cards(cards: Cards = None, json: Json = False) -> None:
    """Every card: level, kind, targets, status, and whether it changes schedules."""
    lines = [
        CardLine(
            id=card.id,
            title=card.title,
            level=card.level,
            kind=card.kind,
            targets=card.targets,
            families=card.families,
            status=card.status,
            changes_schedules=card.changes_schedules,
        )
        for card in _load(cards, json=json).values()
    ]
    if json:
        print_json(CardList(cards=tuple(lines)))
        return
    rows = [("id", "level", "kind", "targets", "status", "schedule")]
    rows += [
        (c.id, c.level, c.kind, ",".join(c.targets), c.status, "changes it" if c.changes_schedules else "documentation")
        for c in lines
    ]
    _print_table(rows)
    changing = sum(c.changes_schedules for c in lines)
    typer.echo(f"{len(lines)} cards: {changing} change schedules, {len(lines) - changing} are documentation")


@app.command()
def show(card_id: Annotated[str, typer.Argument(metavar="ID")], cards: Cards = None, json: Json = False) -> None:
    """One card as it is written."""
    known = _load(cards, json=json)
    if card_id not in known:
        near = difflib.get_close_matches(card_id, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`argus kb list` names them all"
        fail("input", f"no card {card_id!r}", "ID", hint, json=json)
    if json:
        print_json(CardShown(card=known[card_id]))
    else:
        typer.echo(((cards or corpus_folder()) / f"{card_id}.md").read_text("utf-8").rstrip())


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="A question, a symptom, a few words.")],
    *,
    target: Annotated[str | None, typer.Option(help="gfx942 or sm_90a.")] = None,
    family: Annotated[str | None, typer.Option(help="gemm, attention, moe, …")] = None,
    dtype: Annotated[str | None, typer.Option(help="f16, bf16, f8, …")] = None,
    level: Annotated[str | None, typer.Option(help="global, tile or instruction.")] = None,
    kind: Annotated[str | None, typer.Option(help="optimisation, enabling or correctness.")] = None,
    status: Annotated[str | None, typer.Option(help="draft, checked or prose.")] = None,
    mode: Annotated[str, typer.Option(help="auto, bm25 (never loads torch) or vector.")] = "auto",
    top: Annotated[int, typer.Option(help="At most so many cards.")] = 5,
    store: Annotated[Path | None, typer.Option(help="Folder of the vectors.", show_default=False)] = None,
    cards: Cards = None,
    json: Json = False,
) -> None:
    """The cards that answer best, by words and meaning."""
    from argus.retrieval.embed import EmbedUnavailable  # noqa: PLC0415 - `argus kb list` needs none of this
    from argus.retrieval.index import StoreError  # noqa: PLC0415
    from argus.retrieval.query import Filters, Mode  # noqa: PLC0415
    from argus.retrieval.query import search as ask  # noqa: PLC0415

    if not query.strip():
        fail("usage", "the query is empty", "QUERY", "write what you look for, such as a symptom", json=json)
    if top < 1:
        fail("usage", f"--top {top} asks for nothing", "--top", "give a positive number", json=json)
    filters = Filters(
        target=_one_of("--target", target, [t for t in get_args(Target) if t != "any"], json=json),
        family=_one_of("--family", family, get_args(Family), json=json),
        dtype=_one_of("--dtype", dtype, get_args(Dtype), json=json),
        level=_one_of("--level", level, get_args(Level), json=json),
        kind=_one_of("--kind", kind, get_args(Kind), json=json),
        status=_one_of("--status", status, get_args(Status), json=json),
    )
    how: Mode = _one_of("--mode", mode, get_args(Mode), json=json) or "auto"
    try:
        result = ask(query, _load(cards, json=json), mode=how, filters=filters, top=top, store=store)
    except EmbedUnavailable as error:
        fail("toolchain", str(error), "--mode", "or use --mode bm25", json=json)
    except StoreError as error:
        hint = "use --mode bm25, name another folder with --store, or delete this one: it is rebuilt"
        fail("store", str(error), str(error.path), hint, json=json)
    if json:
        print_json(result)
        return
    typer.echo(f"{len(result.hits)} cards, mode {result.mode}" + (f" ({result.note})" if result.note else ""))
    for hit in result.hits:
        typer.echo(f"{hit.score:.4f}  {hit.id}: {hit.title}\n        [{hit.section}] {hit.excerpt}")


@app.command("lint")
def lint_cards(
    cards: Cards = None,
    write: Annotated[bool, typer.Option("--write-status", help="Write the statuses found into the cards.")] = False,
    json: Json = False,
) -> None:
    """Check every card. Exit 0: no fault in what was checked; 1: faults."""
    from argus.dsl.kernels import families  # noqa: PLC0415 - `argus kb list` needs no compiler
    from argus.retrieval.lint import lint, write_statuses  # noqa: PLC0415
    from argus.tools.lint import parse_invariant, prove  # noqa: PLC0415

    folder = cards or corpus_folder()
    if not folder.is_dir():
        fail("input", f"{folder} is no folder", "--cards", "name a folder of cards", json=json)
    readers = {name: family.parse_schedule for name, family in families().items()}
    report = lint(folder, families=readers, prove=prove, parse_invariant=parse_invariant)
    if write:
        write_statuses(folder, report)
    if json:
        print_json(report)
    else:
        for problem in report.problems:
            typer.echo(str(problem))
        statuses = list(report.statuses.values())
        counts = ", ".join(f"{statuses.count(s)} {s}" for s in get_args(Status) if s in statuses)
        typer.echo(f"{report.cards} cards ({counts}): {len(report.problems)} faults")
        for omitted in report.not_checked:
            typer.echo(f"not checked: {omitted}")
    if not report.ok:
        raise typer.Exit(code=1)


def _load(folder: Path | None, *, json: bool) -> dict[str, Card]:
    try:
        return load_corpus(folder)
    except CardError as error:
        first = error.problems[0]
        more = f" (and {len(error.problems) - 1} more faults)" if len(error.problems) > 1 else ""
        fail("input", f"{first.message}{more}", f"{first.file}:{first.line}", first.hint, json=json)


def _one_of(option: str, value: str | None, known: Sequence[T], *, json: bool) -> T | None:
    """The value as one of the known ones; ends the command otherwise."""
    for candidate in known:
        if value == candidate:
            return candidate
    if value is not None:
        fail("usage", f"{option} {value!r} is unknown", option, f"one of {', '.join(known)}", json=json)
    return None


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
