"""A card's change, applied to schedules as plain mappings; no family is known here.

Two cards that set one field differently replace each other: the later wins, and the earlier is active no more. A card's
`conflicts` are for knobs that the schedule would accept together and that should not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from string import Template
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from argus.retrieval.card import Card, Change, Scalar
from argus.retrieval.expressions import Constraint, parse_constraint
from argus.retrieval.metrics import schedule_values

Params = dict[str, Scalar]

_FIELD = re.compile(r"([A-Za-z_]\w*)(?:\[(\d+)\])?")
_WHOLE = re.compile(r"\$([A-Za-z_]\w*)")


class ChangeError(ValueError):
    """The change does not fit: no such field or parameter, a value outside its domain, a contradiction."""


def field_parts(field: str) -> tuple[str, int | None]:
    """`tile[2]` as `("tile", 2)`, `stages` as `("stages", None)`.

    Raises:
        ChangeError: If it is neither.
    """
    match = _FIELD.fullmatch(field)
    if match is None:
        raise ChangeError(f"{field!r} is no field: write `name` or `name[index]`")
    return match[1], None if match[2] is None else int(match[2])


def params_in(change: Change) -> frozenset[str]:
    """Parameters that the new values mention."""
    texts = [value for value in change.set.values() if isinstance(value, str)]
    return frozenset(name for text in texts for name in _WHOLE.findall(text))


def apply(card: Card, schedule: Mapping[str, Any], params: Mapping[str, Scalar] | None = None) -> dict[str, Any]:
    """The schedule with the card's change; parameters left out take their defaults.

    Args:
        card: One with a change.
        schedule: All fields by name; it stays as it is.
        params: Values from the parameters' domains.

    Raises:
        ChangeError: If the card is documentation, or a field, parameter or value is unknown. Whether the result is
            legal is the family's to say.
    """
    change = _change_of(card)
    values = _full_params(card, change, params or {})
    out = dict(schedule)
    for field, new in change.set.items():
        name, index = field_parts(field)
        _field(card, out, field)
        value = substitute(new, values)
        if index is None:
            out[name] = value
        else:
            items = list(cast("Sequence[Any]", out[name]))
            items[index] = value
            out[name] = type(out[name])(items)
    return out


def apply_all(
    cards: Sequence[Card], schedule: Mapping[str, Any], params: Mapping[str, Mapping[str, Scalar]] | None = None
) -> dict[str, Any]:
    """The schedule after several cards, in order; `params` by card id.

    Raises:
        ChangeError: As `apply`, and if one card undoes another.
    """
    out = dict(schedule)
    for card in cards:
        out = apply(card, out, (params or {}).get(card.id))
    for card in cards:
        if not active(card, out):
            raise ChangeError(f"{card.id} is undone by a later one of {', '.join(c.id for c in cards)}")
    return out


def active(card: Card, schedule: Mapping[str, Any]) -> bool:
    """Whether the change is already there, for some values of the parameters. Documentation never is."""
    change = card.change
    if change is None:
        return False
    try:
        present = {field: _field(card, schedule, field) for field in change.set}
    except ChangeError:
        return False
    return any(
        all(_same(present[field], substitute(new, values)) for field, new in change.set.items())
        for values in domain(card)
    )


def domain(card: Card) -> Iterator[Params]:
    """Every combination of the parameters' values, defaults first; constraints play no part."""
    change = _change_of(card)
    names = list(change.params)
    ordered = [(p.default, *(v for v in p.values if not _same(v, p.default))) for p in change.params.values()]
    for values in product(*ordered):
        yield dict(zip(names, values, strict=True))


def options(card: Card, schedule: BaseModel) -> list[Params]:
    """Combinations that give another, legal schedule within the constraints; defaults first.

    Legal is what the schedule's model accepts. Constraints may name parameters, fields and properties of the changed
    schedule, and with `old.` those of the given one.

    Raises:
        ChangeError: As `apply`.
        ExpressionError: If a constraint cannot be read or names something unknown.
    """
    constraints = [parse_constraint(text) for text in _change_of(card).constraints]
    found: list[Params] = []
    for params in domain(card):
        new = changed(card, schedule, params)
        if new is not None and new != schedule and holds(constraints, params, new, schedule):
            found.append(params)
    return found


def changed(card: Card, schedule: BaseModel, params: Mapping[str, Scalar] | None = None) -> BaseModel | None:
    """The changed schedule, or None where it is not legal."""
    try:
        return type(schedule).model_validate(apply(card, schedule.model_dump(), params))
    except ValidationError:
        return None


def params_between(card: Card, before: BaseModel, after: BaseModel) -> Params | None:
    """Parameters, within the constraints, with which the card leads from one schedule to the other; None without."""
    constraints = [parse_constraint(text) for text in _change_of(card).constraints]
    for params in domain(card):
        new = changed(card, before, params)
        if new is not None and new == after and holds(constraints, params, new, before):
            return params
    return None


def holds(constraints: Sequence[Constraint], params: Mapping[str, Scalar], new: BaseModel, old: BaseModel) -> bool:
    """Whether all constraints hold.

    Raises:
        ExpressionError: If one names something unknown.
    """
    if not constraints:
        return True
    names = {**schedule_values(new), **params, "old": schedule_values(old)}
    return all(c.holds(names) for c in constraints)


def substitute(value: Scalar, params: Mapping[str, Scalar]) -> Scalar:
    """`$name` becomes the parameter; within a longer string, its text.

    Raises:
        ChangeError: If there is no such parameter.
    """
    if not isinstance(value, str):
        return value
    try:
        if match := _WHOLE.fullmatch(value):
            return params[match[1]]
        return Template(value).substitute(params)
    except (KeyError, ValueError) as error:
        raise ChangeError(f"{value!r}: no parameter {error}") from error


def _change_of(card: Card) -> Change:
    if card.change is None:
        raise ChangeError(f"{card.id} is documentation: it has no change to apply")
    return card.change


def _full_params(card: Card, change: Change, given: Mapping[str, Scalar]) -> Params:
    if unknown := sorted(set(given) - set(change.params)):
        known = ", ".join(change.params) or "none"
        raise ChangeError(f"{card.id} has no parameter {unknown[0]!r}; it has {known}")
    values = {name: given.get(name, param.default) for name, param in change.params.items()}
    for name, value in values.items():
        if not any(_same(value, known) for known in change.params[name].values):
            raise ChangeError(f"{card.id}: {name} = {value!r} is not one of {list(change.params[name].values)!r}")
    return values


def _field(card: Card, schedule: Mapping[str, Any], field: str) -> object:
    name, index = field_parts(field)
    if name not in schedule:
        raise ChangeError(f"{card.id} sets {name!r}, which the schedule does not have")
    value = schedule[name]
    if index is None:
        return value
    if not isinstance(value, list | tuple) or index >= len(cast("Sequence[object]", value)):
        raise ChangeError(f"{card.id} sets {field!r}, and the schedule's {name} is {value!r}")
    return cast("Sequence[object]", value)[index]


def _same(a: object, b: object) -> bool:
    # 1 == True in Python; as knobs they differ.
    return a == b and isinstance(a, bool) == isinstance(b, bool)
