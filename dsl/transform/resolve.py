"""What each name means: integers and views are put where they are used, a fragment's name means one thing.

A fragment that is assigned again in the block that introduced it gets a new name (`x.2`): the types may differ. An
assignment in an inner block, such as a loop, is an update and keeps the name. Names that different blocks introduce
are told apart. Scoping has been checked before (`argus.dsl.ir.names`).
"""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from argus.dsl.ir.names import Entity, Is, entity_of, signature
from argus.dsl.ir.nodes import (
    Arrive,
    AsOperand,
    AssertComplete,
    Assign,
    AwaitPhase,
    Elect,
    Fill,
    For,
    Gather,
    If,
    Index,
    Kernel,
    MmaInto,
    Node,
    Operand,
    Ref,
    Role,
    Stmt,
    Tagged,
    TensorParam,
    Use,
    Value,
    View,
)
from argus.dsl.ir.rewrite import map_children, walk_body
from argus.dsl.layout import Expr, Var, substitute
from argus.dsl.layout import names as variables
from argus.dsl.transform.base import Fresh
from argus.dsl.transform.blocks import Body


@dataclass(frozen=True, slots=True)
class Resolve:
    """Names of integers and views are replaced by what they stand for."""

    name: ClassVar[str] = "resolve"

    def __call__(self, kernel: Kernel) -> Kernel:
        known = signature(kernel)
        # Loop variables keep their names, which fragments therefore avoid.
        loops = {n for s in walk_body(kernel.body) for n in (s.targets if isinstance(s, For) else ())}
        axes = frozenset(a for p in kernel.params if isinstance(p, TensorParam) for a in p.axes)
        resolver = _Resolver(known, Fresh(set(known) | loops), axes)
        return replace(kernel, body=resolver.block(kernel.body))


