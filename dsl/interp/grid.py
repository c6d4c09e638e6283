"""Launch grids: which blocks there are, in which order, and what each is given."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import product


def block_indices(counts: Sequence[int], order: str) -> Iterator[tuple[int, ...]]:
    """The indices of each block of a grid, in launch order.

    `order` is `rows` (last index fastest), `columns` (first index fastest), `xcd(N)` (hardware deals consecutive
    blocks to N dies in turn; each die gets a contiguous range of row-major tiles), `group_m(G)` (bands of G values of
    the first index, walked column by column) or `longest_first` (first index descending).

    Raises:
        ValueError: If the order is unknown.

    Source:
        reference mi300x.md section 15 (ragged XCD remap, grouped rasterisation).
    """
    match = re.fullmatch(r"(\w+)(?:\((\d+)\))?", order)
    name, size = (match[1], int(match[2] or 1)) if match else (order, 1)
    rows = list(product(*(range(c) for c in counts)))
    match name:
        case "rows":
            yield from rows
        case "columns":
            yield from sorted(rows, key=lambda t: t[::-1])
        case "longest_first":
            yield from sorted(rows, key=lambda t: (-t[0], *t[1:]))
        case "group_m":
            yield from sorted(rows, key=lambda t: (t[0] // size, *t[:0:-1], t[0]))
        case "xcd":
            yield from (rows[_die_major(i, len(rows), size)] for i in range(len(rows)))
        case _:
            raise ValueError(f"unknown block order {order!r}")


def _die_major(launched: int, total: int, dies: int) -> int:
    """The row-major tile of the `launched`-th block when each die works on a contiguous range."""
    die, place = launched % dies, launched // dies
    return die * (total // dies) + min(die, total % dies) + place


def split_part(n: int, parts: int, part: int) -> tuple[int, int]:
    """(begin, end) of one of `parts` consecutive, nearly equal, possibly empty parts of range(n)."""
    size = -(-n // max(parts, 1))
    return min(n, part * size), min(n, (part + 1) * size)


def persistent_blocks(tiles: int) -> int:
    """How many blocks walk a persistent grid here: half as many as tiles, so that most take two, the last fewer."""
    return max(1, math.ceil(tiles / 2))
