"""Slips in values: which elements count, over what is reduced, by which index rows are taken, what is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from argus.dsl import ir
from argus.dsl.layout import Const, Op, Var
from argus.evals.mutation.places import Scene

_ORDERS: dict[str, tuple[ir.BinaryOp, ...]] = {
    "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",), "!=": ("==",),
}  # fmt: skip


def mask_predicate(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401 - any node
    """A condition off by one, turned round, halved or left out; another fill."""
    del scene
    if isinstance(node, ir.Binary):
        for op in _ORDERS.get(node.op, ()):
            yield replace(node, op=op)
        if node.op in ("&", "|"):
            yield node.lhs
            yield node.rhs
            yield replace(node, op="|" if node.op == "&" else "&")
    if isinstance(node, ir.Mask):
        yield node.src
        for fill in {0.0, 1.0, float("-inf"), float("inf")} - {node.fill}:
            yield replace(node, fill=fill)


def reduction(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Over another axis, or within waves what belongs to the block."""
    if isinstance(node, ir.Reduce | ir.OnlineSoftmax):
        for axis in scene.axes:
            if axis != node.axis:
                yield replace(node, axis=axis)
    if isinstance(node, ir.Reduce):
        yield replace(node, across="wave" if node.across == "block" else "block")
        yield node.src
    if isinstance(node, ir.Coordinate):
        for axis in scene.axes:
            if axis != node.axis:
                yield replace(node, axis=axis)


def gather_index(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Rows by another index, or without one."""
    if isinstance(node, ir.Gather):
        for other in scene.frags:
            if not isinstance(node.index, ir.Ref) or node.index.name != other:
                yield replace(node, index=ir.Ref(name=other, span=node.span))
        yield node.src
        yield replace(node, scatter=not node.scatter)
    if isinstance(node, ir.Shuffle):
        yield replace(node, lane=node.src)
        yield node.src
    if isinstance(node, ir.At) and isinstance(node.src, ir.Ref) and node.src.name in scene.tensors:
        yield replace(node, index=Const(0))
        yield replace(node, index=Op("+", (node.index, Const(1))))
        for name in (*scene.indices, *scene.loops):
            yield replace(node, index=Var(name))
        match node.index:
            case Op("//" | "%", (inner, _)):
                yield replace(node, index=inner)
            case _:
                pass


def split_bounds(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Parts of another range, or of another length."""
    del scene
    if isinstance(node, ir.Split):
        yield replace(node, n=Op("-", (node.n, Const(1))))
        yield replace(node, n=Op("+", (node.n, Const(1))))
        yield replace(node, parts=Op("+", (node.parts, Const(1))))
        match node.n:
            case Op("cdiv", (size, Const(value))):
                yield replace(node, n=Op("//", (size, Const(value))))
                yield replace(node, n=Op("cdiv", (size, Const(value * 2))))
                yield replace(node, n=Op("cdiv", (size, Const(value // 2))))
            case _:
                pass


def atomicity(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """A sum over blocks stored instead of added, a store added."""
    if isinstance(node, ir.AtomicAdd):
        yield ir.Store(view=node.view, value=node.value, span=node.span)
    if isinstance(node, ir.Store) and root_name(node.view) in scene.tensors:
        yield ir.AtomicAdd(view=node.view, value=node.value, span=node.span)


def root_name(view: ir.View) -> str:
    while not isinstance(view, ir.Ref):
        view = view.src
    return view.name


def arithmetic(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Another value computed from the right elements."""
    del scene
    if isinstance(node, ir.Scalar):
        yield replace(node, value=node.value * 2 + 1)
    if isinstance(node, ir.Binary) and node.op not in (*_ORDERS, "&", "|"):
        for other in ("+", "*", "-", "max"):
            if other != node.op:
                yield replace(node, op=other)
    if isinstance(node, ir.Unary):
        for other in ("neg", "abs", "relu", "tanh"):
            if other != node.op:
                yield replace(node, op=other)
    if isinstance(node, ir.Reduce):
        yield replace(node, op="max" if node.op == "sum" else "sum")
    if isinstance(node, ir.OnlineSoftmax):
        yield replace(node, mx=node.l, l=node.mx)
