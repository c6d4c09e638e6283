"""A source line with a caret under a span, for diagnostics and counterexamples."""

from __future__ import annotations

from collections.abc import Sequence

from argus.dsl.diagnostics.span import Span

_WIDTH = 160  # of a shown line; longer ones are cut around the span
_BEFORE = 60


def excerpt(span: Span, lines: Sequence[str], note: str = "") -> list[str]:
    """Two lines, source and caret, with `note` behind the caret; none if the span lies outside `lines`."""
    if not 1 <= span.line <= len(lines):
        return []
    text = lines[span.line - 1]
    end = span.end_col if span.end_line == span.line else len(text) + 1
    start, length = span.col - 1, max(1, end - span.col)
    if len(text) > _WIDTH:
        first = max(0, start - _BEFORE)
        lead = "…" if first else ""
        text = lead + text[first : first + _WIDTH] + ("…" if first + _WIDTH < len(text) else "")
        start = start - first + len(lead)
        length = min(length, max(1, len(text) - start))
    gutter = " " * len(str(span.line))
    return [f"  {span.line} | {text}", f"  {gutter} | {' ' * start}{'^' * length} {note}".rstrip()]
