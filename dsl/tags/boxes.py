"""Stores that lie side by side, as one: fewer and larger boxes count the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.dsl.tags.obligations import Box


def joined(boxes: Sequence[Box]) -> tuple[Box, ...]:
    """Boxes that hold each point as often as these; those that touch along an axis are one."""
    out = tuple(boxes)
    for axis in range(max((len(b.base) for b in boxes), default=0)):
        out = _along(out, axis)
    return out


def _along(boxes: tuple[Box, ...], axis: int) -> tuple[Box, ...]:
    rows = dict[object, list[Box]]()
    for box in boxes:
        rows.setdefault(_place_beside(box, axis), []).append(box)
    return tuple(box for row in rows.values() for box in _row(row, axis))


def _place_beside(box: Box, axis: int) -> object:
    """All of a box but where it begins, and how far it reaches, along one axis."""
    base = tuple(a.without_const() if i == axis else a for i, a in enumerate(box.base))
    size = tuple(0 if i == axis else n for i, n in enumerate(box.size))
    return base, size, box.windows, box.domains, box.given


def _row(boxes: list[Box], axis: int) -> list[Box]:
    out = list[Box]()
    for box in sorted(boxes, key=lambda b: b.base[axis].const):
        if out and out[-1].base[axis].const + out[-1].size[axis] == box.base[axis].const:
            size = tuple(n + box.size[axis] if i == axis else n for i, n in enumerate(out[-1].size))
            out[-1] = replace(out[-1], size=size)
        else:
            out.append(box)
    return out
