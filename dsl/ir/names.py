"""Scoping: what a name stands for, where it may be used, and what may be assigned again.

A block's names end with it. Integers, views and allocations are named once; fragments are variables.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from argus.dsl.diagnostics import Code, Diagnostic, Span
from argus.dsl.ir.nodes import (
    Arrive,
    AsOperand,
    AssertComplete,
    Assign,
    At,
    AtomicAdd,
    AwaitPhase,
    Block,
    Cols,
    Copy,
    CopyAsync,
    Dtype,
    Elect,
    Field,
    Fill,
    For,
    Gather,
    If,
    Index,
    Kernel,
    Load,
    MBar,
    MmaInto,
    Node,
    OnlineSoftmax,
    Operand,
    Ref,
    Ring,
    Role,
    Rows,
    Shared,
    Split,
    Stmt,
    Store,
    Tagged,
    TensorParam,
    TileAt,
    Transposed,
    Use,
    Value,
    View,
)
from argus.dsl.ir.report import did_you_mean
from argus.dsl.ir.rewrite import field_names
from argus.dsl.layout import Const, Expr, Op, Var
from argus.dsl.layout import names as variables


class Is(StrEnum):
    """The value completes "`x` is …"."""

    TENSOR = "a tensor"
    SCALAR = "a scalar argument"
    SIZE = "a size"
    INTEGER = "an integer"
    INDEX = "an index"
    VIEW = "a view"
    SHARED = "a shared buffer"
    RING = "a ring"
    STAGE = "a stage of a ring"
    BAR = "an mbar"
    FRAG = "a fragment"


INTEGERS = frozenset({Is.SIZE, Is.INTEGER, Is.INDEX})
VIEWS = frozenset({Is.TENSOR, Is.VIEW, Is.SHARED})
FRAGS = frozenset({Is.SCALAR, Is.FRAG})
VIEW_NODES = (TileAt, At, Rows, Cols, Transposed, Gather, Field)


@dataclass(frozen=True, slots=True)
class Entity:
    """What a name stands for; dtype and rank of memory, (dtype, rank) of a ring's buffers."""

    kind: Is
    dtype: Dtype | None = None
    rank: int = 0
    buffers: Mapping[str, tuple[Dtype, int]] = field(default_factory=dict[str, tuple[Dtype, int]])


UNKNOWN = Entity(Is.FRAG)


def signature(kernel: Kernel) -> dict[str, Entity]:
    """Parameters and size symbols."""
    out: dict[str, Entity] = {}
    for p in kernel.params:
        if isinstance(p, TensorParam):
            out[p.name] = Entity(Is.TENSOR, p.dtype, len(p.shape))
        else:
            out[p.name] = Entity(Is.SIZE if p.dtype == "i32" else Is.SCALAR, p.dtype)
    for p in kernel.params:
        if isinstance(p, TensorParam):
            for extent in p.shape:
                for name in sorted(variables(extent)):
                    out.setdefault(name, Entity(Is.SIZE))
    return out


def view_entity(view: View, scope: Mapping[str, Entity]) -> Entity:
    """Dtype and rank of a view."""
    match view:
        case Ref(name=name):
            return scope.get(name, UNKNOWN)
        case Field(src=src, name=name):
            dtype, rank = scope.get(src.name, UNKNOWN).buffers.get(name, (None, 0))
            return Entity(Is.VIEW, dtype, rank)
        case TileAt(src=src, shape=shape):
            return Entity(Is.VIEW, view_entity(src, scope).dtype, len(shape))
        case At(src=src):
            inner = view_entity(src, scope)
            return Entity(Is.VIEW, inner.dtype, inner.rank - 1)
        case _:
            inner = view_entity(view.src, scope)
            return Entity(Is.VIEW, inner.dtype, inner.rank)


