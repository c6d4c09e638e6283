"""Axis names in assertions and predicates."""

from __future__ import annotations

from collections.abc import Iterator

from argus.dsl.diagnostics import Code, Diagnostic
from argus.dsl.ir.nodes import (
    AssertComplete,
    Component,
    Coordinate,
    Kernel,
    Node,
    OnlineSoftmax,
    Reduce,
    Tagged,
    TensorParam,
)
from argus.dsl.ir.report import diagnostic, did_you_mean


def tag_problems(kernel: Kernel, nodes: tuple[Node, ...]) -> Iterator[Diagnostic]:
    """Axes that neither the signature nor a `tag` names."""
    axes = {a for p in kernel.params if isinstance(p, TensorParam) for a in p.axes if a}
    for node in nodes:
        if isinstance(node, Tagged):
            axes |= {axis for axis, _ in node.components}
    for node in nodes:
        match node:
            case Component(axis=axis) | Coordinate(axis=axis) | Reduce(axis=axis) | OnlineSoftmax(axis=axis):
                used = (axis,)
            case AssertComplete(sets=sets):
                used = tuple(axis for axis, _ in sets)
            case _:
                continue
        for axis in used:
            if axis not in axes:
                hint = did_you_mean(axis, axes) or f"axes are {', '.join(sorted(axes)) or 'not named'}"
                yield diagnostic(Code.UNKNOWN_NAME, node.span, f"`{axis}` is no axis of this kernel", hint)
