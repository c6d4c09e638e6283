"""Slips in a list of statements: dropped, repeated, moved, put into or out of a loop or a branch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argus.dsl import ir
from argus.dsl.layout import Const, Op, Var
from argus.evals.mutation.places import Body, Edit


def dropped(*kinds: type) -> Edit:
    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if isinstance(stmt, kinds) and len(body) > 1:
                yield (*body[:i], *body[i + 1 :])

    return edit


def repeated(*kinds: type) -> Edit:
    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if isinstance(stmt, kinds):
                yield (*body[: i + 1], stmt, *body[i + 1 :])

    return edit


def swapped_neighbours(body: Body) -> Iterator[Body]:
    for i in range(len(body) - 1):
        yield (*body[:i], body[i + 1], body[i], *body[i + 2 :])


def moved_sync(body: Body) -> Iterator[Body]:
    for i, stmt in enumerate(body):
        if isinstance(stmt, ir.Barrier | ir.Wait | ir.Commit):
            rest = (*body[:i], *body[i + 1 :])
            for j in range(len(rest) + 1):
                if abs(i - j) > 1:
                    yield (*rest[:j], stmt, *rest[j:])


def left_the_loop(body: Body) -> Iterator[Body]:
    """A statement of a loop's body, before or after the loop instead."""
    for i, stmt in enumerate(body):
        if isinstance(stmt, ir.For) and len(stmt.body) > 1:
            for j, moved in enumerate(stmt.body):
                loop = replace(stmt, body=(*stmt.body[:j], *stmt.body[j + 1 :]))
                yield (*body[:i], moved, loop, *body[i + 1 :])
                yield (*body[:i], loop, moved, *body[i + 1 :])


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


def guarded_first(body: Body) -> Iterator[Body]:
    """Statements skipped in a loop's first iteration, or done in that one only."""
    for i, stmt in enumerate(body):
        if isinstance(stmt, ir.For) and stmt.kind == "range":
            for j, inner in enumerate(stmt.body):
                if isinstance(inner, ir.Store | ir.CopyAsync | ir.Barrier | ir.Wait):
                    for condition in (
                        Op(">", (Var(stmt.targets[0]), Const(0))),
                        Op("==", (Var(stmt.targets[0]), Const(0))),
                    ):
                        guarded = ir.If(condition=condition, body=(inner,), span=inner.span)
                        loop = replace(stmt, body=(*stmt.body[:j], guarded, *stmt.body[j + 1 :]))
                        yield (*body[:i], loop, *body[i + 1 :])


def unguarded(body: Body) -> Iterator[Body]:
    for i, stmt in enumerate(body):
        if isinstance(stmt, ir.If):
            yield (*body[:i], *stmt.body, *body[i + 1 :])
