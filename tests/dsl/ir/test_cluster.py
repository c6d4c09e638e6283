"""Copies that blocks of a cluster share are refused wherever the blocks might ask for different ones."""

from __future__ import annotations

import pytest

from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir.verify import verify
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.dsl.lower import lower
from argus.dsl.transform import to_core

SCHEDULE = HopperGemmSchedule(tile=(128, 64, 64), stages=2, cluster=2)
TEXT = hopper_gemm.text(SCHEDULE, make_problem(task_named("gemm"), target="sm_90a"))


def test_neighbours_of_a_column_share_the_other_operand() -> None:
    verify(to_core(parse(TEXT)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2 * cdiv(M, 256)", "cdiv(M, 128)", "need not lie in one column"),
        ("group_m(8)", "group_m(3)", "need not lie in one column"),
        ("order=group_m(8)", "order=rows", "need not lie in one column"),
        (", cluster=2)", ")", "pairs of blocks"),
        (", cluster=2)", ", cluster=4)", "pairs of blocks"),
        ('[bm, kt], via="tma"', '[bm, kt], via="tma", across="cluster"', "a shared copy depends on bm"),
        (
            "            acc = ",
            '            if bm == 0:\n                fence("async")\n            acc = ',
            "a branch beside",
        ),
        ('via="tma", across="cluster"', 'via="tma", across="grid"', "across"),
    ],
)
def test_what_blocks_might_not_share_is_refused(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(KernelError, match=said):
        verify(to_core(parse(TEXT.replace(old, new))))


OUT, FILL, USE = "    out = ", "                with r.fill() as st:\n", "                with r.use(keep=1) as st:\n"
DEEP = " " * 20
BESIDE = {
    "another barrier in memory": (
        [(OUT, f"    bar = mbar(8)\n{OUT}"), ("            y = acc", "            arrive(bar)\n            y = acc")],
        "no barrier in memory beside it",
    ),
    "another ring": (
        [
            (OUT, f"    q = ring(2, X=shared(bf16, 8, 64))\n{OUT}"),
            (
                FILL,
                f'                with q.fill() as t:\n{DEEP}copy_async(t.X, A.tile(8, 64)[bm, kt], via="tma")\n{FILL}',
            ),
            (USE, f"                with q.use() as t:\n{DEEP}x = load(t.X)\n{USE}"),
        ],
        "no barrier in memory beside it",
    ),
    "a barrier of the block": (
        [("            mma_wait(0)\n", "            mma_wait(0)\n            barrier()\n")],
        "whole block",
    ),
}


@pytest.mark.parametrize("name", BESIDE)
def test_nothing_but_the_ring_may_order_loads_after_uses(name: str) -> None:
    """A neighbour's loads follow this block's uses through the ring alone."""
    edits, said = BESIDE[name]
    source = TEXT
    for old, new in edits:
        assert old in source
        source = source.replace(old, new, 1)
    with pytest.raises(KernelError, match=said):
        verify(to_core(parse(source)))


def test_lowering_does_not_trust_that_a_kernel_was_verified() -> None:
    with pytest.raises(KernelError, match="need not lie in one column"):
        lower(to_core(parse(TEXT.replace("group_m(8)", "group_m(3)"))))
