"""HTML as values: text is escaped unless it is markup already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias


class Html(str):
    """Markup, printed as it stands. Joining it with text by `+` gives text again, which is escaped: safe by default."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"
Attribute = str | int | float | bool | None

EMPTY = Html("")


def h(tag: str, /, *children: Child, **attributes: Attribute) -> Html:
    """One element.

    Args:
        tag: Its name.
        children: Text, markup, numbers, None (nothing), or sequences of these.
        attributes: `class_` becomes `class`, `data_v` becomes `data-v`; True stands bare, None and False are left out.
    """
    inner = "".join(markup(child) for child in children)
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    return Html(f"<{tag}{told}>" if tag in _VOID else f"<{tag}{told}>{inner}</{tag}>")


def markup(child: Child) -> Html:
    """A child as markup."""
    if child is None:
        return EMPTY
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int):
        return Html(escape(str(child)))
    return Html("".join(markup(part) for part in child))


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column; numbers stand flush right."""

    title: Child
    number: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a row; `sort` orders rows where the text would not."""

    child: Child
    sort: float | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    cells: Sequence[Child | Cell]
    kind: str = ""


def table(columns: Sequence[Child | Column], rows: Iterable[Row | Sequence[Child | Cell]], kind: str = "") -> Html:
    """A table that scrolls sideways on narrow screens. Columns that are plain text hold text."""
    known = [c if isinstance(c, Column) else Column(c, number=False) for c in columns]
    head = [h("th", c.title, scope="col", class_="n" if c.number else None) for c in known]
    body = [_row(known, row if isinstance(row, Row) else Row(row)) for row in rows]
    return h("div", h("table", h("thead", h("tr", head)), h("tbody", body), class_=kind or None), class_="scroll")


def _row(columns: Sequence[Column], row: Row) -> Html:
    cells = [_cell(c, x if isinstance(x, Cell) else Cell(x)) for c, x in zip(columns, row.cells, strict=True)]
    return h("tr", cells, class_=row.kind or None)


def _cell(column: Column, cell: Cell) -> Html:
    kind = f"{'n' if column.number else ''} {cell.kind}".strip()
    return h("td", cell.child, class_=kind or None, data_v=cell.sort)


def facts(pairs: Iterable[tuple[Child, Child]]) -> Html:
    """Names and values; pairs without a value are left out."""
    return h("dl", [(h("dt", name), h("dd", value)) for name, value in pairs if value not in (None, "")])


def fold(summary: Child, *children: Child, open_: bool = False) -> Html:
    """Something that is shown on demand; printing shows it."""
    return h("details", h("summary", summary), *children, open=open_)


def listed(items: Iterable[Child]) -> Html:
    return h("ul", [h("li", item) for item in items])


_VOID = frozenset({"br", "col", "hr", "img", "link", "meta"})


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
