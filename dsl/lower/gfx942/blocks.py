"""From the linear block number to block indices: plain grids and injective remaps.

Formulas: the MI300X page, section 15 (XCD dispatch and remapping).
"""

from __future__ import annotations

import re

from argus.dsl.ir import Block
from argus.dsl.layout import Expr
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.context import Context
from argus.dsl.lower.gfx942.index import product
from argus.dsl.lower.gfx942.tir import Tir


def grid_size(node: Block) -> Expr:
    """Blocks of the launch."""
    return product(list(node.counts))


def bind_indices(ctx: Context, targets: tuple[str, ...], node: Block, number: Tir) -> None:
    """`bm, bn = block(counts, order=)`, from the linear block number."""
    counts = [ctx.emit.bind(f"{t}_count", ctx.indices.value(n)) for t, n in zip(targets, node.counts, strict=True)]
    for target, value in zip(targets, _ordered(ctx, node, counts, number), strict=True):
        ctx.indices.values[target] = ctx.emit.bind(target, value)


def _ordered(ctx: Context, node: Block, counts: list[Tir], number: Tir) -> list[Tir]:
    name, argument = _order(node)
    match name:
        case "rows":
            return _row_major(counts, number)
        case "columns":
            return _row_major(counts[::-1], number)[::-1]
        case "xcd":
            return _row_major(counts, _contiguous_per_die(ctx, counts, number, argument))
        case "group_m":
            if len(counts) != 2:
                raise unsupported(node, f"group_m orders two block indices, not {len(counts)}")
            return _grouped(ctx, counts[0], counts[1], number, argument)
        case _:
            raise unsupported(
                node, f"the block order {node.order} is not lowered yet", "rows, columns, xcd(N) or group_m(G)"
            )


def _order(node: Block) -> tuple[str, int]:
    match = re.fullmatch(r"(\w+)(?:\((\d+)\))?", node.order)
    if match is None or (match[1] in {"xcd", "group_m"}) != (match[2] is not None) or match[2] == "0":
        raise unsupported(node, f"unknown block order {node.order}", "rows, columns, xcd(N) or group_m(G)")
    return match[1], int(match[2] or 0)


def _row_major(counts: list[Tir], number: Tir) -> list[Tir]:
    found: list[Tir] = []
    for count in counts[:0:-1]:
        found.append(tir.remainder(number, count))
        number = tir.quotient(number, count)
    return [number, *found[::-1]]


def _contiguous_per_die(ctx: Context, counts: list[Tir], number: Tir, dies: int) -> Tir:
    """Die x, which runs the blocks x mod `dies`, gets consecutive tiles: q + (x < m) of them, m = total mod dies."""
    total = counts[0]
    for count in counts[1:]:
        total = total * count
    total = ctx.emit.bind("blocks", total)
    die = tir.remainder(number, tir.i32(dies))
    share, left = tir.quotient(total, tir.i32(dies)), tir.remainder(total, tir.i32(dies))
    start = die * share + tir.smaller(die, left)
    return ctx.emit.bind("tile", start + tir.quotient(number, tir.i32(dies)))


def _grouped(ctx: Context, rows: Tir, columns: Tir, number: Tir, height: int) -> list[Tir]:
    """Groups of `height` rows of tiles, column by column within a group; the last group may be lower."""
    size = columns * height
    group = ctx.emit.bind("group", tir.quotient(number, size))
    here = ctx.emit.bind("group_rows", tir.smaller(rows - group * height, tir.i32(height)))
    within = ctx.emit.bind("in_group", tir.remainder(number, size))
    return [group * height + tir.remainder(within, here), tir.quotient(within, here)]
