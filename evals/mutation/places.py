"""Where an edit of a kernel happens: at one node of its body, or in one list of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from argus.dsl import ir
from argus.dsl.ir.rewrite import walk_body

Operator = Callable[[ir.Kernel], Iterator[ir.Kernel]]
Body = tuple[ir.Stmt, ...]
Edit = Callable[[Body], Iterator[Body]]


@dataclass(frozen=True, slots=True)
class Scene:
    """What an edit may confuse: names by what they are."""

    buffers: tuple[str, ...]
    inputs: tuple[str, ...]
    indices: tuple[str, ...]
    loops: tuple[str, ...]


Rewrite = Callable[[Any, Scene], Iterator[Any]]


def scene_of(kernel: ir.Kernel) -> Scene:
    nodes = list(walk_body(kernel.body))
    rings = [n.value for n in nodes if isinstance(n, ir.Assign) and isinstance(n.value, ir.Ring)]
    ensured = {e.tensor for e in kernel.ensures}
    return Scene(
        buffers=(
            *(t for n in nodes if isinstance(n, ir.Assign) and isinstance(n.value, ir.Shared) for t in n.targets),
            *(name for ring in rings for name, _ in ring.buffers),
        ),
        inputs=tuple(p.name for p in kernel.params if isinstance(p, ir.TensorParam) and p.name not in ensured),
        indices=tuple(
            t for n in nodes if isinstance(n, ir.Assign) and isinstance(n.value, ir.Block) for t in n.targets
        ),
        loops=tuple(dict.fromkeys(t for n in nodes if isinstance(n, ir.For) for t in n.targets)),
    )


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
