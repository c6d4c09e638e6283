"""Indices that constant loops decide: sub-views that lie outside their source."""

from __future__ import annotations

from collections.abc import Iterator

from argus.dsl.diagnostics import Code, Diagnostic
from argus.dsl.ir.nodes import At, Cols, Node, Rows, Stmt
from argus.dsl.ir.report import diagnostic
from argus.dsl.ir.rewrite import children
from argus.dsl.ir.rules.place import Place
from argus.dsl.ir.shapes import Types, view_type
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import Const


def bounds_problems(types: Types, node: Stmt, place: Place) -> Iterator[Diagnostic]:
    """Fixed indices, rows and columns beyond a constant extent."""
    for view in _views(node):
        match view:
            case At(src=src, index=start):
                axis, count = 0, 1
            case Rows(src=src, start=start, count=count):
                axis = 0
            case Cols(src=src, start=start, count=count):
                axis = 1
            case _:
                continue
        extent, at = view_type(types, src).shape[axis], place.bounds(start)
        if at is None or not isinstance(extent, Const):
            continue
        if at[0] < 0 or at[1] + count > extent.value:
            last = at[1] + count - 1 if at[1] + count > extent.value else at[0]
            what = ("index", "rows", "columns")[0 if isinstance(view, At) else axis + 1]
            message = f"{what} {show_expr(start)} reaches {last}, there are 0 to {extent.value - 1}"
            yield diagnostic(Code.BAD_SHAPE, view.span, message, "stay inside, or take tiles, which read pads outside")


def _views(node: Stmt) -> Iterator[Node]:
    """Views of one statement, without the statements in it."""
    stack: list[Node] = [c for c in children(node) if isinstance(c, Node) and not isinstance(c, Stmt)]
    while stack:
        top = stack.pop()
        yield top
        stack += [c for c in children(top) if isinstance(c, Node)]
