"""The laws of the layout algebra, each as its defining equation at every index."""

from __future__ import annotations

import doctest
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from argus.dsl.layout.algebra import (
    Gf2,
    Inadmissible,
    Layout,
    Swizzle,
    coalesce,
    column_major,
    complement,
    compose,
    from_table,
    gf2,
    layout,
    left_inverse,
    logical_divide,
    logical_product,
    right_inverse,
    row_major,
    xor,
    zipped_divide,
)
from argus.dsl.layout.algebra.layout import Nested, flatten, join, nest, of_leaves

MODULES = ("layout", "compose", "tile", "inverse", "swizzle", "gf2", "matrix")
SIZES = st.sampled_from((1, 2, 3, 4, 6, 8))


@st.composite
def layouts(draw: st.DrawFn, largest: int = 96, most: int = 8) -> Layout:
    """Nested layouts of small size whose strides may repeat, interleave or be 0."""
    leaves: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(SIZES)
        if size * prod(s for s, _ in leaves) <= largest:
            leaves.append((size, draw(st.integers(0, most))))
    shape: Nested = tuple(s for s, _ in leaves) if len(leaves) != 1 else leaves[0][0]
    if isinstance(shape, tuple) and len(shape) > 2 and draw(st.booleans()):
        shape = (shape[0], shape[1:])
    return Layout(shape, nest(shape, [d for _, d in leaves])) if leaves else Layout(1, 0)


@st.composite
def compact(draw: st.DrawFn, sizes_of: tuple[int, ...] = ()) -> Layout:
    """Bijections of their index range: modes of a compact layout in any order."""
    sizes = draw(st.permutations(sizes_of) if sizes_of else st.lists(SIZES, min_size=1, max_size=3))
    order = draw(st.permutations(range(len(sizes))))
    strides = [0] * len(sizes)
    inner = 1
    for at in order:
        strides[at] = inner
        inner *= sizes[at]
    return of_leaves(zip(sizes, strides, strict=True))


def is_a_layout(values: tuple[int, ...]) -> bool:
    """Whether some way to factor the size reproduces the values, by trying all."""

    def factored(n: int) -> list[list[int]]:
        return [[]] if n == 1 else [[f, *rest] for f in range(2, n + 1) if n % f == 0 for rest in factored(n // f)]

    for sizes in factored(len(values)):
        strides = [values[prod(sizes[:i])] for i in range(len(sizes))]
        if values[0] == 0 and of_leaves(zip(sizes, strides, strict=True)).table().tolist() == list(values):
            return True
    return False


# -------------------------------------------------------------------------------------------- functions


@given(layouts())
def test_the_table_holds_what_the_function_gives_and_text_reads_back(a: Layout) -> None:
    assert a.table().tolist() == [a(i) for i in range(a.size)]
    assert a.cosize == a.table().max() + 1
    assert layout(str(a)) == a
    assert a.is_injective == (len({a(i) for i in range(a.size)}) == a.size)


def test_a_coordinate_and_its_flat_index_have_one_offset() -> None:
    a = layout("(2,(2,4)):(8,(1,2))")
    assert [a((i, (j, k))) for k in range(4) for j in range(2) for i in range(2)] == a.table().tolist()
    assert a((1, 5)) == a((1, (1, 2))) == 13  # a mode takes a flat index as well
    with pytest.raises(IndexError, match="outside shape"):
        a(16)
    with pytest.raises(IndexError, match="not nested like"):
        a((1, (0, 0, 0)))


@pytest.mark.parametrize("text", ["(2,3):(1)", "(2,(3)):(1,(2,3))", "0:1", "2:-1", "x:1", "", "2.5:1", "():()"])
def test_what_is_no_layout_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"layout|nested alike|positive"):
        layout(text)


@given(layouts())
def test_coalescing_keeps_the_function_and_nothing_merges_further(a: Layout) -> None:
    short = coalesce(a)
    assert short.table().tolist() == a.table().tolist()
    assert all(d != s * e for (s, e), (_, d) in pairwise(short.leaves))


@given(layouts())
def test_a_layout_is_found_again_from_its_table(a: Layout) -> None:
    assert from_table(a.table()) == coalesce(a)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_a_table_is_refused_only_if_no_shape_reproduces_it(values: list[int]) -> None:
    try:
        found = from_table(values)
    except Inadmissible:
        assert not is_a_layout(tuple(values))
    else:
        assert found.table().tolist() == values


# ------------------------------------------------------------------------------------------ composition


@given(layouts(), layouts(most=12))
def test_a_composition_is_the_composed_function_or_no_layout_nested_like_the_second_is(a: Layout, b: Layout) -> None:
    assume(b.cosize <= a.size)
    want = [a(b(i)) for i in range(b.size)]
    try:
        made = compose(a, b)
    except Inadmissible:
        # Each leaf of b would have to become a layout, and the leaves would have to add up.
        parts = [tuple(a(i * d) for i in range(s)) for s, d in b.leaves]
        sums = np.zeros(1, np.int64)
        for part in parts:
            sums = (np.array(part)[:, None] + sums[None, :]).reshape(-1)
        assert not all(map(is_a_layout, parts)) or sums.tolist() != want
    else:
        assert made.table().tolist() == want
        assert isinstance(b.shape, int) or [m.size for m in made.modes] == [m.size for m in b.modes]


@given(compact((2, 4, 8)), compact((8, 8)), compact((4, 2, 2, 4)))
def test_composition_is_associative_and_the_identity_changes_nothing(a: Layout, b: Layout, c: Layout) -> None:
    assert coalesce(compose(compose(a, b), c)) == coalesce(compose(a, compose(b, c)))
    assert coalesce(compose(a, column_major(a.size))) == coalesce(a)
    assert compose(column_major(a.size), a).table().tolist() == a.table().tolist()


CARRYING = [
    ("(2,8):(0,8)", "(4,4):(1,1)"),
    ("(4,8):(1,0)", "(4,4):(1,2)"),
    ("(2,4):(4,1)", "(2,2,2):(1,1,2)"),
    ("(3,4):(1,8)", "(3,2):(1,2)"),
]


@pytest.mark.parametrize(("first", "second"), CARRYING)
def test_modes_that_carry_are_refused_though_each_alone_composes(first: str, second: str) -> None:
    a, b = layout(first), layout(second)
    by_mode = join(*(compose(a, mode) for mode in b.modes))
    assert by_mode.table().tolist() != [a(b(i)) for i in range(b.size)]
    with pytest.raises(Inadmissible, match="carry into each other") as refused:
        compose(a, b)
    assert "index " in str(refused.value)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("(4,2):(1,16)", "3:2", "from index 0 to 1 offsets step by 2 and then no longer, and these 2 do not divide 3"),
        ("(6,4):(1,100)", "4:5", "index 3 = 2 + 1 has offset 203"),
        ("8:1", "4:3", "reaches 9, and 8:1 has only indices 0 to 7"),
        ("(5000001,2):(3,1)", "(3,2):(3333333,2)", "too many to try"),
    ],
)
def test_an_inadmissible_composition_says_why(first: str, second: str, why: str) -> None:
    with pytest.raises(Inadmissible) as refused:
        compose(layout(first), layout(second))
    assert why in str(refused.value)


