"""What is left over: values that speak of symbols which now stand for something else."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from argus.dsl.layout.affine import formula_symbols
from argus.dsl.tags.domain import ELEMENT_BITS, Same, Store, Top, Value, value_variables
from argus.dsl.tags.state import State, fragment_symbols


def forget_values(state: State, store: Store, gone: Callable[[str], bool], reason: str) -> None:
    """Make every value that mentions a symbol that is gone unknown; cells stay initialised."""
    stale = store.value(Value(frozenset(), (), top=reason)) << ELEMENT_BITS
    for buffer in state.buffers.values():
        numbers = np.unique(buffer.code >> ELEMENT_BITS)
        hit = [n for n in numbers if n >= 0 and any(gone(s) for s in value_variables(store.values[int(n)]))]
        if hit:
            buffer.code = np.where(np.isin(buffer.code >> ELEMENT_BITS, hit), stale, buffer.code)
    for name, frag in state.frags.items():
        if not isinstance(frag, Top) and any(gone(s) for s in fragment_symbols(frag, store)):
            state.frags[name] = Same(frag.type) if isinstance(frag, Same) else Top(frag.type, reason)


def forget_facts(state: State, symbols: Collection[str]) -> None:
    """Drop what is known of the symbols."""
    names = frozenset(symbols)
    for name in names:
        state.least.pop(name, None)
    state.fixed = {n: v for n, v in state.fixed.items() if n not in names and not v[1].mentions(names)}
    state.facts = tuple(f for f in state.facts if formula_symbols(f).isdisjoint(names))