def entity_of(value: Value, scope: Mapping[str, Entity]) -> Entity:
    """What a name that is assigned `value` stands for."""
    match value:
        case Index():
            return Entity(Is.INTEGER)
        case Ref(name=name):
            found = scope.get(name, UNKNOWN)
            return Entity(Is.VIEW if found.kind in VIEWS else Is.FRAG, found.dtype, found.rank)
        case Shared(dtype=dtype, shape=shape):
            return Entity(Is.SHARED, dtype, len(shape))
        case Ring(buffers=buffers):
            return Entity(Is.RING, buffers={name: (b.dtype, len(b.shape)) for name, b in buffers})
        case MBar():
            return Entity(Is.BAR)
        case Block() | Split():
            return Entity(Is.INDEX)
        case Load(view=view):
            inner = view_entity(view, scope)
            # A loaded i32 scalar is the same in every lane, so it serves as an index.
            return Entity(Is.INDEX if inner.dtype == "i32" and inner.rank == 0 else Is.FRAG)
        case Tagged(src=src) if isinstance(src, (Ref, *VIEW_NODES)):
            return entity_of(cast("Value", src), scope)
        case _ if isinstance(value, VIEW_NODES):
            return view_entity(value, scope)
        case _:
            return Entity(Is.FRAG)


def results(value: Value) -> int:
    """How many names the value of an assignment takes."""
    match value:
        case Block(counts=counts):
            return len(counts)
        case Split():
            return 2
        case OnlineSoftmax():
            return 4
        case _:
            return 1


def problems(kernel: Kernel) -> list[Diagnostic]:
    """Every name that is undefined, misused, or assigned where it may not be."""
    checker = _Checker(kernel)
    checker.body(kernel.body)
    return checker.found


# What a `Ref` in this place must stand for; elsewhere a fragment.
_PLACES: dict[tuple[type[Node], str], frozenset[Is]] = {
    **{(cls, "src"): VIEWS for cls in (TileAt, At, Rows, Cols, Transposed, Gather)},
    (Field, "src"): frozenset({Is.STAGE}),
    (Load, "view"): VIEWS,
    (Store, "view"): VIEWS,
    (Store, "stage"): VIEWS,
    (AtomicAdd, "view"): VIEWS,
    (Copy, "dst"): VIEWS,
    (Copy, "src"): VIEWS,
    (CopyAsync, "dst"): VIEWS,
    (CopyAsync, "src"): VIEWS,
    (Operand, "src"): VIEWS | FRAGS,
    (Tagged, "src"): VIEWS | FRAGS,
    (Assign, "value"): VIEWS | FRAGS,
}
# Names that are kept as text.
_TEXTS: dict[type[Node], tuple[str, Is]] = {
    MmaInto: ("acc", Is.FRAG),
    Operand: ("acc", Is.FRAG),
    AsOperand: ("acc", Is.FRAG),
    Arrive: ("bar", Is.BAR),
    AwaitPhase: ("bar", Is.BAR),
    Fill: ("ring", Is.RING),
    Use: ("ring", Is.RING),
}
_BODIES = frozenset({"body", "orelse", "targets"})