@dataclass(slots=True)
class _Scope:
    """What the source names of one block stand for in core form."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    integers: dict[str, Expr] = field(default_factory=dict[str, Expr])
    views: dict[str, View] = field(default_factory=dict[str, View])
    entities: dict[str, Entity] = field(default_factory=dict[str, Entity])


class _Resolver:
    def __init__(self, known: dict[str, Entity], fresh: Fresh, axes: frozenset[str]) -> None:
        self._fresh = fresh
        self._axes = axes
        self._scopes = [_Scope(names={n: n for n in known}, entities=dict(known))]

    # --------------------------------------------------------------------------------- statements

    def block(self, body: Body) -> Body:
        """A block with a scope of its own."""
        self._scopes.append(_Scope())
        out = self._statements(body)
        self._scopes.pop()
        return out

    def _statements(self, body: Body) -> Body:
        return tuple(new for old in body for new in self._statement(old))

    def _statement(self, node: Stmt) -> Body:
        match node:
            case Assign():
                return self._assign(node)
            case For(targets=targets, bounds=bounds):
                bounds = tuple(self._expr(b) for b in bounds)
                ordinal = (f"{targets[0]}.n",) if node.kind == "tiles" else ()
                return (replace(node, bounds=bounds, body=self._inner(node.body, *targets, *ordinal)),)
            case If(condition=condition):
                condition = self._expr(condition)
                return (
                    replace(node, condition=condition, body=self._inner(node.body), orelse=self._inner(node.orelse)),
                )
            case Role(index=index):
                return (replace(node, body=self._inner(node.body, *(() if index is None else (index,)))),)
            case Elect():
                return (replace(node, body=self._inner(node.body)),)
            case Fill() | Use():
                return (self._stage(node),)
            case _:
                return (self._node(node),)

    def _inner(self, body: Body, *indices: str) -> Body:
        self._scopes.append(_Scope(names={n: n for n in indices}, entities={n: Entity(Is.INDEX) for n in indices}))
        out = self._statements(body)
        self._scopes.pop()
        return out

    def _stage(self, node: Fill | Use) -> Stmt:
        # The block becomes part of the one around it, so its names are that block's.
        scope = self._scopes[-1]
        scope.names[node.stage] = node.stage
        scope.entities[node.stage] = Entity(Is.STAGE, buffers=self._entities()[node.ring].buffers)
        body = self._statements(node.body)
        del scope.names[node.stage], scope.entities[node.stage]
        return replace(node, ring=self._name(node.ring), body=body)

    # -------------------------------------------------------------------------------- assignments

    def _assign(self, node: Assign) -> Body:
        entity = entity_of(node.value, self._entities())
        scope = self._scopes[-1]
        name = node.targets[0]
        match entity.kind, node.value:
            case Is.INTEGER, Index(expr=expr):
                scope.entities[name], scope.integers[name] = entity, self._expr(expr)
                return ()
            case Is.VIEW, value if not isinstance(value, Tagged):
                view, copies = self._kept(name, cast("View", self._node(cast("Node", value))))
                scope.entities[name], scope.views[name] = entity, view
                return copies
            case _:
                value = self._node(cast("Node", node.value))
                targets = tuple(self._target(n, entity) for n in node.targets)
                return (replace(node, targets=targets, value=cast("Value", value)),)

    def _kept(self, name: str, view: View) -> tuple[View, Body]:
        """A view keeps the row numbers it was made with, whatever happens to their fragment later."""
        copies: list[Stmt] = []

        def visit(child: Any) -> Any:  # noqa: ANN401
            if isinstance(child, Gather) and isinstance(child.index, Ref) and "." not in child.index.name:
                copy = self._fresh.part(name, "rows")
                copies.append(Assign(targets=(copy,), value=child.index, span=child.span))
                child = replace(child, index=Ref(name=copy, span=child.index.span))
            return map_children(child, visit) if isinstance(child, Node) else child

        return visit(view), tuple(copies)

    def _target(self, name: str, entity: Entity) -> str:
        scope = self._scopes[-1]
        if name not in scope.names:
            for outer in reversed(self._scopes):
                if name in outer.names and entity.kind is Is.FRAG:
                    return outer.names[name]
        scope.entities[name] = entity
        scope.names[name] = self._fresh.version(name)
        return scope.names[name]

    # --------------------------------------------------------------------------------------- uses

    def _entities(self) -> ChainMap[str, Entity]:
        return ChainMap(*(s.entities for s in reversed(self._scopes)))

    def _name(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope.names:
                return scope.names[name]
        raise AssertionError(f"`{name}` is not in scope")

    def _expr(self, e: Expr, without: frozenset[str] = frozenset()) -> Expr:
        env: dict[str, Expr] = {}
        for name in variables(e) - without:
            env[name] = self._integer(name)
        return substitute(e, env) if env else e

    def _integer(self, name: str) -> Expr:
        for scope in reversed(self._scopes):
            if name in scope.integers:
                return scope.integers[name]
            if name in scope.names:
                return Var(scope.names[name])
        raise AssertionError(f"`{name}` is not in scope")

    def _node(self, node: Any) -> Any:  # noqa: ANN401 - returns what it was given, views in place of their names
        match node:
            case Ref(name=name, span=span):
                for scope in reversed(self._scopes):
                    if name in scope.views:
                        return scope.views[name]
                    if name in scope.names:
                        return node if scope.names[name] == name else Ref(name=scope.names[name], span=span)
                raise AssertionError(f"`{name}` is not in scope")
            case Tagged(src=src, components=components):
                axes = self._axes
                parts = tuple((axis, self._expr(e, axes)) for axis, e in components)
                return replace(node, src=self._node(src), components=parts)
            case AssertComplete(x=x, sets=sets):
                # An axis is an element's own coordinate, unless an index has the same name.
                axes = frozenset(a for a in self._axes if all(a not in {*s.names, *s.integers} for s in self._scopes))
                return replace(node, x=self._node(x), sets=tuple((axis, self._expr(e, axes)) for axis, e in sets))
            case MmaInto(acc=acc) | Operand(acc=acc) | AsOperand(acc=acc):
                return replace(map_children(node, self._node), acc=self._name(acc))
            case Arrive(bar=bar) | AwaitPhase(bar=bar):
                return replace(map_children(node, self._node), bar=self._name(bar))
            case Node():
                return map_children(node, self._node)
            case _:
                return self._expr(node)
