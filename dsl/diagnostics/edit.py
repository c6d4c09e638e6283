"""A change of kernel text, exact enough to be applied by a program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel

from argus.dsl.diagnostics.span import Span


class Edit(BaseModel, frozen=True):
    """`new` instead of the text at `span`, or as a line of its own before or after its lines; or these deleted."""

    span: Span
    new: str
    where: Literal["instead", "before", "after", "delete"] = "instead"

    def place(self, lines: list[str]) -> tuple[Span, str]:
        """The range to delete, which may be empty, and what to put there."""
        if self.where == "instead":
            return self.span, self.new
        if self.where == "delete":
            return Span(self.span.file, self.span.line, 1, self.span.end_line + 1, 1), ""
        line = lines[self.span.line - 1]
        indent = line[: len(line) - len(line.lstrip())]
        at = self.span.line if self.where == "before" else self.span.end_line + 1
        return Span(self.span.file, at, 1, at, 1), f"{indent}{self.new}\n"


class Advice(BaseModel, frozen=True):
    """Edits that would help though nothing is wrong; they were checked: no proof is lost by them."""

    line: int
    text: str
    edits: tuple[Edit, ...]


def apply(edits: Iterable[Edit], text: str) -> str:
    """The text after the edits, whose spans do not overlap and are those of `text`."""
    if not text.endswith("\n"):
        text += "\n"
    lines = text.splitlines(keepends=True)
    plain = text.splitlines()
    places = [edit.place(plain) for edit in edits]
    for span, new in sorted(places, key=lambda p: (p[0].line, p[0].col), reverse=True):
        if span.line > len(lines):
            lines.append(new)
            continue
        last = lines[span.end_line - 1][span.end_col - 1 :] if span.end_line <= len(lines) else ""
        lines[span.line - 1 : span.end_line] = [lines[span.line - 1][: span.col - 1] + new + last]
    return "".join(lines)
