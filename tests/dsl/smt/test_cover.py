"""Counting by formula against counting by enumeration."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argus.dsl.layout.affine import Affine, conjunction, evaluate_affine, floordiv, ge, var
from argus.dsl.smt.cover import (
    NotCountable,
    beyond_summed,
    output_families,
    output_violated,
    padding_summed,
    reduction_families,
    reduction_violated,
    tally,
)
from argus.dsl.smt.z3_door import Door
from argus.dsl.tags.domain import Domain, Term, Window
from argus.dsl.tags.obligations import Box, CoversOnce, WritesOnce

K = var("K")


def trips(symbol: str, count: Affine, first: int = 0) -> Domain:
    return Domain(symbol, conjunction((ge(var(symbol) - first), ge(count - var(symbol) - 1))))


def term(step: int, runs: tuple[tuple[int, int, int], ...], count: Affine, *, absorbing: bool = True) -> Term:
    windows = (Window("k", Affine(), K),)
    return Term("k", var("i") * step, runs, (trips("i", count),), windows, absorbing)


def covered(claim: CoversOnce) -> bool:
    return Door(("K",), ()).refuted(reduction_violated(claim, "x0"))


def test_a_loop_over_all_tiles_covers_every_coordinate() -> None:
    assert covered(CoversOnce((term(64, ((0, 64, 1),), floordiv(K + 63, 64)),), K))


def test_a_floor_leaves_the_tail_out() -> None:
    assert not covered(CoversOnce((term(64, ((0, 64, 1),), floordiv(K, 64)),), K))


def test_an_over_run_is_absorbed() -> None:
    assert covered(CoversOnce((term(64, ((0, 64, 1),), floordiv(K + 63, 64) + 1),), K))


def test_a_peeled_first_tile_and_the_rest() -> None:
    first = Term("k", Affine(), ((0, 64, 1),))
    rest = Term("k", var("i") * 64, ((0, 64, 1),), (trips("i", floordiv(K + 63, 64), first=1),))
    assert covered(CoversOnce((first, rest), K))
    assert not covered(CoversOnce((first, first, rest), K))


def test_even_and_odd_tiles_by_two_loops() -> None:
    pairs = floordiv(K + 127, 128)
    even, odd = (term(128, ((64 * p, 64 * p + 64, 1),), pairs) for p in (0, 1))
    assert covered(CoversOnce((even, odd), K))
    assert not covered(CoversOnce((even,), K))


def test_a_tile_repeated_by_a_loop_counts_as_often_as_the_loop_runs() -> None:
    again = Term("k", Affine(), ((0, 64, 1),), (trips("i", floordiv(K + 63, 64)),))
    door = Door(("K",), (ge(Affine(64) - K),))
    assert door.refuted(reduction_violated(CoversOnce((again,), K), "x0"))  # one trip: once
    assert not covered(CoversOnce((again,), K))


def test_padding_that_does_not_vanish_must_not_be_summed() -> None:
    tiles = floordiv(K + 63, 64)
    (summed,) = padding_summed(CoversOnce((term(64, ((0, 64, 1),), tiles, absorbing=False),), K))
    assert not Door(("K",), ()).refuted(summed)
    whole = floordiv(K, 64) * 64
    assert Door(("K",), (ge(whole - K),)).refuted(summed)  # K a multiple of the tile: there is no padding


def test_data_beyond_the_extent_must_not_be_summed() -> None:
    tiles = CoversOnce((term(64, ((0, 64, 1),), floordiv(K + 63, 64)),), K)
    assert beyond_summed(tiles) == []  # cut off where the tensor ends
    (more,) = beyond_summed(replace(tiles, extent=K - 1))
    assert not Door(("K",), ()).refuted(more)
    (fixed,) = beyond_summed(CoversOnce((Term("k", Affine(), ((0, 64, 1),)),), Affine(64)))
    assert Door(("K",), ()).refuted(fixed)


@st.composite
def families(draw: st.DrawFn) -> CoversOnce:
    terms: list[Term] = []
    for number in range(draw(st.integers(1, 3))):
        step, start = draw(st.integers(1, 6)), draw(st.integers(-3, 6))
        stop = start + draw(st.integers(1, 8))
        runs = ((start, stop, draw(st.integers(1, 2))),)
        symbol = f"i{number}"
        base = var(symbol) * draw(st.sampled_from((step, -step, 0)))
        domain = trips(symbol, floordiv(K + draw(st.integers(-2, 4)), draw(st.integers(1, 4))))
        terms.append(Term("k", base, runs, (domain,) if draw(st.booleans()) or base.terms else ()))
    return CoversOnce(tuple(terms), K)


@settings(max_examples=60, deadline=None)
@given(families(), st.integers(1, 12))
def test_formula_and_enumeration_agree(claim: CoversOnce, size: int) -> None:
    counts = tally(reduction_families(claim, var("x0")), {"K": size}, [size])
    assert counts is not None
    door = Door(("K",), (ge(K - size), ge(Affine(size) - K)))
    assert door.refuted(reduction_violated(claim, "x0")) == bool((counts == 1).all())


M, N = var("M"), var("N")
GRID = (("bm", floordiv(M + 63, 64)), ("bn", floordiv(N + 31, 32)))


def written_once(*boxes: Box) -> bool:
    claim = WritesOnce(boxes, (M, N), GRID)
    return Door(("M", "N"), ()).refuted(output_violated(claim, ("x0", "x1")))


def box(rows: Affine, columns: Affine, size: tuple[int, int] = (64, 32)) -> Box:
    return Box(0, (rows, columns), size)


def test_a_grid_of_tiles_writes_all_once() -> None:
    bm, bn = var("bm"), var("bn")
    assert written_once(box(bm * 64, bn * 32))
    assert written_once(box(bm * 64, bn * 32, (32, 32)), box(bm * 64 + 32, bn * 32, (32, 32)))


def test_wrong_grids_do_not() -> None:
    bm, bn = var("bm"), var("bn")
    assert not written_once(box(bm * 64, bn * 32), box(bm * 64, bn * 32))  # twice
    assert not written_once(box(bm * 64, Affine()))  # one block dimension dropped
    assert not written_once(box(bm * 64, bn * 32, (64, 16)))  # half of every tile
    assert not written_once(box(bm * 64, bn * 32, (96, 32)))  # tiles overlap
    assert not written_once(box(bn * 32, bm * 64, (32, 64)))  # indices exchanged
    assert not written_once(box(bm * 64, bm * 32))  # the diagonal alone


def test_two_symbols_along_one_axis_are_counted_by_enumeration_only() -> None:
    claim = WritesOnce((box(var("bm") * 64 + var("bn") * 7, Affine()),), (M, N), GRID)
    with pytest.raises(NotCountable, match="bm, bn"):
        output_violated(claim, ("x0", "x1"))
    counts = tally(output_families(claim, [var("x0"), var("x1")]), {"M": 65, "N": 33}, [65, 33])
    assert counts is not None
    assert counts[0, 0] == 1
    assert counts[7, 0] == 2
    assert evaluate_affine(GRID[0][1], {"M": 65}) == 2
