"""Joined boxes hold every point as often as the boxes that they are made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from argus.dsl.layout.affine import Affine
from argus.dsl.tags.boxes import joined
from argus.dsl.tags.obligations import Box


def box(at: tuple[int, int], size: tuple[int, int]) -> Box:
    return Box(0, tuple(Affine(a) for a in at), size)


CORNERS, EXTENTS = st.tuples(st.integers(0, 4), st.integers(0, 4)), st.tuples(st.integers(1, 3), st.integers(1, 3))
BOXES = st.lists(st.builds(box, CORNERS, EXTENTS), max_size=7)


def counts(boxes: tuple[Box, ...]) -> list[list[int]]:
    out = np.zeros((8, 8), np.int64)
    for box in boxes:
        (x, y), (m, n) = (a.const for a in box.base), box.size
        out[x : x + m, y : y + n] += 1
    return out.tolist()


@given(BOXES)
def test_joined_boxes_count_the_same(boxes: list[Box]) -> None:
    assert counts(joined(boxes)) == counts(tuple(boxes))


def test_a_tile_stored_in_parts_is_one_box() -> None:
    parts = [Box(0, (Affine(64 * g), Affine(32 * q)), (64, 32)) for g in range(2) for q in range(4)]
    assert joined(parts) == (Box(0, (Affine(), Affine()), (128, 128)),)
