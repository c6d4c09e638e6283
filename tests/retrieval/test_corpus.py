"""The installed cards themselves."""

from __future__ import annotations

import pytest

from argus.dsl.kernels import GemmSchedule
from argus.retrieval.card import Card
from argus.retrieval.change import active, options
from argus.retrieval.lint import lint
from argus.retrieval.load import corpus_folder, load_corpus
from argus.retrieval.rules import Families

CARDS = load_corpus()
GEMM = [c for c in CARDS.values() if c.changes_schedules and c.fits(target="gfx942", family="gemm")]


def test_no_card_has_a_fault(families: Families) -> None:
    assert [str(p) for p in lint(families=families).problems] == []


def test_there_are_enough_techniques_for_gemm_on_gfx942() -> None:
    assert len(GEMM) >= 15
    assert sum(c.kind == "optimisation" for c in GEMM) >= 15
    for card in GEMM:
        if card.kind == "optimisation":
            assert card.applies_when
            assert card.relieves
            assert card.mistakes
            assert card.expect.report
            assert card.example is not None


def test_the_other_techniques_are_documentation() -> None:
    prose = [c for c in CARDS.values() if not c.changes_schedules]
    assert len(prose) >= 35
    assert {c.status for c in prose} == {"prose"}
    assert {c.status for c in GEMM} <= {"draft", "checked"}


def test_levels_and_most_knobs_have_a_technique() -> None:
    assert {c.level for c in GEMM} == {"global", "tile", "instruction"}
    knobs = {field.split("[")[0] for c in GEMM if c.change for field in c.change.set}
    assert knobs == set(GemmSchedule.model_fields)


@pytest.mark.parametrize("card", GEMM, ids=lambda card: card.id)
def test_prerequisites_can_be_applied_too(card: Card) -> None:
    """A technique whose prerequisite is documentation could never become an arm."""
    for needed in card.requires.cards:
        assert CARDS[needed].changes_schedules, needed


def test_the_first_kernel_stages_and_has_techniques_to_try() -> None:
    start = GemmSchedule()
    fields = start.model_dump()
    assert active(CARDS["lds-staging"], fields)
    tried = [c.id for c in GEMM if c.kind == "optimisation" and options(c, start)]
    assert {"vectorized-b128-access", "tiling-register-blocking", "double-buffer-pipelining", "xcd-remap"} <= set(tried)


def test_large_tiles_off_the_powers_of_two_are_reachable() -> None:
    tiling = CARDS["tiling-register-blocking"]
    sizes = {(p["rows"], p["columns"]) for p in options(tiling, GemmSchedule(atom="16x16x16", vector=4))}
    assert {(256, 224), (128, 256), (256, 256)} <= sizes


def test_nothing_but_cards_and_sources_lies_beside_them() -> None:
    names = {p.name for p in corpus_folder().iterdir() if p.suffix != ".md"}
    assert names - {"__pycache__"} == {"__init__.py", "sources.json"}
