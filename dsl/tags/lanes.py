"""Fragments side by side: which axes of one meet which of the other, and runs of elements that share their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from argus.dsl.ir.broadcast import fits, same_lanes
from argus.dsl.ir.types import FragType
from argus.dsl.layout import Linear, Uniform, WithoutAxis
from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import ELEMENT_BITS, ELEMENT_MASK, Bools, Comp, Ints, Tile, Value


def axes_in(small: FragType, big: FragType) -> tuple[int, ...] | None:
    """For each axis of a fragment its axis in a bigger one that it broadcasts to; None where it does not."""
    if isinstance(small.map, Uniform) and small.shape == ():
        return ()
    if small.shape == big.shape and same_lanes(small.map, big.map):
        return tuple(range(len(big.shape)))
    if len(small.shape) >= len(big.shape):
        return None
    for axis, extent in enumerate(big.shape):
        shape, axes = big.shape[:axis] + big.shape[axis + 1 :], big.axes[:axis] + big.axes[axis + 1 :]
        for hardware in (WithoutAxis(big.map, axis), big.map if extent == 1 and isinstance(big.map, Linear) else None):
            if hardware is None:
                continue
            left = FragType(big.dtype, shape, axes, hardware, big.regs)
            if fits(small, left) and (inner := axes_in(small, left)) is not None:
                return tuple(a if a < axis else a + 1 for a in inner)
    return None


def spread(array: Ints, small: FragType, big: FragType) -> Ints | None:
    """An array over the elements of one fragment as one over those of a bigger one."""
    at = axes_in(small, big)
    if at is None or array.shape != small.shape:
        return None
    shape = [1] * len(big.shape)
    for axis, extent in zip(at, small.shape, strict=True):
        shape[axis] = extent
    return np.broadcast_to(array.reshape(shape), big.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Elements whose values are the same few in every operand.

    Attributes:
        where: Its elements; None: all.
        values: One an operand.
        elements: For each operand, the element of its value at every element of the result.
    """

    where: Bools | None
    values: tuple[Value, ...]
    elements: tuple[Ints, ...]

    def table(self, cx: Context, operand: int, comp: Comp) -> Ints:
        """A component's table, over the elements of the result."""
        local = cx.store.tables[comp.table]
        # Elsewhere in the result another value's elements are numbered, which this table need not have.
        return local[np.minimum(self.elements[operand], len(local) - 1)]


def regions(cx: Context, tiles: Sequence[Tile], made: FragType) -> Iterator[Region] | None:
    """The operands of a pointwise operation, spread over its result and cut where values change; None: no fit."""
    codes = list[Ints]()
    for tile in tiles:
        wide = spread(tile.codes, tile.type, made)
        if wide is None:
            return None
        codes.append(wide)
    return _regions(cx, codes)


def _regions(cx: Context, codes: Sequence[Ints]) -> Iterator[Region]:
    numbers = [c >> ELEMENT_BITS for c in codes]
    elements = tuple(c & ELEMENT_MASK for c in codes)
    if all((n == n.flat[0]).all() for n in numbers):
        yield Region(None, tuple(cx.store.values[int(n.flat[0])] for n in numbers), elements)
        return
    kinds = np.unique(np.stack([n.ravel() for n in numbers]), axis=1)
    for kind in kinds.T:
        where = np.logical_and.reduce([n == k for n, k in zip(numbers, kind, strict=True)])
        yield Region(where, tuple(cx.store.values[int(k)] for k in kind), elements)
