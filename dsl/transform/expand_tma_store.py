"""`store(view, x, via="tma", stage=buf)`: registers to `buf`, then one TMA copy to `view`.

`buf` is written once the copies that read it are done, and read once all waves have written it and fenced. The last
copies are drained at the end of the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from argus.dsl.ir.nodes import (
    Barrier,
    Commit,
    CopyAsync,
    Elect,
    Fence,
    Kernel,
    Role,
    Stmt,
    Store,
    Wait,
)
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.transform.blocks import Body, with_bodies


@dataclass(frozen=True, slots=True)
class ExpandTmaStore:
    """A store through a buffer becomes a store, a fence and a TMA copy."""

    name: ClassVar[str] = "expand-tma-store"

    def __call__(self, kernel: Kernel) -> Kernel:
        stores = [n for n in walk_body(kernel.body) if isinstance(n, Store) and n.via == "tma"]
        if not stores:
            return kernel
        drain = Wait(pending=0, span=stores[-1].span)
        return replace(kernel, body=(*_block(kernel.body, None), drain))


def _block(body: Body, waves: int | None) -> Body:
    return tuple(new for old in body for new in _statement(old, waves))


def _statement(node: Stmt, waves: int | None) -> Body:
    match node:
        case Store(via="tma", stage=stage, span=span) if stage is not None:
            meet = Barrier(waves=waves, span=span)
            copy = Elect(body=(CopyAsync(dst=node.view, src=stage, via="tma", span=span), Commit(span=span)), span=span)
            return (
                Wait(pending=0, span=span),
                meet,
                Store(view=stage, value=node.value, span=span),
                Fence(span=span),
                meet,
                copy,
            )
        case Role():
            return (with_bodies(node, lambda inner: _block(inner, node.waves // node.groups)),)
        case _:
            return (with_bodies(node, lambda inner: _block(inner, waves)),)
