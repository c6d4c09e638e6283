"""Composition: the layout that does first one thing, then another, or the reason why there is none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from argus.dsl.layout.algebra.layout import Inadmissible, Layout, Leaf, coalesce, from_table, nest, of_leaves

LARGEST_TABLE = 1 << 22  # entries; beyond, only compositions that divisibility decides are found
Piece = tuple[int, int, int]  # of a leaf: mode of `a`, extent, step within that mode


def compose(a: Layout, b: Layout) -> Layout:
    """The layout i → a(b(i)), nested like b: an integer of b's shape becomes a tuple where it meets several modes of a.

    Composing mode by mode, as divisibility of strides suggests, is right only if no two modes of b carry into each
    other: `(2,8):(0,8)` after `(4,4):(1,1)` is no layout, though each mode alone has one.

    Raises:
        Inadmissible: If a(b(i)) is no layout nested like b, if b leaves the domain of a, or if that cannot be decided.

    Example:
        >>> from argus.dsl.layout.algebra import layout
        >>> str(compose(layout("(6,2):(8,2)"), layout("(4,3):(3,1)")))
        '((2,2),3):((24,2),8)'
    """
    if b.cosize > a.size:
        raise Inadmissible(f"{b} reaches {b.cosize - 1}, and {a} has only indices 0 to {a.size - 1}")
    modes = coalesce(a).leaves
    pieces = [_pieces(modes, leaf) for leaf in b.leaves]
    known = [p for p in pieces if p is not None]
    if len(known) == len(pieces) and not _carries(modes, known):
        return _nested(b, [_leaf_of(modes, leaf, p) for leaf, p in zip(b.leaves, known, strict=True)])
    return _by_table(a, b)


def _pieces(modes: Sequence[Leaf], leaf: Leaf) -> list[Piece] | None:
    """How a leaf walks over the modes of `a`; None where divisibility does not tell."""
    size, step = leaf
    found: list[Piece] = []
    if step == 0:
        return found
    for number, (extent, _) in enumerate(modes):
        if size == 1:
            break
        if step % extent == 0:
            step //= extent
        elif (size - 1) * step < extent:
            found.append((number, size, step))
            size = 1
        elif extent % step or size % (extent // step):
            return None
        else:
            found.append((number, extent // step, step))
            size, step = size // (extent // step), 1
    assert size == 1, "the composition's domain was checked"
    return found


def _carries(modes: Sequence[Leaf], pieces: Sequence[Sequence[Piece]]) -> bool:
    """Whether the digits that the leaves contribute to some mode may exceed it."""
    largest: dict[int, int] = defaultdict(int)
    for number, extent, step in (p for leaf in pieces for p in leaf):
        largest[number] += (extent - 1) * step
    return any(most >= modes[number][0] for number, most in largest.items())


def _leaf_of(modes: Sequence[Leaf], leaf: Leaf, pieces: Sequence[Piece]) -> Layout:
    if not pieces:
        return Layout(leaf[0], 0)
    return of_leaves((extent, step * modes[number][1]) for number, extent, step in pieces)


def _nested(b: Layout, leaves: Sequence[Layout]) -> Layout:
    return Layout(nest(b.shape, (x.shape for x in leaves)), nest(b.shape, (x.stride for x in leaves)))


def _by_table(a: Layout, b: Layout) -> Layout:
    if max(a.size, b.size) > LARGEST_TABLE:
        raise Inadmissible(
            f"{a} after {b}: neither strides nor extents divide each other, and {max(a.size, b.size):,} indices "
            "are too many to try"
        )
    offsets = a.table()
    leaves: list[Layout] = []
    for size, stride in b.leaves:
        try:
            leaves.append(from_table(offsets[np.arange(size) * stride]))
        except Inadmissible as error:
            raise Inadmissible(f"{a} after the mode {size}:{stride} is no layout: {error}") from None
    made = _nested(b, leaves)
    want = offsets[b.table()]
    wrong = np.flatnonzero(made.table() != want)
    if wrong.size:
        i = int(wrong[0])
        raise Inadmissible(
            f"modes of {b} carry into each other within {a}: index {i} goes to {b(i)} and then to {want[i]}, "
            f"but composed mode by mode, as {made}, to {made(i)}"
        )
    return made
