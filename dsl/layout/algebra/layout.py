"""A layout is a function from 0, …, size - 1 to offsets, written as shape and strides."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

Nested: TypeAlias = "int | tuple[Nested, ...]"
Leaf: TypeAlias = tuple[int, int]  # size and stride
Table: TypeAlias = npt.NDArray[np.int64]


class Inadmissible(ValueError):
    """No layout is what was asked for; the message says why."""


@dataclass(frozen=True, slots=True)
class Layout:
    """`shape:stride`, both integers or both tuples of the same nesting; the first mode varies fastest.

    A layout takes a flat index, which it splits by its shape, or a coordinate nested as the shape is.

    Attributes:
        shape: Positive extents.
        stride: Offsets that a step along each mode adds; not negative.

    Raises:
        ValueError: If shape and stride do not match.

    Example:
        >>> a = Layout((2, (2, 4)), (8, (1, 2)))
        >>> a(5), a((1, (0, 1)))
        (10, 10)

    Source:
        The layouts of CuTe.
    """

    shape: Nested
    stride: Nested

    def __post_init__(self) -> None:
        _check(self.shape, self.stride)

    @property
    def modes(self) -> tuple[Layout, ...]:
        """The parts of the top level; a layout of one integer has itself."""
        if isinstance(self.shape, int):
            return (self,)
        return tuple(Layout(s, d) for s, d in zip(self.shape, cast("tuple[Nested, ...]", self.stride), strict=True))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """(size, stride) of all integers of the shape, fastest first."""
        return tuple(zip(flatten(self.shape), flatten(self.stride), strict=True))

    @property
    def size(self) -> int:
        return prod(flatten(self.shape))

    @property
    def cosize(self) -> int:
        """One more than the largest offset."""
        return 1 + sum((s - 1) * d for s, d in self.leaves)

    def __call__(self, index: Nested) -> int:
        """The offset of a flat index or a nested coordinate.

        Raises:
            IndexError: Outside the shape.
        """
        return _offset(index, self.shape, self.stride)

    def __getitem__(self, mode: int) -> Layout:
        return self.modes[mode]

    def table(self) -> Table:
        """All offsets, by flat index."""
        offsets = np.zeros(1, np.int64)
        for size, stride in self.leaves:
            offsets = (np.arange(size, dtype=np.int64)[:, None] * stride + offsets[None, :]).reshape(-1)
        return offsets

    @property
    def is_injective(self) -> bool:
        """Whether no two indices share an offset."""
        return len(np.unique(self.table())) == self.size

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"


def layout(text: str) -> Layout:
    """Read `(2,(2,4)):(8,(1,2))`, or a shape alone, whose strides then are compact, first mode fastest.

    Raises:
        ValueError: If the text is no layout.
    """
    shape, colon, stride = text.partition(":")
    try:
        read: list[Any] = [ast.literal_eval(part.strip()) for part in ((shape, stride) if colon else (shape,))]
    except (SyntaxError, ValueError):
        raise ValueError(f"{text!r} is no layout: write shape:stride, such as (4,8):(8,1)") from None
    return Layout(read[0], read[1]) if colon else column_major(read[0])


def column_major(shape: Nested) -> Layout:
    """Compact, first mode fastest."""
    sizes = flatten(shape)
    return Layout(shape, nest(shape, [prod(sizes[:i]) for i in range(len(sizes))]))


def row_major(shape: Nested) -> Layout:
    """Compact, last mode fastest."""
    sizes = flatten(shape)
    return Layout(shape, nest(shape, [prod(sizes[i + 1 :]) for i in range(len(sizes))]))


def coalesce(a: Layout) -> Layout:
    """The same function, with as few modes as possible and none nested."""
    kept: list[Leaf] = []
    for size, stride in a.leaves:
        if size == 1:
            continue
        if kept and stride == kept[-1][0] * kept[-1][1]:
            kept[-1] = (kept[-1][0] * size, kept[-1][1])
        else:
            kept.append((size, stride))
    return of_leaves(kept)


def from_table(values: Iterable[int] | Table) -> Layout:
    """The layout with these offsets, coalesced.

    It is found if there is one: the first mode of a coalesced layout is the longest run of equal steps.

    Raises:
        Inadmissible: If no layout gives these values.
    """
    rest = np.asarray(values, np.int64).reshape(-1)
    if not rest.size or rest[0]:
        raise Inadmissible(f"a layout maps 0 to 0, not to {rest[0]}" if rest.size else "a layout has an index 0")
    leaves: list[Leaf] = []
    inner = 1
    while rest.size > 1:
        step = int(rest[1])
        breaks = np.flatnonzero(rest != np.arange(rest.size) * step)
        run = int(breaks[0]) if breaks.size else rest.size
        if rest.size % run:
            raise Inadmissible(
                f"from index 0 to {(run - 1) * inner} offsets step by {step} and then no longer, "
                f"and these {run} do not divide {rest.size}"
            )
        rows = rest.reshape(-1, run)
        wrong = np.argwhere(rows != rows[:, :1] + rows[0])
        if wrong.size:
            block, at = (int(i) for i in wrong[0])
            i, j = block * run * inner, at * inner
            raise Inadmissible(
                f"index {i + j} = {i} + {j} has offset {rows[block, at]}, "
                f"and the offsets of {i} and {j} add up to {rows[block, 0] + rows[0, at]}"
            )
        leaves.append((run, step))
        rest, inner = rows[:, 0], inner * run
    return of_leaves(leaves)


def of_leaves(leaves: Iterable[Leaf]) -> Layout:
    """One mode a leaf; a single leaf is not put into a tuple, none is `1:0`."""
    kept = tuple(leaves)
    if not kept:
        return Layout(1, 0)
    if len(kept) == 1:
        return Layout(*kept[0])
    return Layout(tuple(s for s, _ in kept), tuple(d for _, d in kept))


def join(*modes: Layout) -> Layout:
    """A layout with these modes: offsets add up."""
    return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))


def flatten(nested: Nested) -> tuple[int, ...]:
    return (nested,) if isinstance(nested, int) else tuple(i for part in nested for i in flatten(part))


def nest(shape: Nested, values: Iterable[Nested]) -> Nested:
    """`values`, one for each integer of `shape`, nested like it."""
    rest = iter(values)

    def take(part: Nested) -> Nested:
        return next(rest) if isinstance(part, int) else tuple(take(p) for p in part)

    return take(shape)


def _check(shape: Nested, stride: Nested) -> None:
    if isinstance(shape, tuple) and isinstance(stride, tuple) and shape and len(shape) == len(stride):
        for s, d in zip(shape, stride, strict=True):
            _check(s, d)
    elif not (isinstance(shape, int) and isinstance(stride, int)):
        raise ValueError(f"shape {_text(shape)} and stride {_text(stride)} are not nested alike")
    elif shape < 1 or stride < 0:
        raise ValueError(f"{shape}:{stride}: extents are positive and strides not negative")


def _offset(index: Nested, shape: Nested, stride: Nested) -> int:
    if isinstance(index, int):
        if not 0 <= index < prod(flatten(shape)):
            raise IndexError(f"index {index} is outside shape {_text(shape)}")
        offset = 0
        for size, step in zip(flatten(shape), flatten(stride), strict=True):
            index, digit = divmod(index, size)
            offset += digit * step
        return offset
    if isinstance(shape, int) or len(index) != len(shape):
        raise IndexError(f"coordinate {_text(index)} is not nested like shape {_text(shape)}")
    return sum(_offset(i, s, d) for i, s, d in zip(index, shape, cast("tuple[Nested, ...]", stride), strict=True))


def _text(nested: Nested) -> str:
    if isinstance(nested, tuple):
        return f"({','.join(map(_text, nested))}{',' if len(nested) == 1 else ''})"
    return str(nested)