def test_large_layouts_compose_without_a_table() -> None:
    a = layout("(65536,65536):(65536,1)")
    assert str(compose(a, layout("(128,64):(65536,1)"))) == "(128,64):(1,65536)"


def test_what_divisibility_does_not_tell_is_decided_by_trying() -> None:
    assert str(compose(layout("(2,8):(3,5)"), layout("4:3"))) == "(2,2):(8,15)"


# ------------------------------------------------------------------------- complements, tiles, inverses


@given(layouts(), st.integers(1, 4))
def test_a_layout_and_its_complement_take_each_offset_once(a: Layout, times: int) -> None:
    size = max((s * d for s, d in a.leaves if s > 1), default=1) * times
    try:
        rest = complement(a, size)
    except Inadmissible:
        offsets = a.table()
        taken = set(offsets.tolist())
        if len(taken) < a.size:
            return
        # Otherwise no translations of a fill the range: the least offset left over has to start the next copy.
        filled = np.zeros(size, np.int64)
        for start in range(size):
            if not filled[start] and start + offsets.max() < size:
                filled[start + offsets] += 1
        leaves = sorted((leaf for leaf in coalesce(a).leaves), key=lambda leaf: leaf[1])
        assert (filled != 1).any() or any(d % (s * e) for (s, e), (_, d) in pairwise(leaves))
    else:
        assert sorted(join(a, rest).table().tolist()) == list(range(size))
        assert (np.diff(rest.table()) > 0).all()


@given(layouts(), layouts(most=12))
def test_a_divided_layout_holds_the_tile_and_all_the_rest(a: Layout, tile: Layout) -> None:
    assume(tile.cosize <= a.size)
    try:
        cut = logical_divide(a, tile)
    except Inadmissible:
        return
    assert cut[0].table().tolist() == [a(tile(i)) for i in range(tile.size)]
    rest = complement(tile, a.size)
    want = [a(rest(j) + tile(i)) for j in range(rest.size) for i in range(tile.size)]
    assert cut.table().tolist() == want
    assert sorted(want) == sorted(a.table().tolist())


