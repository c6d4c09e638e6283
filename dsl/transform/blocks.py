"""Statements that hold statements, rebuilt in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from argus.dsl.ir.nodes import Elect, Fill, For, If, Kernel, Role, Stmt, Use

Body = tuple[Stmt, ...]


def with_bodies(statement: Stmt, fn: Callable[[Body], Body]) -> Stmt:
    """`statement` with `fn` applied to the blocks directly below it."""
    match statement:
        case If():
            return replace(statement, body=fn(statement.body), orelse=fn(statement.orelse))
        case For() | Role() | Elect() | Fill() | Use():
            return replace(statement, body=fn(statement.body))
        case _:
            return statement


def map_statements(kernel: Kernel, fn: Callable[[Stmt], Body]) -> Kernel:
    """Replace each statement, innermost first."""

    def block(body: Body) -> Body:
        return tuple(new for old in body for new in fn(with_bodies(old, block)))

    return replace(kernel, body=block(kernel.body))
