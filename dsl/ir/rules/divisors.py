"""Divisions by zero in index expressions, extents and preconditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from argus.dsl.diagnostics import Code, Diagnostic, Span
from argus.dsl.ir.linear import constant
from argus.dsl.ir.nodes import Kernel, Node
from argus.dsl.ir.report import diagnostic
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import Expr, Op

_DIVISIONS = ("//", "%", "cdiv")


def divisor_problems(kernel: Kernel, nodes: tuple[Node, ...]) -> Iterator[Diagnostic]:
    """Quotients and remainders whose divisor is zero whatever the sizes are."""
    for node in (*kernel.params, *nodes):
        for name in node.__dataclass_fields__:
            yield from _zero(getattr(node, name), node.span)
    for predicate in kernel.where:
        yield from _zero(predicate, kernel.span)


def _zero(value: object, span: Span) -> Iterator[Diagnostic]:
    match value:
        case Op(kind, args):
            if kind in _DIVISIONS and constant(cast("Expr", args[1])) == 0:
                message = f"{show_expr(value)} divides by zero"
                yield diagnostic(Code.BAD_SIZE, span, message, "divide by the number of stages, or of tiles: 1 or more")
            for arg in args:
                yield from _zero(arg, span)
        case tuple():
            for item in cast("tuple[object, ...]", value):
                if not isinstance(item, Node):  # nodes come on their own
                    yield from _zero(item, span)
        case _:
            pass
