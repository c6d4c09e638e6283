"""Axes that are neither summed nor coordinates of the output: the contract must say where along them to read.

A tensor of integers whose values the contract bounds by the extent of an axis says so: with `slot[s] < T` the row t of
X that belongs to output row s is `slot[s]`; with `expert[b] < E` and `expert[s // 64] == expert_of(s)` the expert is
`expert[s // 64]`. If two tensors are bounded by the same extent, nobody knows which is meant.
"""

from __future__ import annotations

from argus.dsl.ir import Ensures
from argus.dsl.layout.affine import Affine, substitute_affine
from argus.dsl.tags.columns import Column, column
from argus.dsl.tags.context import Context
from argus.dsl.tags.contract import BOUND, each
from argus.dsl.tags.domain import Tile
from argus.dsl.tags.gather import PICKS
from argus.dsl.tags.state import State

Pairs = list[tuple[Column, Column]]


def looked_up(cx: Context, state: State, axis: str, ensures: Ensures, tile: Tile) -> Pairs | None:
    """What the elements' coordinates along an axis should be and are; None if the contract does not say."""
    got = column(tile.codes, axis, cx.store, state.reduce)
    places = {a: c for a in ensures.index if (c := column(tile.codes, a, cx.store, state.reduce)) is not None}
    if got is None:
        return None
    if PICKS in axis:
        tensor, _, of = axis.partition(PICKS)
        (own,) = cx.types.params[tensor].axes
        return [(places[own], got)] if cx.assumptions.meant(of) == tensor and own in places else None
    tensor = cx.assumptions.meant(axis)
    if tensor is None:
        return None
    (own,) = cx.types.params[tensor].axes
    for element in cx.assumptions.elements(tensor, own):
        used = {a.removesuffix(BOUND) for a in element.variables()}
        if len(used) == 1 and used <= places.keys():
            (along,) = used

            def at(place: Affine, element: Affine = element, along: str = along) -> Affine:
                return substitute_affine(element, {along + BOUND: place})

            return [(each(at, places[along]), got)]
    return None
