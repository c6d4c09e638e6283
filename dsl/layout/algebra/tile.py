"""What is left beside a layout, and tilings made of it: complement, divide, product."""

from __future__ import annotations

from collections.abc import Sequence

from argus.dsl.layout.algebra.compose import compose
from argus.dsl.layout.algebra.layout import Inadmissible, Layout, Leaf, coalesce, join, of_leaves


def complement(a: Layout, size: int) -> Layout:
    """The layout c for which (a, c) takes each offset below `size` once; c's offsets increase.

    Raises:
        Inadmissible: If a takes an offset twice, if its modes interleave, or if `size` is no multiple of its period.

    Example:
        >>> from argus.dsl.layout.algebra import layout
        >>> str(complement(layout("4:2"), 24))
        '(2,3):(1,8)'
    """
    gaps: list[Leaf] = []
    period = 1
    for extent, stride in _by_stride(a):
        if stride == 0:
            raise Inadmissible(f"{a} has no complement: the mode {extent}:0 takes one offset {extent} times")
        if stride % period:
            raise Inadmissible(
                f"{a} has no complement: the mode {extent}:{stride} does not step over the offsets below {period}, "
                "which modes of smaller stride fill"
            )
        gaps.append((stride // period, period))
        period = extent * stride
    if size % period:
        raise Inadmissible(f"{a} repeats every {period} offsets, which does not divide {size}")
    return coalesce(of_leaves([*gaps, (size // period, period)]))


def logical_divide(a: Layout, b: Layout) -> Layout:
    """Tiles of a: mode 0 is a within the tile that b picks, mode 1 goes from tile to tile.

    Raises:
        Inadmissible: If b has no complement in a, or if tiles of a are no layouts.

    Example:
        >>> from argus.dsl.layout.algebra import layout
        >>> str(logical_divide(layout("(4,6):(6,1)"), layout("4:1")))
        '(4,6):(6,1)'
    """
    return compose(a, join(b, complement(b, a.size)))


def zipped_divide(a: Layout, tiles: Sequence[Layout]) -> Layout:
    """Each mode of a cut by its own tile: ((within the tile, …), (from tile to tile, …)).

    Raises:
        Inadmissible: As `logical_divide`.
        ValueError: If there are not as many tiles as modes.
    """
    if len(tiles) != len(a.modes):
        raise ValueError(f"{len(tiles)} tiles for the {len(a.modes)} modes of {a}")
    cut = [logical_divide(mode, tile) for mode, tile in zip(a.modes, tiles, strict=True)]
    return join(join(*(c[0] for c in cut)), join(*(c[1] for c in cut)))


def logical_product(a: Layout, b: Layout) -> Layout:
    """Copies of a, as many and in the order that b says: mode 0 is a, mode 1 moves it without overlap.

    Raises:
        Inadmissible: If a has no complement, or if b after that is no layout.

    Example:
        >>> from argus.dsl.layout.algebra import layout
        >>> str(logical_product(layout("4:2"), layout("(2,3):(1,2)")))
        '(4,(2,3)):(2,(1,8))'
    """
    leaves = _by_stride(a)
    period = leaves[-1][0] * leaves[-1][1] if leaves else 1
    return join(a, compose(complement(a, period * b.cosize), b))


def _by_stride(a: Layout) -> list[Leaf]:
    return sorted((leaf for leaf in coalesce(a).leaves if leaf[0] > 1), key=lambda leaf: leaf[1])
