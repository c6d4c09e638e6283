"""What kind of slip makes tags differ: the class of edit that mends it, and the edit in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from argus.dsl.diagnostics import FixClass
from argus.dsl.tags.columns import Column, Difference, values_of
from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import Tile

Fix = tuple[FixClass, str]


def slip(cx: Context, axis: str, d: Difference, sides: Sequence[tuple[str, Tile, Column]], wrong: Tile) -> Fix:
    """Why component `axis` of two operands differs.

    Args:
        cx: The analysis.
        axis: The component, which should be the same along all rows of an operand.
        d: Where it differs.
        sides: Both fragments by name, with their components as rows by k.
        wrong: The fragment that holds the element found.
    """
    for name, tile, found in sides:
        one_value = len(values_of(tile.codes, cx.store)) == 1
        if one_value and found.local.ndim == 2 and (found.local != found.local[:1]).any():
            return "operand transposed", f"operand {name!r} needs the transposed view: rows by {axis}"
    gap = d.got - d.want
    origin = cx.origin_span(wrong)
    loaded = "" if origin is None else f" (loaded at line {origin.line})"
    depth = max(_depth(cx, tile, axis) for _, tile, _ in sides)
    same_tile = gap.is_const and sides[0][2].bases == sides[1][2].bases and gap.const % depth
    if not same_tile:
        return "stage off by n", f"{axis} is off by {cx.shown(gap)}: use the stage and the tile{loaded} of this step"
    if d.where.all():
        return "k incomplete", f"{axis} is off by {gap.const}: use the same k-step for both operands"
    return "lane map", f"the operands spread {axis} differently over lanes"


def _depth(cx: Context, tile: Tile, axis: str) -> int:
    """How many coordinates the tile behind a fragment holds along an axis."""
    comps = [c for v, _ in values_of(tile.codes, cx.store) for c in v.comps if c.axis == axis]
    return max(int(np.ptp(cx.store.tables[c.table])) + 1 for c in comps)