def test_each_mode_can_be_cut_by_a_tile_of_its_own() -> None:
    a = row_major((64, 96))
    cut = zipped_divide(a, (layout("16:1"), layout("32:1")))
    assert str(cut) == "((16,32),(4,3)):((96,1),(1536,32))"
    for i, j in ((0, 0), (17, 40), (63, 95)):
        assert cut(((i % 16, j % 32), (i // 16, j // 32))) == a((i, j))
    with pytest.raises(ValueError, match="1 tiles for the 2 modes"):
        zipped_divide(a, (layout("16:1"),))


@given(layouts(largest=24, most=4), layouts(largest=12, most=3))
def test_a_product_repeats_the_first_factor_without_overlap(a: Layout, b: Layout) -> None:
    try:
        product = logical_product(a, b)
    except Inadmissible:
        return
    assert product[0] == a
    starts = product[1].table()
    assert len(np.unique(product.table())) == a.size * len(np.unique(b.table()))
    # Copies come in the order in which b visits its offsets.
    assert np.argsort(starts, kind="stable").tolist() == np.argsort(b.table(), kind="stable").tolist()


@given(layouts())
def test_a_right_inverse_undoes_on_the_right_as_far_as_it_goes(a: Layout) -> None:
    inverse = right_inverse(a)
    assert [a(inverse(j)) for j in range(inverse.size)] == list(range(inverse.size))
    for mode in a.leaves:
        # No mode could have carried it further.
        assert mode[0] == 1 or mode[1] != inverse.size


@given(layouts())
def test_a_left_inverse_undoes_on_the_left(a: Layout) -> None:
    try:
        inverse = left_inverse(a)
    except Inadmissible:
        return
    assert [inverse(a(i)) for i in range(a.size)] == list(range(a.size))


@given(compact())
def test_bijections_have_one_inverse(a: Layout) -> None:
    assert left_inverse(a).table().tolist() == right_inverse(a).table().tolist() == np.argsort(a.table()).tolist()


# ------------------------------------------------------------------------------------------ swizzles, bits


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_a_swizzle_is_its_own_inverse_and_linear_over_bits(bits: int, base: int, more: int) -> None:
    swizzle = Swizzle(bits, base, bits + more)
    size = 1 << (2 * bits + base + more)
    assert swizzle(swizzle.table(size)).tolist() == list(range(size))
    matrix = gf2(swizzle.table(size))
    assert matrix @ matrix == gf2(column_major(size))
    assert [matrix(i) for i in range(size)] == [swizzle(i) for i in range(size)]


@pytest.mark.parametrize(
    ("chunks", "unit", "rows", "width"), [(4, 8, 2, 32), (8, 8, 1, 64), (2, 4, 4, 32), (8, 16, 1, 128)]
)
def test_the_languages_swizzle_moves_chunks_within_rows(chunks: int, unit: int, rows: int, width: int) -> None:
    swizzle = xor(chunks, unit, rows, width)
    for r in range(16):
        for x in range(width):
            c, e = divmod(x, unit)
            moved = c // chunks * chunks + (c % chunks ^ r // rows % chunks)
            assert swizzle(r * width + x) == r * width + moved * unit + e


def test_swizzles_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="rows = 3 is no power of two"):
        xor(4, 8, 3, 64)
    with pytest.raises(ValueError, match="more than a row"):
        xor(8, 16, 1, 64)
    with pytest.raises(ValueError, match="shift is at least bits"):
        Swizzle(3, 4, 2)


@given(compact((2, 4, 8)), compact((4, 2, 2, 4)))
def test_matrices_compose_and_invert_as_functions_do(a: Layout, b: Layout) -> None:
    first, second = gf2(a), gf2(b)
    assert (second @ first).table().tolist() == [b(a(i)) for i in range(a.size)]
    assert first.inverse() @ first == first @ first.inverse() == gf2(column_major(a.size))
    assert first.rank == a.size.bit_length() - 1


@given(layouts())
def test_a_layout_is_linear_over_bits_exactly_if_exclusive_or_says_so(a: Layout) -> None:
    values = a.table().tolist()
    linear = a.size & (a.size - 1) == 0 and all(
        values[i ^ j] == values[i] ^ values[j] for i in range(a.size) for j in range(a.size)
    )
    try:
        assert gf2(a).table().tolist() == values
        assert linear
    except Inadmissible:
        assert not linear


def test_singular_matrices_have_no_inverse() -> None:
    with pytest.raises(Inadmissible, match="rank 1 on 2 bits"):
        Gf2((1, 1)).inverse()
    with pytest.raises(ValueError, match="3 bits for a matrix that takes 2"):
        _ = Gf2((1, 2)) @ Gf2((4,))


# --------------------------------------------------------------------------------------------- a library


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_run(module: str) -> None:
    assert doctest.testmod(import_module(f"argus.dsl.layout.algebra.{module}")).failed == 0


def test_it_needs_neither_compiler_nor_solver_nor_language() -> None:
    code = (
        "import sys, argus.dsl.layout.algebra, argus.dsl.layout.algebra.matrix as m\n"
        "print([n for n in sys.modules if n.split('.')[0] in ('z3', 'tvm', 'pydantic')"
        " or n.startswith('argus.dsl.') and not n.startswith('argus.dsl.layout')])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "[]"


def test_flatten_and_nest_are_inverse() -> None:
    shape = (2, (3, (4, 5)), 6)
    assert nest(shape, flatten(shape)) == shape
