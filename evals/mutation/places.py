"""Where an edit of a kernel happens: at one node of its body, or in one list of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from argus.dsl import ir
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import Const, Expr, Op

Operator = Callable[[ir.Kernel], Iterator[ir.Kernel]]
Body = tuple[ir.Stmt, ...]
Edit = Callable[[Body], Iterator[Body]]


@dataclass(frozen=True, slots=True)
class Scene:
    """What an edit may confuse: names by what they are.

    Attributes:
        buffers: Shared ones, those of rings too; `tensors`: parameters, `inputs` those that are only read.
        indices: Of the grid; `loops`: loop variables; `groups`: group indices of roles.
        accs, operands, frags: Registers: accumulators, operands of MMAs, all others.
        axes: Tag axes of the parameters.
    """

    buffers: tuple[str, ...]
    tensors: tuple[str, ...]
    inputs: tuple[str, ...]
    indices: tuple[str, ...]
    loops: tuple[str, ...]
    groups: tuple[str, ...]
    mbars: tuple[str, ...]
    accs: tuple[str, ...]
    operands: tuple[str, ...]
    frags: tuple[str, ...]
    axes: tuple[str, ...]


Rewrite = Callable[[Any, Scene], Iterator[Any]]


def scene_of(kernel: ir.Kernel) -> Scene:
    nodes = list(walk_body(kernel.body))
    assigns = [n for n in nodes if isinstance(n, ir.Assign)]
    rings = [n.value for n in assigns if isinstance(n.value, ir.Ring)]
    tensors = [p for p in kernel.params if isinstance(p, ir.TensorParam)]
    ensured = {e.tensor for e in kernel.ensures}

    def named(*kinds: type) -> tuple[str, ...]:
        return tuple(dict.fromkeys(t for n in assigns if isinstance(n.value, kinds) for t in n.targets))

    return Scene(
        buffers=(*named(ir.Shared), *(name for ring in rings for name, _ in ring.buffers)),
        tensors=tuple(p.name for p in tensors),
        inputs=tuple(p.name for p in tensors if p.name not in ensured),
        indices=named(ir.Block),
        loops=tuple(dict.fromkeys(t for n in nodes if isinstance(n, ir.For) for t in n.targets)),
        groups=tuple(n.index for n in nodes if isinstance(n, ir.Role) and n.index is not None),
        mbars=named(ir.MBar),
        accs=named(ir.MmaAcc),
        operands=named(ir.Operand, ir.AsOperand),
        frags=named(ir.Load, ir.Cast, ir.Unary, ir.Binary, ir.Select, ir.Mask, ir.Reduce, ir.Relayout, ir.Shuffle),
        axes=tuple(dict.fromkeys(a for p in tensors for a in p.axes if a)),
    )


def shifts(e: Expr) -> Iterator[Expr]:
    """The expression one more and one less."""
    match e:
        case Const(value):
            yield Const(value + 1)
            if value:
                yield Const(value - 1)
        case Op("+", (inner, Const(value))):
            yield Op("+", (inner, Const(value + 1)))
            yield inner if value == 1 else Op("+", (inner, Const(value - 1)))
        case Op("%", (inner, modulus)):
            for moved in shifts(inner):
                yield Op("%", (moved, modulus))
            yield Op("%", (Op("+", (inner, Op("-", (modulus, Const(1))))), modulus))
        case _:
            yield Op("+", (e, Const(1)))


def _rewritten(node: Any, rewrite: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:  # noqa: ANN401 - any dataclass of the IR
    """All copies of `node` in which `rewrite` replaced one node of the tree."""
    yield from rewrite(node)
    for f in fields(node):
        value = getattr(node, f.name)
        if f.name == "span":
            continue
        if is_dataclass(value):
            for changed in _rewritten(value, rewrite):
                yield replace(node, **{f.name: changed})
        elif isinstance(value, tuple):
            items = cast("tuple[Any, ...]", value)
            for i, item in enumerate(items):
                if is_dataclass(item):
                    for changed in _rewritten(item, rewrite):
                        yield replace(node, **{f.name: (*items[:i], changed, *items[i + 1 :])})


def everywhere(rewrite: Rewrite) -> Operator:
    """An operator that applies `rewrite` at each node of the body in turn."""

    def operator(kernel: ir.Kernel) -> Iterator[ir.Kernel]:
        scene = scene_of(kernel)
        for i, stmt in enumerate(kernel.body):
            for changed in _rewritten(stmt, lambda node: rewrite(node, scene)):
                yield replace(kernel, body=(*kernel.body[:i], changed, *kernel.body[i + 1 :]))

    return operator


def bodies(edit: Edit) -> Operator:
    """An operator that applies `edit` to each statement list in turn."""

    def nested(body: Body) -> Iterator[Body]:
        yield from edit(body)
        for i, stmt in enumerate(body):
            for name in ("body", "orelse"):
                inner = cast("Body", getattr(stmt, name, ()))
                for changed in nested(inner) if inner else ():
                    yield (*body[:i], replace(cast("Any", stmt), **{name: changed}), *body[i + 1 :])

    def operator(kernel: ir.Kernel) -> Iterator[ir.Kernel]:
        for body in nested(kernel.body):
            yield replace(kernel, body=body)

    return operator


def either(*operators: Operator) -> Operator:
    """All that any of these makes."""

    def operator(kernel: ir.Kernel) -> Iterator[ir.Kernel]:
        for each in operators:
            yield from each(kernel)

    return operator
