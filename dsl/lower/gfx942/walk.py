"""Walks over core form: statements and the views that they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argus.dsl.ir import Assign, AtomicAdd, CopyAsync, For, If, Load, Operand, Stmt, Store, View


def every_statement(statements: Sequence[Stmt]) -> Iterator[Stmt]:
    """In text order, nested ones after those that hold them."""
    for s in statements:
        yield s
        if isinstance(s, For):
            yield from every_statement(s.body)
        elif isinstance(s, If):
            yield from every_statement(s.body)
            yield from every_statement(s.orelse)


def every_view(statements: Sequence[Stmt]) -> Iterator[View]:
    """Views that are read, written or copied."""
    for s in every_statement(statements):
        yield from views_of(s)


def views_of(s: Stmt) -> tuple[View, ...]:
    """Views that one statement touches."""
    match s:
        case Assign(value=Load(view=view)) | Store(view=view) | AtomicAdd(view=view):
            return (view,)
        case Assign(value=Operand(src=src)):
            return (src,)
        case CopyAsync(dst=dst, src=src):
            return dst, src
        case _:
            return ()
