"""Mutants: well formed, distinct, reproducible, and never with another contract."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from argus.dsl.frontend import parse
from argus.dsl.ir.contract import contract_sha
from argus.dsl.kernels import families, make_problem, task_named
from argus.evals.mutation.draw import MOST, Draw, Drawn, draw
from argus.evals.mutation.operators import OPERATORS
from argus.evals.subjects import SCHEDULES, Subject, family_kernels, read, subjects


def text_of(name: str) -> str:
    return families()["gemm"].text(SCHEDULES[name], make_problem(task_named("gemm")))


SMALL = (("one-wave", text_of("one-wave")), ("ring", text_of("ring")))


REFERENCE = Path(__file__).parents[1] / "kernels" / "reference"
PING_PONG = """
@kernel(target="gfx942", waves=8)
def f(A: f32[m:M, k:K], C: f32[m:M]):
    ensures(C[m], over(k, K), uses=(A,))
    bm = block(cdiv(M, 64))
    begin, end = split(cdiv(K, 32), 3)
    shift(4)
    for kt in range(begin, end):
        x = load(A.tile(64, 32)[bm, kt])
        atomic_add(C.tile(64)[bm], reduce("sum", x, "k", across="block"))
        barrier()
"""


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return draw(SMALL, count=80, seed=3)


@pytest.mark.slow
def test_equal_seeds_give_equal_mutants_and_others_do_not(drawn: Drawn) -> None:
    assert draw(SMALL, count=80, seed=3) == drawn
    assert {m.sha for m in draw(SMALL, count=80, seed=4).mutants} != {m.sha for m in drawn.mutants}


def test_mutants_are_distinct_and_keep_the_contract(drawn: Drawn) -> None:
    assert len({m.sha for m in drawn.mutants}) == len(drawn.mutants) == 80
    wanted = {name: contract_sha(parse(text)) for name, text in SMALL}
    assert all(contract_sha(parse(m.text)) == wanted[m.origin] for m in drawn.mutants)
    assert drawn.rejected > 0


def test_mutants_come_from_many_operators_evenly(drawn: Drawn) -> None:
    counts = [sum(m.operator == name for m in drawn.mutants) for name in OPERATORS]
    assert sum(c > 0 for c in counts) >= 20
    # Operators with few places run out early; no other may take more than one above its share.
    assert max(counts) <= 4


def test_the_page_lists_the_operators() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mutation.md").read_text("utf-8")
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| `")]
    assert [name.strip(" `") for name, _, _ in rows] == list(OPERATORS)
    assert all(what.strip() and example.strip() for _, what, example in rows)


def test_one_kernel_yields_no_more_than_ten_by_one_operator() -> None:
    drawn = draw(SMALL[1:], count=60, seed=0, only=("stage", "tile-index", "move-sync"))
    assert Counter(m.operator for m in drawn.mutants).most_common(1)[0][1] == MOST == 10


@pytest.mark.slow
def test_two_edits_reach_further_than_one() -> None:
    once = {m.sha for m in draw(SMALL[:1], count=2000, seed=0).mutants}
    twice = draw(SMALL[:1], count=30, seed=0, edits=2)
    assert len(twice.mutants) == 30
    assert sum(m.sha not in once for m in twice.mutants) >= 20


def test_more_of_one_operator_are_new() -> None:
    drawing = Draw(SMALL[1:], count=3, seed=0, only=("k-tile",))
    first = [m.sha for m in drawing]
    more = [m.sha for m in drawing.more("k-tile", 100)]
    assert len(first) == 3
    assert 0 < len(more) <= MOST - 3
    assert len({*first, *more}) == len(first) + len(more)
    assert list(drawing.more("k-tile", 1)) == []


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_finds_a_place_in_some_kernel(operator: str) -> None:
    texts = [*(s.text for s in subjects()), *(p.read_text("utf-8") for p in REFERENCE.glob("*.py")), PING_PONG]
    assert any(next(OPERATORS[operator](read(text)), None) for text in texts)


def test_kernels_to_mutate_have_distinct_names_and_small_tiles() -> None:
    kernels: list[Subject] = family_kernels()
    assert len({k.name for k in kernels}) == len(kernels) >= 12
    assert all(max(s.tile[:2]) <= 96 for s in SCHEDULES.values())
