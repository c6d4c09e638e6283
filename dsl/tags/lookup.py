"""Axes that are neither summed nor coordinates of the output: the contract must say where along them to read.

A tensor of integers whose values the contract bounds by the extent of an axis says so: with `slot[s] < T` the row t of
X that belongs to output row s is `slot[s]`; with `expert[b] < E` and `expert[s // 64] == expert_of(s)` the expert is
`expert[s // 64]`. If two tensors are bounded by the same extent, nobody knows which is meant.
"""

from __future__ import annotations

from collections.abc import Iterable

from argus.dsl.layout.affine import Affine, substitute_affine
from argus.dsl.tags.columns import Column, column
from argus.dsl.tags.context import Context
from argus.dsl.tags.contract import BOUND, each
from argus.dsl.tags.domain import Tile
from argus.dsl.tags.state import State
from argus.dsl.tags.views import PICKS


def picked_wrongly(cx: Context, origins: Iterable[str]) -> str:
    """Which rows were picked by other integers than those the contract means; empty if none were."""
    for origin in sorted(o for o in origins if PICKS in o):
        tensor, _, axis = origin.partition(PICKS)
        if cx.assumptions.meant(axis) != tensor:
            return f"{tensor} picks along {axis}, which the contract does not say"
    return ""


def looked_up(cx: Context, state: State, axis: str, known: Iterable[str], tile: Tile) -> tuple[Column, Column] | None:
    """What the elements' coordinates along an axis should be, by those along `known` axes, and what they are.

    None if the contract does not say.
    """
    got = column(tile.codes, axis, cx.store, state.reduce)
    places = {a: c for a in known if (c := column(tile.codes, a, cx.store, state.reduce)) is not None}
    tensor = cx.assumptions.meant(axis)
    if got is None or tensor is None:
        return None
    own = cx.types.params[tensor].axes
    for element in cx.assumptions.elements(tensor, own):
        used = {a.removesuffix(BOUND) for a in element.variables()}
        if len(used) == 1 and used <= places.keys():
            (along,) = used

            def at(place: Affine, element: Affine = element, along: str = along) -> Affine:
                return substitute_affine(element, {along + BOUND: place})

            return each(at, places[along]), got
    return None
