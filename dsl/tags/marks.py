"""Fragments told apart: which statement made one, and how often it has run since.

Two executions of one statement may leave equal tags and different data, so tags alone do not say that the maximum
subtracted here is the one that was subtracted there. A fragment's identity is its statement and the number of times
that the statement has run since; both recur in every round of a loop.
"""

from __future__ import annotations

from dataclasses import replace

from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import (
    NO_MARK,
    Acc,
    Factor,
    Fragment,
    Ident,
    Ints,
    Mark,
    Stat,
    Tile,
    Top,
    Value,
    recoded,
)
from argus.dsl.tags.state import State

ROUNDING = 1e-12  # of powers: log2(e) times log(2) is 1
OLDEST = 2  # what has been made anew more often is nobody's any more


def mark_of(frag: Fragment) -> Mark:
    return frag.mark if isinstance(frag, Tile | Acc | Stat) else NO_MARK


def born(cx: Context, state: State, site: int, frag: Fragment) -> Fragment:
    """The result of a statement under its own identity; earlier results of the statement grow older."""
    for name, held in state.frags.items():
        state.frags[name] = _older(cx, held, site)
    if site in cx.factors:
        for buffer in state.buffers.values():
            buffer.code = _older_codes(cx, buffer.code, site)
    frag = _older(cx, frag, site)
    if isinstance(frag, Tile | Acc | Stat):
        return replace(frag, mark=replace(frag.mark, ident=Ident(site, 0)))
    return frag


def _older(cx: Context, frag: Fragment, site: int) -> Fragment:
    if not isinstance(frag, Tile | Acc | Stat):
        return frag
    mark = frag.mark
    if any(i is not None and i.site == site for i in (mark.ident, mark.floor_of, *mark.above)):
        above = frozenset(i for x in mark.above if (i := _aged(x, site)) is not None)
        ident, floor_of = (None if i is None else _aged(i, site) for i in (mark.ident, mark.floor_of))
        if floor_of is None and mark.floor_of is not None:
            above = frozenset[Ident]()  # nobody knows any more what it stands for
        frag = replace(frag, mark=Mark(ident, above, floor_of))
    if site not in cx.factors:
        return frag
    if isinstance(frag, Tile):
        codes = _older_codes(cx, frag.codes, site)
        return frag if codes is frag.codes else replace(frag, codes=codes)
    if isinstance(frag, Stat):
        value = _older_value(frag.value, site)
        return frag if value is frag.value else replace(frag, value=value)
    if any(f.ident.site == site for f in frag.scale):
        value = _older_value(Value(frozenset(), (), scale=frag.scale), site)
        return replace(frag, scale=value.scale) if not value.top else Top(frag.type, value.top)
    return frag


def unrelated(cx: Context, codes: Ints) -> Ints:
    """Codes as another team may read them, for whom a fragment's identity means nothing."""
    gone = "it is relative to a maximum, and went through shared memory"
    return recoded(cx.store, codes, lambda v: replace(v, scale=(), shift=(), top=gone) if v.scale or v.shift else v)


def _aged(ident: Ident, site: int) -> Ident | None:
    if ident.site != site:
        return ident
    return Ident(site, ident.age + 1) if ident.age < OLDEST else None


def _older_codes(cx: Context, codes: Ints, site: int) -> Ints:
    return recoded(cx.store, codes, lambda v: _older_value(v, site))


def _older_value(value: Value, site: int) -> Value:
    factors = (*value.scale, *value.shift)
    if all(f.ident.site != site for f in factors):
        return value
    if any(_aged(f.ident, site) is None for f in factors):
        return replace(value, scale=(), shift=(), top="it is relative to a maximum that is gone")
    scale, shift = (tuple(_older_factor(f, site) for f in part) for part in (value.scale, value.shift))
    return replace(value, scale=scale, shift=shift)


def _older_factor(f: Factor, site: int) -> Factor:
    aged = _aged(f.ident, site)
    assert aged is not None
    return replace(f, ident=aged)


def times(x: tuple[Factor, ...], y: tuple[Factor, ...], *, power: float = 1.0) -> tuple[Factor, ...]:
    """The factors of a product, those of `y` raised to a power; what cancels is left out."""
    found = dict[tuple[Ident, str], Factor]()
    for f in (*x, *(replace(g, power=g.power * power) for g in y)):
        key = (f.ident, f.base)
        found[key] = replace(f, power=found[key].power + f.power) if key in found else f
    return tuple(sorted((f for f in found.values() if abs(f.power) > ROUNDING), key=lambda f: (f.ident, f.base)))


def with_base(factors: tuple[Factor, ...], base: str) -> tuple[Factor, ...]:
    return tuple(replace(f, base=base) for f in factors)