class _Checker:
    def __init__(self, kernel: Kernel) -> None:
        self.found: list[Diagnostic] = []
        self._fixed = signature(kernel)
        self._axes = {a for p in kernel.params if isinstance(p, TensorParam) for a in p.axes}
        self._blocks: list[dict[str, Entity]] = [dict(self._fixed), {}]

    # ------------------------------------------------------------------------------------- scopes

    @property
    def _scope(self) -> dict[str, Entity]:
        merged: dict[str, Entity] = {}
        for block in self._blocks:
            merged |= block
        return merged

    def _get(self, name: str) -> Entity | None:
        for block in reversed(self._blocks):
            if name in block:
                return block[name]
        return None

    @contextmanager
    def _block(self) -> Generator[None]:
        self._blocks.append({})
        yield
        self._blocks.pop()

    def _report(self, code: Code, span: Span, message: str, hint: str = "") -> None:
        self.found.append(Diagnostic(code=code, message=message, span=span, hint=hint))

    # --------------------------------------------------------------------------------- statements

    def body(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: Stmt) -> None:
        self._uses(node, node.span)
        match node:
            case Assign():
                self._assign(node)
            case For():
                with self._block():
                    for name in (*node.targets, *((f"{node.targets[0]}.n",) if node.kind == "tiles" else ())):
                        self._bind(name, Entity(Is.INDEX), node.span)
                    self.body(node.body)
            case If():
                for branch in (node.body, node.orelse):
                    with self._block():
                        self.body(branch)
            case Role():
                with self._block():
                    if node.index is not None:
                        self._bind(node.index, Entity(Is.INDEX), node.span)
                    self.body(node.body)
            case Elect():
                with self._block():
                    self.body(node.body)
            case Fill() | Use():
                self._stage(node)
            case _:
                pass

    def _stage(self, node: Fill | Use) -> None:
        ring = self._get(node.ring) or UNKNOWN
        with self._block():
            self._bind(node.stage, Entity(Is.STAGE, buffers=ring.buffers), node.span)
            self.body(node.body)
            # The block of a use always runs, on the same waves: its fragments and integers stay.
            kept = {n: e for n, e in self._blocks[-1].items() if e.kind in (Is.FRAG, Is.INTEGER, Is.INDEX)}
        if isinstance(node, Use):
            self._blocks[-1] |= kept

    def _assign(self, node: Assign) -> None:
        entity = entity_of(node.value, self._scope)
        if len(node.targets) != results(node.value):
            message = f"{len(node.targets)} names for {results(node.value)} results"
            self._report(Code.BAD_CALL, node.span, message)
        if entity.kind in (Is.SHARED, Is.RING, Is.BAR) or isinstance(node.value, Block | Split):
            self._allocation(node, entity)
        for name in node.targets:
            self._bind(name, entity, node.span)

    def _allocation(self, node: Assign, entity: Entity) -> None:
        if len(self._blocks) > 2:
            what = str(entity.kind) if entity.kind is not Is.INDEX else "the grid"
            hint = "move it to the top level of the kernel, before the loop"
            self._report(Code.BAD_CALL, node.span, f"{what} is made once, not inside a block", hint)

    def _bind(self, name: str, entity: Entity, span: Span) -> None:
        old = self._get(name)
        if old is None:
            self._blocks[-1][name] = entity
            return
        if name in self._fixed:
            self._report(Code.FORBIDDEN, span, f"`{name}` is {old.kind} and keeps its meaning", "use another name")
        elif old.kind is not entity.kind:
            self._report(
                Code.BAD_SPACE, span, f"`{name}` is {old.kind} and cannot become {entity.kind}", "use another name"
            )
        elif old.kind is not Is.FRAG:
            self._report(Code.FORBIDDEN, span, f"`{name}` is {old.kind} and is named once", "use another name")

    # --------------------------------------------------------------------------------------- uses

    def _uses(self, node: Node, span: Span, axes: frozenset[str] = frozenset()) -> None:
        """Check the names below `node`, without the statements in it."""
        cls = type(node)
        if cls in _TEXTS:
            name, want = _TEXTS[cls]
            self._check(getattr(node, name), frozenset({want}), node.span)
        if isinstance(node, Tagged | AssertComplete):
            axes = frozenset(self._axes)
        for name in field_names(cls):
            if name not in _BODIES:
                self._value(getattr(node, name), _PLACES.get((cls, name), FRAGS), node.span, axes)

    def _value(self, value: Any, want: frozenset[Is], span: Span, axes: frozenset[str]) -> None:  # noqa: ANN401
        if isinstance(value, Ref):
            self._check(value.name, want, value.span)
        elif isinstance(value, Node):
            self._uses(value, span, axes)
        elif isinstance(value, Const | Var | Op):
            self._expr(value, span, axes)
        elif isinstance(value, tuple):
            for member in cast("tuple[Any, ...]", value):
                self._value(member, want, span, axes)

    def _expr(self, e: Expr, span: Span, axes: frozenset[str]) -> None:
        for name in variables(e) - axes:
            self._check(name, INTEGERS, span)

    def _check(self, name: str, want: frozenset[Is], span: Span) -> None:
        entity = self._get(name)
        if entity is None:
            hint = did_you_mean(name, self._scope) or "a name ends with the block that introduced it"
            self._report(Code.UNKNOWN_NAME, span, f"`{name}` is not defined here", hint)
        elif entity.kind not in want:
            need = "an integer" if want is INTEGERS else "a fragment" if want is FRAGS else str(min(want))
            need = "a view" if want is VIEWS else need
            self._report(Code.BAD_SPACE, span, f"{need} is needed, `{name}` is {entity.kind}")
