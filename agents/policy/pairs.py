"""Techniques that pay only together: what the closed form promises of two at once.

A larger tile may lose until a second stage hides its latency, and the stage may lose without the tile. Summed single
gains miss such steps, so pairs that the closed form sees are evaluated as pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from argus.agents.attempt import Attempt, Params
from argus.agents.messages import ArmView, PairView
from argus.agents.policy.arms import MAX_TECHNIQUES, Catalogue, schedule_sha
from argus.dsl.kernels import Schedule
from argus.retrieval import change
from argus.retrieval.card import Card, Scalar
from argus.retrieval.expressions import parse_constraint

# Combinations of both cards' parameters that are looked through in full; beyond, each card's best options are.
MOST_COMBINATIONS = 1000
KEPT_PER_PAIR = 2
KEPT = 12
# A pair is worth naming when it promises this much over the better of its members.
MARGIN = math.log(1.02)


def promising_pairs(
    catalogue: Catalogue, parent: Attempt, arms: Sequence[ArmView], tried: frozenset[str]
) -> list[PairView]:
    """Pairs of a parent's arms that promise more together than either alone, best first; at most twelve."""
    if parent.schedule is None:
        return []
    mine = [a for a in arms if a.parent == parent.id and a.basis == "predict" and a.options]
    found = [pair for a, b in combinations(mine, 2) for pair in _pairs_of(catalogue, parent.schedule, a, b, tried)]
    return sorted(found, key=lambda p: -p.gain)[:KEPT]


def _pairs_of(
    catalogue: Catalogue, parent: Mapping[str, Any], a: ArmView, b: ArmView, tried: frozenset[str]
) -> Iterator[PairView]:
    names = tuple(dict.fromkeys((*a.bundle, a.card, *b.bundle, b.card)))
    cards = [catalogue.cards[name] for name in names]
    if len(names) > MAX_TECHNIQUES or not _compatible(cards):
        return
    old = catalogue.schedule(parent)
    before = catalogue.predicted(parent)
    alone = max(option.gain for arm in (a, b) for option in arm.options)
    ranked: list[tuple[float, Params]] = []
    for params in _combinations(catalogue, a, b):
        new = _changed(catalogue, old, cards, params)
        if new is not None:
            gain = math.log(before / catalogue.family.predict(new, catalogue.problem))
            fields = new.model_dump(mode="json")
            if gain > alone + MARGIN and schedule_sha(fields) not in tried and catalogue.within(fields):
                ranked.append((gain, params))
    ranked.sort(key=lambda x: -x[0])
    for gain, params in ranked[:KEPT_PER_PAIR]:
        yield PairView(parent=a.parent, techniques=names, params={n: v for n, v in params.items() if v}, gain=gain)


def _compatible(cards: Sequence[Card]) -> bool:
    fields = [field for card in cards if card.change for field in card.change.set]
    names = {card.id for card in cards}
    return len(set(fields)) == len(fields) and not any(names & set(card.conflicts) for card in cards)


def _combinations(catalogue: Catalogue, a: ArmView, b: ArmView) -> Iterator[Params]:
    whole = [list(change.domain(catalogue.cards[arm.card])) for arm in (a, b)]
    if len(whole[0]) * len(whole[1]) > MOST_COMBINATIONS:
        whole = [[dict[str, Scalar](option.params) for option in arm.options] for arm in (a, b)]
    for x, y in product(*whole):
        yield {a.card: x, b.card: y}


def _changed(catalogue: Catalogue, old: Schedule, cards: Sequence[Card], params: Params) -> Schedule | None:
    """The schedule with all changes; None where it is not legal. The cards set different fields."""
    fields = old.model_dump()
    try:
        for card in cards:
            fields = change.apply(card, fields, params.get(card.id))
        new = catalogue.schedule(fields)
    except ValueError:
        return None
    for card in cards:
        assert card.change is not None, "arms have changes"
        values = {name: p.default for name, p in card.change.params.items()} | params.get(card.id, {})
        if not change.holds([parse_constraint(text) for text in card.change.constraints], values, new, old):
            return None
    return None if new == old else new
