"""Operations whose operands and results are registers: which rule each one follows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.dsl.ir import (
    AsOperand,
    Binary,
    Cast,
    Coordinate,
    Mask,
    Node,
    Reduce,
    Relayout,
    Select,
    Shuffle,
    Unary,
)
from argus.dsl.ir.types import FragType
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.coordinates import arithmetic, coordinate, inverted, mask, select
from argus.dsl.tags.domain import Affine, Coords, Fragment, Lowest, Same, Stat, Tile, Top
from argus.dsl.tags.moves import as_operand, relayout, shuffle
from argus.dsl.tags.pointwise import Pointwise
from argus.dsl.tags.reduce import reduce
from argus.dsl.tags.state import State

InRegisters = Cast | Unary | Binary | Select | Mask | Coordinate | Reduce | AsOperand | Relayout | Shuffle


def in_registers(
    cx: Context, state: State, site: Site, node: InRegisters, made: FragType, *, part: Callable[[Node], Fragment]
) -> Fragment:
    """The result of an operation; `part` gives its operands."""
    rule = Pointwise(cx, state, site, made)
    match node:
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return _binary(cx, rule, op, part(lhs), part(rhs))  # pyright: ignore[reportArgumentType]
        case Select(condition=condition, x=x, y=y):
            return select(cx, state, site, (part(condition), part(x), part(y)), made)
        case _:
            pass
    src = part(node.src)
    if isinstance(src, Top):
        return Top(made, src.reason)
    match node:
        case Cast():
            return rule.moved(src)
        case Unary(op="not") if isinstance(src, Coords) and not isinstance(src.what, Affine):
            return inverted(src)
        case Unary(op="not") if isinstance(src, Lowest):
            return Lowest(made, src.of, not src.negated)
        case Unary(op=op):
            return rule.unary(op, src)
        case Mask(pred=pred, fill=fill):
            return mask(cx, state, site, made, frag=src, pred=part(pred), fill=fill)
        case Coordinate(axis=axis):
            return coordinate(cx, state, src, axis, made)
        case Reduce():
            return reduce(cx, state, site, node, made, frag=src)
        case AsOperand():
            return as_operand(cx, state, site, node, made, frag=src)
        case Relayout():
            return relayout(cx, state, site, made, frag=src)
        case Shuffle(lane=lane):
            return shuffle(cx, site, src, part(lane), made)


def _binary(cx: Context, rule: Pointwise, op: str, x: Fragment, y: Fragment) -> Fragment:
    for side in (x, y):
        if isinstance(side, Top):
            return Top(rule.made, side.reason)
    if op in ("==", "!="):
        for frag, other in ((x, y), (y, x)):
            if isinstance(frag, Tile | Stat) and isinstance(other, Same) and other.value == -np.inf:
                return Lowest(rule.made, frag, op == "!=")
    found = arithmetic(cx, op, x, y, rule.made)  # pyright: ignore[reportArgumentType]
    return rule.binary(op, x, y) if found is None else found  # pyright: ignore[reportArgumentType]


def lost_like(cx: Context, like: Fragment, name: str, made: FragType) -> tuple[int, ...]:
    """Extents of the axes that a fragment loaded like another is without."""
    lost = like.lost if isinstance(like, Tile | Stat) else ()
    full = cx.types.frags[name]
    # The last axis goes first: see `frag_rules.load_like`.
    gone = [e for axis, e in zip(full.axes, full.shape, strict=True) if axis not in made.axes]
    return (*lost, *reversed(gone))
