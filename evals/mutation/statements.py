"""Slips in a list of statements: dropped, repeated, moved, put into or out of a loop or a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from argus.dsl import ir
from argus.dsl.layout import Const, Op, Var
from argus.evals.mutation.places import Body, Edit

_ARITHMETIC = (ir.Binary, ir.Unary, ir.Cast, ir.Scalar, ir.Select)


def dropped(*kinds: type) -> Edit:
    return _dropped_where(lambda stmt: isinstance(stmt, kinds))


def _dropped_where(chosen: Callable[[ir.Stmt], bool]) -> Edit:
    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if chosen(stmt) and len(body) > 1:
                yield (*body[:i], *body[i + 1 :])

    return edit


def _computes(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Assign) and isinstance(stmt.value, _ARITHMETIC)


dropped_arithmetic = _dropped_where(_computes)
dropped_move = _dropped_where(lambda stmt: isinstance(stmt, ir.Assign) and not _computes(stmt))


def repeated(*kinds: type) -> Edit:
    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if isinstance(stmt, kinds):
                yield (*body[: i + 1], stmt, *body[i + 1 :])

    return edit


def swapped_neighbours(body: Body) -> Iterator[Body]:
    for i in range(len(body) - 1):
        yield (*body[:i], body[i + 1], body[i], *body[i + 2 :])


def moved(*kinds: type, least: int = 2) -> Edit:
    """Elsewhere in the same list, by so many places at least; by one is what `swapped_neighbours` does as well."""

    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if isinstance(stmt, kinds):
                rest = (*body[:i], *body[i + 1 :])
                for j in range(len(rest) + 1):
                    if abs(i - j) >= least:
                        yield (*rest[:j], stmt, *rest[j:])

    return edit


def left_the_loop(body: Body) -> Iterator[Body]:
    """A statement of a loop's body, before or after the loop instead."""
    for i, stmt in enumerate(body):
        if isinstance(stmt, ir.For) and len(stmt.body) > 1:
            for j, other in enumerate(stmt.body):
                loop = replace(stmt, body=(*stmt.body[:j], *stmt.body[j + 1 :]))
                yield (*body[:i], other, loop, *body[i + 1 :])
                yield (*body[:i], loop, other, *body[i + 1 :])


def entered_the_loop(body: Body) -> Iterator[Body]:
    """A neighbour of a loop, inside it instead."""
    for i, stmt in enumerate(body):
        if isinstance(stmt, ir.For):
            if i:
                loop = replace(stmt, body=(body[i - 1], *stmt.body))
                yield (*body[: i - 1], loop, *body[i + 1 :])
            if i + 1 < len(body):
                loop = replace(stmt, body=(*stmt.body, body[i + 1]))
                yield (*body[:i], loop, *body[i + 2 :])


_GUARDED = (ir.Store, ir.CopyAsync, ir.Barrier, ir.Wait, ir.Arrive, ir.AwaitPhase, ir.MmaWait)


def guarded_first(body: Body) -> Iterator[Body]:
    """Statements skipped in a loop's first iteration, or done in that one only."""
    for i, stmt in enumerate(body):
        if isinstance(stmt, ir.For) and stmt.kind == "range":
            for j, inner in enumerate(stmt.body):
                if isinstance(inner, _GUARDED):
                    for condition in (
                        Op(">", (Var(stmt.targets[0]), Const(0))),
                        Op("==", (Var(stmt.targets[0]), Const(0))),
                    ):
                        guarded = ir.If(condition=condition, body=(inner,), span=inner.span)
                        loop = replace(stmt, body=(*stmt.body[:j], guarded, *stmt.body[j + 1 :]))
                        yield (*body[:i], loop, *body[i + 1 :])


def unwrapped(*kinds: type) -> Edit:
    """The statements of a block without what held them: without the condition, the role, the election."""

    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if isinstance(stmt, kinds):
                yield (*body[:i], *cast("ir.If", stmt).body, *body[i + 1 :])

    return edit


def split_off(*kinds: type) -> Edit:
    """The last statement of a block, after it instead."""

    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if isinstance(stmt, kinds) and len(inner := cast("ir.If", stmt).body) > 1:
                yield (*body[:i], replace(cast("ir.If", stmt), body=inner[:-1]), inner[-1], *body[i + 1 :])

    return edit
