"""One fragment operation a statement: inner ones get names, in order of evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from argus.dsl.ir.nodes import (
    AssertMatch,
    Assign,
    At,
    AtomicAdd,
    Cols,
    Component,
    CopyAsync,
    Field,
    Frag,
    Gather,
    Index,
    Kernel,
    MmaInto,
    Node,
    Ref,
    Ring,
    Rows,
    Scalar,
    Stmt,
    Store,
    TileAt,
    Transposed,
    Value,
    View,
)
from argus.dsl.ir.rewrite import map_children
from argus.dsl.transform.base import Fresh
from argus.dsl.transform.blocks import Body, with_bodies

_VIEWS = (TileAt, At, Rows, Cols, Transposed, Gather, Field)


@dataclass(frozen=True, slots=True)
class Flatten:
    """Nested fragment operations become one a statement; what is computed, and in which order, stays."""

    name: ClassVar[str] = "flatten"

    def __call__(self, kernel: Kernel) -> Kernel:
        fresh = Fresh()
        return replace(kernel, body=_block(kernel.body, fresh))


def _block(body: Body, fresh: Fresh) -> Body:
    out: list[Stmt] = []
    for statement in body:
        out += _statement(with_bodies(statement, lambda inner: _block(inner, fresh)), fresh)
    return tuple(out)


def _statement(statement: Stmt, fresh: Fresh) -> list[Stmt]:
    flat = _Flat(_owner(statement), fresh)
    match statement:
        case Assign(value=value):
            statement = replace(statement, value=flat.operation(value))
        case MmaInto():
            statement = replace(statement, a=flat.atom(statement.a), b=flat.atom(statement.b))
        case Store(stage=stage):
            stage = None if stage is None else flat.view(stage)
            value = flat.atom(statement.value)
            statement = replace(statement, view=flat.view(statement.view), value=value, stage=stage)
        case AtomicAdd():
            value = flat.atom(statement.value)
            statement = replace(statement, view=flat.view(statement.view), value=value)
        case CopyAsync():
            statement = replace(statement, dst=flat.view(statement.dst), src=flat.view(statement.src))
        case AssertMatch():
            statement = replace(statement, x=flat.component(statement.x), y=flat.component(statement.y))
        case _:
            pass
    return [*flat.out, statement]


def _owner(statement: Stmt) -> str:
    match statement:
        case Assign(targets=(name, *_)) | MmaInto(acc=name):
            return name
        case Store(view=view) | AtomicAdd(view=view) | CopyAsync(dst=view):
            return _root(view)
        case _:
            return "x"


def _root(view: View) -> str:
    while not isinstance(view, Ref):
        view = view.src
    return view.name


@dataclass(slots=True)
class _Flat:
    """Builds the statements that come before one statement."""

    owner: str
    fresh: Fresh
    out: list[Stmt] = field(default_factory=list[Stmt])

    def operation(self, value: Value) -> Value:
        """`value` with atoms for operands."""
        match value:
            case Ring():
                return value
            case _:
                return map_children(value, self._operand)

    def atom(self, value: Frag) -> Frag:
        """A name, a literal or an integer that stands for `value`."""
        if isinstance(value, Ref | Scalar | Index):
            return value
        flat = cast("Frag", self.operation(value))
        name = self.fresh.part(self.owner, "t")
        self.out.append(Assign(targets=(name,), value=flat, span=value.span))
        return Ref(name=name, span=value.span)

    def view(self, view: View) -> View:
        """`view` with atoms for the fragments inside."""
        return view if isinstance(view, Ref) else map_children(view, self._operand)

    def component(self, component: Component) -> Component:
        return replace(component, src=self.atom(component.src))

    def _operand(self, child: Any) -> Any:  # noqa: ANN401 - an index expression, a view or a fragment
        if not isinstance(child, Node):
            return child
        return self.view(child) if isinstance(child, _VIEWS) else self.atom(cast("Frag", child))
