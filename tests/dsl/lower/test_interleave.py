"""The order asked of the scheduler between two barriers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from argus.dsl.lower.gfx942.interleave import LEAD_CLK, Kind, Region, rates
from argus.dsl.lower.gfx942.mma import growing


def region(*kinds: tuple[Kind, int]) -> Region:
    made = Region(mfma_clk=LEAD_CLK // 2)  # a read goes two MFMAs ahead of its use
    for kind, count in kinds:
        for _ in range(count):
            made.record(kind)
    return made


def places(found: Region, kind: Kind) -> list[int]:
    """How many MFMAs precede each instruction of a kind."""
    before, out = 0, list[int]()
    for name, count in found.pipeline():
        out += [before] * count if name == kind else []
        before += count if name == "mfma" else 0
    return out


def test_nothing_is_asked_where_nothing_can_be_interleaved() -> None:
    assert region(("vmem", 4), ("ds_write", 4)).pipeline() == []


def test_every_instruction_is_named_once() -> None:
    made = region(("vmem", 5), ("ds_read", 2), ("mfma", 4), ("ds_read", 3), ("mfma", 12), ("ds_write", 7))
    asked = made.pipeline()
    for kind, count in (("vmem", 5), ("ds_read", 5), ("mfma", 16), ("ds_write", 7)):
        assert sum(n for name, n in asked if name == kind) == count


def test_reads_go_ahead_of_their_use_and_apart() -> None:
    made = region(("ds_read", 1), ("mfma", 8), ("ds_read", 3), ("mfma", 8))
    assert places(made, "ds_read") == [0, 4, 5, 6]


def test_loads_go_early_and_writes_late() -> None:
    made = region(("vmem", 2), ("mfma", 12), ("ds_write", 3))
    assert places(made, "vmem") == [1, 4]
    assert places(made, "ds_write") == [10, 11, 12]


def test_writes_before_the_first_mfma_stay_there() -> None:
    assert places(region(("ds_write", 3), ("mfma", 8)), "ds_write") == []


@pytest.mark.parametrize(
    ("counts", "want"),
    [
        ((("ds_read", 1), ("mfma", 3)), {"ds_read": Fraction(3)}),
        ((("mfma", 4), ("ds_read", 2), ("vmem", 1)), {"ds_read": Fraction(2), "vmem": Fraction(4)}),
        ((("vmem_read", 2), ("mfma", 1)), {"vmem": Fraction(1, 2)}),
        ((("ds_read", 4),), {}),
    ],
)
def test_a_pattern_is_a_rate_against_mfmas(counts: tuple[tuple[str, int], ...], want: dict[str, Fraction]) -> None:
    assert rates(counts) == want


def test_a_rate_sets_the_distance() -> None:
    made = region(("ds_read", 1), ("mfma", 12), ("ds_read", 3), ("mfma", 4))
    made.rates.update(rates((("ds_read", 1), ("mfma", 3))))
    assert places(made, "ds_read") == [0, 4, 7, 10]


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (4, 2), (2, 5), (7, 4)])
def test_atoms_grow_by_one_operand_at_a_time(rows: int, columns: int) -> None:
    seen: set[tuple[int, int]] = set()
    for step in growing(rows, columns):
        new = {p for p, _ in step} - {p for p, _ in seen}, {q for _, q in step} - {q for _, q in seen}
        assert len(new[0]) + len(new[1]) <= 1 or not seen
        assert not seen & set(step)
        seen |= set(step)
    assert seen == {(p, q) for p in range(rows) for q in range(columns)}
