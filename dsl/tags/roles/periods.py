"""How often index expressions other than those of turning stages repeat along a loop."""

from __future__ import annotations

from typing import cast

from argus.dsl.ir import Arrive, At, AwaitPhase, Node, Stmt, View
from argus.dsl.ir.rewrite import map_children
from argus.dsl.layout import ZERO
from argus.dsl.tags.period import period_of


def period_beside_rings(body: tuple[Stmt, ...], name: str) -> int:
    """`period_of` without the indices into staged buffers and barriers, which turn with the loop."""
    return period_of(tuple(cast("Stmt", _bare(s)) for s in body), name)


def _bare(node: object) -> object:
    match node:
        case At(src=src):
            return At(src=cast("View", _bare(src)), index=ZERO, span=node.span)
        case AwaitPhase(bar=bar):
            return AwaitPhase(bar=bar, completion=ZERO, span=node.span)
        case Arrive(bar=bar):
            return Arrive(bar=bar, span=node.span)
        case Node():
            return map_children(node, _bare)
        case _:
            return node
