"""Walks over core form: statements and the views that they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from argus.dsl.ir import Assign, AtomicAdd, CopyAsync, For, If, Load, Operand, Stmt, Store, View
from argus.dsl.layout import Const
from argus.dsl.lower.gfx942.facts import constant
from argus.dsl.lower.gfx942.index import Indices


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


def unrolled_views(statements: Sequence[Stmt], indices: Indices) -> Iterator[View]:
    """The same, unrolled loops written out; `indices` knows their variables while a view is looked at."""
    for s in statements:
        yield from views_of(s)
        match s:
            case For(kind="unroll", targets=(name,), bounds=(_, stop)):
                for i in range(constant(indices.resolve(stop)) or 0):
                    with indices.knowing({name: Const(i)}):
                        yield from unrolled_views(s.body, indices)
            case For():
                yield from unrolled_views(s.body, indices)
            case If():
                yield from unrolled_views((*s.body, *s.orelse), indices)
            case _:
                pass


def views_of(s: Stmt) -> tuple[View, ...]:
    match s:
        case Assign(value=Load(view=view)) | Store(view=view) | AtomicAdd(view=view):
            return (view,)
        case Assign(value=Operand(src=src)):
            return (src,)
        case CopyAsync(dst=dst, src=src):
            return dst, src
        case _:
            return ()
