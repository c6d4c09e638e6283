from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.dsl.interp.grid import block_indices, split_part

ORDERS = st.sampled_from(["rows", "columns", "longest_first", "group_m(3)", "group_m(8)", "xcd(8)", "xcd(4)"])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), ORDERS)
def test_orders_visit_every_block_once(counts: list[int], order: str) -> None:
    visited = list(block_indices(counts, order))
    assert len(set(visited)) == len(visited)
    assert sorted(visited) == list(block_indices(counts, "rows"))


def test_group_m_walks_bands_of_rows_by_columns() -> None:
    assert list(block_indices((3, 2), "group_m(2)")) == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]


def test_xcd_gives_each_die_a_contiguous_range() -> None:
    launched = list(block_indices((10,), "xcd(4)"))
    assert [launched[i][0] for i in range(0, 10, 4)] == [0, 1, 2]
    assert [launched[i][0] for i in range(1, 10, 4)] == [3, 4, 5]
    assert [launched[i][0] for i in range(3, 10, 4)] == [8, 9]


def test_longest_first_begins_at_the_end() -> None:
    assert list(block_indices((2, 2), "longest_first")) == [(1, 0), (1, 1), (0, 0), (0, 1)]


def test_unknown_order() -> None:
    with pytest.raises(ValueError, match="snake"):
        list(block_indices((2,), "snake"))


@given(st.integers(0, 50), st.integers(1, 9))
def test_parts_are_disjoint_and_cover(n: int, parts: int) -> None:
    covered = [i for p in range(parts) for i in range(*split_part(n, parts, p))]
    assert covered == list(range(n))
