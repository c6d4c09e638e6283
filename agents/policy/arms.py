"""Which techniques may be tried on a kernel, with which parameters, and what they promise."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argus.agents.attempt import Attempt, Params, sha
from argus.agents.messages import ArmView, OptionView, ReliefView
from argus.agents.policy import priors
from argus.agents.policy.parameters import Choice, shortlist
from argus.dsl.kernels import Family, Problem, Schedule
from argus.retrieval import change
from argus.retrieval.card import Card
from argus.retrieval.expressions import lookup, parse_condition, parse_constraint
from argus.retrieval.metrics import metrics

MAX_TECHNIQUES = 3

Order = Callable[[str, Sequence[Choice], int], list[Choice]]


class IllegalStep(ValueError):
    """A step that no kernel of the family can take; the text says what would be legal."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The cards of a run beside what judges their changes.

    Attributes:
        space: Names of the only schedules that can be measured, in a replay; None where all can.
    """

    cards: Mapping[str, Card]
    family: Family
    problem: Problem
    space: frozenset[str] | None = None

    def within(self, fields: Mapping[str, Any]) -> bool:
        """Whether a schedule, in JSON's types, can be measured."""
        return self.space is None or schedule_sha(fields) in self.space

    def schedule(self, fields: Mapping[str, Any]) -> Schedule:
        return self.family.parse_schedule(dict(fields))

    def optimisations(self) -> list[Card]:
        """Cards that are arms of their own: optimisations for this target, family and dtype."""
        p = self.problem
        return [
            card
            for _, card in sorted(self.cards.items())
            if card.kind == "optimisation" and card.fits(target=p.target, family=self.family.name, dtype=p.dtype)
        ]

    def active(self, fields: Mapping[str, Any] | None) -> tuple[str, ...]:
        """Techniques that a schedule already has, prerequisites included."""
        if fields is None:
            return ()
        return tuple(name for name, card in sorted(self.cards.items()) if change.active(card, fields))

    def predicted(self, fields: Mapping[str, Any]) -> float:
        return self.family.predict(self.schedule(fields), self.problem)


def schedule_sha(fields: Mapping[str, Any]) -> str:
    """Equal schedules, equal names."""
    return sha(json.dumps(fields, sort_keys=True))


def realise(
    catalogue: Catalogue, parent: Mapping[str, Any] | None, techniques: Sequence[str], params: Params
) -> dict[str, Any] | None:
    """The parent's schedule with the techniques applied; None where only text can express the step.

    Raises:
        IllegalStep: Unknown card or parameter, a value outside its domain, a missing prerequisite, a conflict, or a
            schedule that the family cannot print.
    """
    known = catalogue.cards
    if unknown := [t for t in techniques if t not in known]:
        raise IllegalStep(f"no card {unknown[0]!r}")
    if stray := sorted(set(params) - set(techniques)):
        raise IllegalStep(f"parameters for {stray[0]!r}, which is not among the techniques")
    if len(set(techniques)) != len(techniques):
        raise IllegalStep("a technique is named twice")
    cards = [known[t] for t in techniques]
    _refuse_conflicts(cards, None if parent is None else catalogue.active(parent))
    if parent is None or any(card.change is None for card in cards):
        return None
    return _changed(catalogue, catalogue.schedule(parent), cards, params)


def eligible(catalogue: Catalogue, parent: Attempt, tried: frozenset[str], order: Order) -> list[ArmView]:
    """The arms of one parent, by card name. Cards without a change are none: only a model can apply them.

    Args:
        catalogue: The cards, and what judges their changes.
        parent: A valid attempt.
        tried: Names of schedules that were evaluated already.
        order: Orders parameters that the closed form cannot tell apart, see `parameters.shortlist`.
    """
    if parent.schedule is None:
        return []
    schedule = catalogue.schedule(parent.schedule)
    known = metrics(
        schedule,
        parent.report.model_dump() if parent.report else None,
        parent.bank_conflicts or None,
    )
    present = set(catalogue.active(parent.schedule))
    arms: list[ArmView] = []
    for card in catalogue.optimisations():
        if card.change is None or not _fits_here(card, known, present):
            continue
        bundle = _missing(catalogue, card, present)
        if bundle is None:
            continue
        resources = _resources(parent)
        relieves = relief_views(card)
        covered = _covered(catalogue, [*bundle, card.id])
        choices = _choices(catalogue, schedule, card, bundle, tried, covered=covered)
        ranked = shortlist(choices, lambda some, n, name=card.id: order(name, some, n))
        if not ranked:
            continue
        promised = priors.promised(relieves, resources)
        arms.append(
            ArmView(
                parent=parent.id,
                card=card.id,
                conditions={text: lookup(known, parse_condition(text).path) or 0.0 for text in card.applies_when},
                bundle=bundle,
                options=tuple(OptionView(params=c.params, gain=promised if c.gain is None else c.gain) for c in ranked),
                spread=priors.spread(relieves, resources),
                basis="predict" if covered else "card",
            )
        )
    return arms


def expected(
    catalogue: Catalogue, parent: Attempt, techniques: Sequence[str], fields: Mapping[str, Any] | None
) -> float:
    """Log gain that card and closed form promise for a step, the planner's own claim aside."""
    if fields is not None and parent.schedule is not None and _covered(catalogue, techniques):
        return math.log(catalogue.predicted(parent.schedule) / catalogue.predicted(fields))
    relieves = [r for t in techniques if t in catalogue.cards for r in relief_views(catalogue.cards[t])]
    return priors.promised(relieves, _resources(parent))


