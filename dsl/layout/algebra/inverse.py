"""Inverses on either side."""

from __future__ import annotations

from argus.dsl.layout.algebra.layout import Inadmissible, Layout, Leaf, coalesce, join, of_leaves
from argus.dsl.layout.algebra.tile import complement


def right_inverse(a: Layout) -> Layout:
    """The layout r with a(r(j)) = j for all j of its domain, which grows as long as a mode of a steps by its size."""
    inner = 1
    placed: list[tuple[int, int, int]] = []  # leaves of a by stride, and how far apart in the index their steps lie
    for size, stride in coalesce(a).leaves:
        placed.append((stride, size, inner))
        inner *= size
    found: list[Leaf] = []
    reached = 1
    for stride, size, apart in sorted(placed, key=lambda p: (p[0], -p[1])):
        if size == 1 or stride < reached:
            continue
        if stride > reached:
            break
        found.append((size, apart))
        reached *= size
    return coalesce(of_leaves(found))


def left_inverse(a: Layout) -> Layout:
    """The layout l with l(a(i)) = i for all i; offsets that a leaves out go to indices beyond its size.

    Raises:
        Inadmissible: If a takes an offset twice or its modes interleave.
    """
    largest = max((size * stride for size, stride in a.leaves if size > 1), default=1)
    try:
        rest = complement(a, largest)
    except Inadmissible as error:
        raise Inadmissible(f"{a} has no left inverse among layouts: {error}") from None
    return right_inverse(join(a, rest))
