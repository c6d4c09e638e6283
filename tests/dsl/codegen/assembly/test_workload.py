"""Block orders, and the reuse that follows from them."""

from __future__ import annotations

from math import isclose

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.dsl.codegen.workload import Workload, access, block_indices, operand_reuse
from argus.dsl.interp import grid
from argus.dsl.targets import gfx942

ORDERS = st.one_of(
    st.sampled_from(["rows", "columns"]),
    st.integers(1, 9).map(lambda n: f"xcd({n})"),
    st.integers(1, 9).map(lambda n: f"group_m({n})"),
)


def workload(
    *, m: int = 4096, n: int = 4096, k: int = 4096, bk: int = 64, order: str = "rows", split_k: int = 1
) -> Workload:
    return Workload(m, n, k, 128, 128, bk, 4, order=order, split_k=split_k)


@given(ORDERS, st.integers(1, 12), st.integers(1, 12), st.integers(1, 3))
def test_orders_are_the_interpreters(order: str, rows: int, columns: int, parts: int) -> None:
    linear = np.arange(rows * columns * parts)
    got = zip(*(x.tolist() for x in block_indices(order, linear, rows, columns, parts)), strict=True)
    assert list(got) == list(grid.block_indices((rows, columns, parts), order))


def test_xcd_gives_each_die_a_run_of_rows() -> None:
    i, _, _ = block_indices("xcd(8)", np.arange(64), 8, 8)
    assert all(set(i[x::8].tolist()) == {x} for x in range(8))


def test_group_m_walks_columns_of_a_group() -> None:
    i, j, _ = block_indices("group_m(2)", np.arange(8), 3, 4)
    assert i.tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    assert j.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("order", ["diagonal", "xcd", "xcd(0)", "group_m(0)", "rows; drop"])
def test_unknown_order(order: str) -> None:
    with pytest.raises(ValueError, match="unknown block order"):
        block_indices(order, np.arange(4), 2, 2)


def test_reuse_of_row_order() -> None:
    """32 columns on 8 XCDs: each keeps 4 columns and walks the rows, 38 blocks, thus 9.5 rows, at a time."""
    a, b = operand_reuse(workload(), 1)
    # 128 blocks an XCD in windows of 38, 38, 38 and 14 blocks: 10, 11, 11 and 4 rows at most, and 4 columns each.
    assert b.beyond_l2 == 4 * 4 / 128
    assert 32 / 128 <= a.beyond_l2 <= 36 / 128
    # A and B fit the Infinity Cache: HBM sends each of 32 row panels once to 1024 blocks.
    assert a.from_hbm == b.from_hbm == 32 / 1024


def test_reuse_where_nothing_fits() -> None:
    big = workload(m=32768, n=32768, k=32768)
    a, b = operand_reuse(big, 1)
    assert a.from_hbm > 256 / 65536
    assert b.from_hbm > 10 * 256 / 65536  # every window of two rows reads all columns again


def test_more_resident_blocks_share_more() -> None:
    shares = [sum(x.beyond_l2 for x in operand_reuse(workload(), r)) for r in (1, 2, 4)]
    assert shares == sorted(shares, reverse=True)


def test_order_changes_the_traffic() -> None:
    """64 columns dealt to 8 XCDs leave each a patch of 8 columns; a run of the row order is one row of 38."""
    patch, run = (access(workload(m=8192, n=8192, order=x), 1).fabric_clk for x in ("rows", "xcd(8)"))
    assert isclose(run / patch, (1 + 38) / (8 + 38 / 8), rel_tol=0.2)


def test_a_block_waits_for_the_slower_of_two_slices() -> None:
    (near, l2), (middle, mall), (all_of_them, hbm) = access(workload(), 1).load_levels
    a, b = operand_reuse(workload(), 1)
    assert isclose(near, (1 - a.beyond_l2) * (1 - b.beyond_l2), rel_tol=1e-6)
    assert 0 < near < middle < all_of_them == 1.0
    assert (l2, mall, hbm) == (gfx942.L2_HIT_CLK, gfx942.MALL_HIT_CLK, gfx942.HBM_CLK)


def test_half_a_cache_line_each_k_step() -> None:
    """32 bf16 are 64 bytes: every second k-step finds its line already there."""
    a, b = operand_reuse(workload(), 1)
    near, _ = access(workload(bk=32), 1).load_levels[0]
    assert isclose(near, (1 - a.beyond_l2 / 2) * (1 - b.beyond_l2 / 2), rel_tol=1e-6)


def test_few_blocks_get_more_bandwidth_each() -> None:
    few, many = access(workload(m=512, n=512), 1), access(workload(), 1)
    assert few.store_fabric_clk < many.store_fabric_clk
    assert few.l2_clk == 1 / gfx942.L1_BYTES_PER_CLK  # then the L1 is the limit


def test_split_k_multiplies_blocks_and_divides_depth() -> None:
    split = workload(split_k=4)
    assert (split.blocks, split.k_tiles) == (4 * 1024, 16)
    assert split.flop_per_block * split.blocks == workload().flop_per_block * 1024 == 2 * 4096**3
