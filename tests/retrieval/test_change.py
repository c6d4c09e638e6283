from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from argus.dsl.kernels import GemmSchedule, families
from argus.retrieval.card import Card
from argus.retrieval.change import (
    ChangeError,
    active,
    apply,
    apply_all,
    changed,
    domain,
    options,
    params_between,
    substitute,
)
from argus.retrieval.expressions import ExpressionError
from argus.retrieval.load import load_corpus, parse_card

from .conftest import card_text, front

CARDS = load_corpus()
CHANGING = [card for card in CARDS.values() if card.changes_schedules]
START: dict[str, Any] = GemmSchedule().model_dump()


def make(change: dict[str, Any] | None) -> Card:
    fields = {**front("alpha"), "change": change}
    return parse_card(card_text(fields), Path("alpha.md")).card


def schedule(fields: Mapping[str, object]) -> GemmSchedule:
    return GemmSchedule.model_validate(dict(fields))


SWIZZLE = {
    "set": {"swizzle": "xor($width, unit=8, rows=$rows)"},
    "params": {"width": {"values": [4, 8], "default": 8}, "rows": {"values": [1, 2], "default": 1}},
    "constraints": ["width * 16 <= lds_row_bytes"],
}
TILE = {
    "set": {"tile[2]": "$depth", "prefetch": True},
    "params": {"depth": {"values": [32, 64, 128], "default": 64}},
    "constraints": ["tile[2] > old.tile[2]"],
}


def test_parameters_are_placed_inside_text_and_elements() -> None:
    assert apply(make(SWIZZLE), START, {"width": 4})["swizzle"] == "xor(4, unit=8, rows=1)"
    new = apply(make(TILE), START)
    assert new["tile"] == (64, 64, 64)
    assert new["prefetch"] is True
    assert {k: v for k, v in new.items() if START[k] != v} == {"tile": (64, 64, 64), "prefetch": True}
    assert START["tile"] == (64, 64, 32), "the parent stays as it is"


def test_lists_from_json_stay_lists() -> None:
    assert apply(make(TILE), {**START, "tile": [64, 64, 32]})["tile"] == [64, 64, 64]


def test_a_whole_value_keeps_its_type() -> None:
    assert substitute("$n", {"n": 4}) == 4
    assert substitute("$on", {"on": True}) is True
    assert substitute("x$n", {"n": 4}) == "x4"
    assert substitute("$$5", {}) == "$5"
    with pytest.raises(ChangeError, match="no parameter"):
        substitute("f($m)", {"n": 4})


@pytest.mark.parametrize(
    ("change", "fields", "params", "message"),
    [
        (SWIZZLE, START, {"width": 3}, r"width = 3 is not one of \[4, 8\]"),
        (SWIZZLE, START, {"width": True}, "width = True is not one of"),
        (SWIZZLE, START, {"size": 3}, "has no parameter 'size'; it has width, rows"),
        ({"set": {"colour": 1}}, START, {}, "sets 'colour', which the schedule does not have"),
        ({"set": {"tile[3]": 1}}, START, {}, r"sets 'tile\[3\]'"),
        ({"set": {"stages[0]": 1}}, START, {}, r"sets 'stages\[0\]'"),
        ({"set": {"tile.k": 1}}, START, {}, "is no field"),
        ({"set": {"stages": "$n"}}, START, {}, "no parameter"),
        (None, START, {}, "is documentation"),
        (SWIZZLE, {"stages": 1}, {}, "sets 'swizzle', which the schedule does not have"),
    ],
)
def test_changes_that_do_not_fit(
    change: dict[str, Any] | None, fields: dict[str, Any], params: dict[str, Any], message: str
) -> None:
    with pytest.raises(ChangeError, match=message):
        apply(make(change), fields, params)


def test_active_compares_fixed_values_and_domains() -> None:
    card = make(SWIZZLE)
    assert not active(card, START)
    assert active(card, {**START, "swizzle": "xor(8, unit=8, rows=2)"})
    assert not active(card, {**START, "swizzle": "xor(16, unit=8, rows=1)"}), "16 is outside the domain"
    priority = make({"set": {"priority": True}})
    assert active(priority, {**START, "priority": True})
    assert not active(priority, {**START, "priority": 1}), "1 is not true"
    assert not active(make(None), START)
    assert not active(make({"set": {"colour": 1}}), START)


def test_options_are_legal_within_constraints_and_new() -> None:
    assert options(make(SWIZZLE), GemmSchedule()) == [{"width": 4, "rows": 1}, {"width": 4, "rows": 2}]
    deep = GemmSchedule(tile=(64, 64, 64), swizzle="xor(8, unit=8, rows=1)")
    assert {"width": 8, "rows": 1} not in options(make(SWIZZLE), deep), "nothing would change"
    assert [p["depth"] for p in options(make(TILE), GemmSchedule(tile=(64, 64, 64)))] == [128]
    # Prefetch is for one stage, so nothing is legal here.
    assert options(make(TILE), GemmSchedule(stages=2)) == []
    with pytest.raises(ExpressionError, match="no colour"):
        options(make({**TILE, "constraints": ["colour == 1"]}), GemmSchedule())


def test_domains_begin_with_the_defaults() -> None:
    assert list(domain(make(SWIZZLE)))[:2] == [{"width": 8, "rows": 1}, {"width": 8, "rows": 2}]
    assert len(list(domain(make(SWIZZLE)))) == 4


def test_bundles_apply_in_order_and_refuse_contradictions() -> None:
    pair = [CARDS["double-buffer-pipelining"], CARDS["direct-to-lds"]]
    new = apply_all(pair, START, {"double-buffer-pipelining": {"count": 3}})
    assert (new["stages"], new["staging"]) == (3, "dma")
    with pytest.raises(ChangeError, match="xcd-remap is undone"):
        apply_all([CARDS["xcd-remap"], CARDS["l2-rasterization"]], START)


@pytest.mark.parametrize("card", CHANGING, ids=lambda card: card.id)
def test_every_example_is_reached_by_its_cards_change(card: Card) -> None:
    assert card.example is not None
    parse = families()[card.example.family].parse_schedule
    before, after = parse(dict(card.example.before)), parse(dict(card.example.after))
    params = params_between(card, before, after)
    assert params is not None
    assert changed(card, before, params) == after
    assert active(card, after.model_dump())
    assert active(card, after.model_dump(mode="json")), "schedules also come from JSON"
    if card.kind == "optimisation":
        assert params in options(card, before)
        assert before != after


@pytest.mark.parametrize("card", CHANGING, ids=lambda card: card.id)
def test_every_option_makes_its_card_active(card: Card) -> None:
    assert card.example is not None
    before = families()[card.example.family].parse_schedule(dict(card.example.before))
    found = options(card, before)
    assert len(found) < 500
    for params in found:
        new = changed(card, before, params)
        assert new is not None
        assert active(card, new.model_dump())