def relief_views(card: Card) -> tuple[ReliefView, ...]:
    """A card's effects on resources, as messages carry them."""
    return tuple(
        ReliefView(resource=r.resource, low=r.effect.low, mid=r.effect.mid, high=r.effect.high, basis=r.basis)
        for r in card.relieves
    )


def spread_of(catalogue: Catalogue, card: str, parent: Attempt) -> float:
    """Prior standard deviation of one card's log gain on a parent."""
    known = catalogue.cards.get(card)
    return priors.spread(relief_views(known), _resources(parent)) if known else priors.DEFAULT_SPREAD


def _resources(parent: Attempt) -> dict[str, float]:
    estimate = parent.report.estimate if parent.report else None
    return {name: us for name, us in estimate.resources_us.items()} if estimate else {}


def _fits_here(card: Card, known: Mapping[str, Any], present: set[str]) -> bool:
    return (
        all(parse_condition(text).holds(known) for text in card.applies_when)
        and not any(parse_condition(text).holds(known) for text in card.avoid_when)
        and not present & set(card.conflicts)
    )


def _missing(catalogue: Catalogue, card: Card, present: set[str]) -> tuple[str, ...] | None:
    """Prerequisites to bundle, in order; None when they cannot all come along."""
    bundle: list[str] = []

    def bring(name: str) -> bool:
        if name in present or name in bundle:
            return True
        needed = catalogue.cards.get(name)
        if needed is None or needed.change is None or present & set(needed.conflicts):
            return False
        if not _bring_all(needed, bring):
            return False
        bundle.append(name)
        return True

    if not _bring_all(card, bring) or len(bundle) >= MAX_TECHNIQUES:
        return None
    return tuple(bundle)


def _bring_all(card: Card, bring: Callable[[str], bool]) -> bool:
    return all(bring(name) for name in card.requires.all) and (
        not card.requires.any or any(bring(name) for name in card.requires.any)
    )


def _choices(
    catalogue: Catalogue, parent: Schedule, card: Card, bundle: Sequence[str], tried: frozenset[str], *, covered: bool
) -> list[Choice]:
    before = catalogue.family.predict(parent, catalogue.problem)
    cards = [*(catalogue.cards[name] for name in bundle), card]
    found: list[Choice] = []
    for params in change.domain(card):
        try:
            fields = _changed(catalogue, parent, cards, {card.id: params})
        except IllegalStep:
            continue
        if schedule_sha(fields) not in tried:
            gain = math.log(before / catalogue.predicted(fields)) if covered else None
            found.append(Choice(params, gain))
    return found


def _changed(catalogue: Catalogue, parent: Schedule, cards: Sequence[Card], params: Params) -> dict[str, Any]:
    """The changed schedule's fields, in JSON's types.

    Raises:
        IllegalStep: As `realise`.
    """
    try:
        # One card cannot undo another's change when it is alone.
        if len(cards) == 1:
            fields = change.apply(cards[0], parent.model_dump(), params.get(cards[0].id))
        else:
            fields = change.apply_all(cards, parent.model_dump(), params)
        new = catalogue.schedule(fields)
        for card in cards:
            _refuse_broken_constraints(card, params, new, parent)
    except ValueError as error:
        raise IllegalStep(_first_reason(error)) from error
    if new == parent:
        raise IllegalStep("the parent already is that schedule")
    found = new.model_dump(mode="json")
    if not catalogue.within(found):
        raise IllegalStep("this schedule is not among those that can be measured here")
    return found


def _covered(catalogue: Catalogue, techniques: Sequence[str]) -> bool:
    """Whether the closed form sees every field that the techniques set."""
    changes = [catalogue.cards[t].change for t in techniques if t in catalogue.cards]
    fields = {change.field_parts(field)[0] for c in changes if c is not None for field in c.set}
    return bool(fields) and None not in changes and fields <= catalogue.family.covered


def _refuse_conflicts(cards: Sequence[Card], present: Sequence[str] | None) -> None:
    """`present` are the parent's techniques; None for free text, where nobody can tell."""
    there = {card.id for card in cards} | set(present or ())
    for card in cards:
        if clash := sorted(set(card.conflicts) & there):
            raise IllegalStep(f"{card.id} conflicts with {clash[0]}")
        if present is None:
            continue
        if lacking := [name for name in card.requires.all if name not in there]:
            raise IllegalStep(f"{card.id} needs {lacking[0]} as well")
        if card.requires.any and not there & set(card.requires.any):
            raise IllegalStep(f"{card.id} needs one of {', '.join(card.requires.any)} as well")


def _refuse_broken_constraints(card: Card, params: Params, new: Schedule, old: Schedule) -> None:
    if card.change is None or not card.change.constraints:
        return
    values = {name: p.default for name, p in card.change.params.items()} | params.get(card.id, {})
    for text in card.change.constraints:
        if not change.holds([parse_constraint(text)], values, new, old):
            raise IllegalStep(f"{card.id}: constraint `{text}` does not hold")


def _first_reason(error: ValueError) -> str:
    """Pydantic wraps the family's sentence; agents need the sentence."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("Value error, ")]
    return told[0].removeprefix("Value error, ").split(" [type=")[0] if told else (lines[0] if lines else "illegal")
