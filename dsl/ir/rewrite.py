"""Walking and rebuilding trees of nodes, whatever their classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, cast

from argus.dsl.ir.nodes import Node, Stmt
from argus.dsl.layout import Const, Op, Var

N = TypeVar("N", bound=Node)
Child = Node | Const | Var | Op


@cache
def field_names(cls: type[Node]) -> tuple[str, ...]:
    """The fields that carry meaning: all but the span."""
    return tuple(f.name for f in fields(cls) if f.name != "span")


def map_children(node: N, fn: Callable[[Any], Any]) -> N:
    """`node` with `fn` applied to each direct child: nodes and whole index expressions, also inside tuples."""
    changes: dict[str, Any] = {}
    for name in field_names(type(node)):
        old = getattr(node, name)
        new = _map_value(old, fn)
        if new is not old:
            changes[name] = new
    return replace(node, **changes) if changes else node


def _map_value(value: Any, fn: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - any field of any node
    if isinstance(value, Child):
        return fn(value)
    if isinstance(value, tuple):
        old = cast("tuple[Any, ...]", value)
        new = tuple(_map_value(v, fn) for v in old)
        return old if all(a is b for a, b in zip(new, old, strict=True)) else new
    return value


def children(node: Node) -> Iterator[Child]:
    """Direct children, in the order of the fields."""
    for name in field_names(type(node)):
        yield from _members(getattr(node, name))


def _members(value: Any) -> Iterator[Child]:  # noqa: ANN401
    if isinstance(value, Child):
        yield value
    elif isinstance(value, tuple):
        for member in cast("tuple[Any, ...]", value):
            yield from _members(member)


def walk(node: Node) -> Iterator[Node]:
    """`node` and all nodes below it, depth first."""
    stack: list[Any] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack += reversed(cast("tuple[Any, ...]", top))
        elif isinstance(top, Node):
            yield top
            stack += [getattr(top, name) for name in _nested(type(top))]


_UNIONS = frozenset({"View", "Frag", "Value", "Stmt", "Param"})


@cache
def _nested(cls: type[Node]) -> tuple[str, ...]:
    """Fields whose annotation mentions a kind of node, last first."""
    kinds = _UNIONS | {c.__name__ for c in Node.__subclasses__()}
    names = [f.name for f in fields(cls) if kinds & set(re.findall(r"\w+", str(f.type)))]
    return tuple(reversed(names))


def walk_body(body: tuple[Stmt, ...]) -> Iterator[Node]:
    for statement in body:
        yield from walk(statement)
