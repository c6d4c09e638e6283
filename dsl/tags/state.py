"""The analysis's state at a program point, and what loops do to it: substitute, compare, grow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from argus.dsl.layout.affine import (
    Affine,
    Eq,
    Formula,
    conjunction,
    formula_symbols,
    formula_variables,
    negation,
    substitute_affine,
    substitute_formula,
    var,
)
from argus.dsl.layout.entail import entails, settle_extremes
from argus.dsl.tags.domain import (
    ELEMENT_BITS,
    ELEMENT_MASK,
    Acc,
    Coords,
    Domain,
    Fragment,
    Ints,
    Lowest,
    Same,
    Side,
    Stat,
    Store,
    Substitution,
    Term,
    Tile,
    Value,
    substitute_comps,
    substitute_folds,
    substitute_term,
    substitute_value,
    substitute_windows,
    value_variables,
)
from argus.dsl.tags.memory import Buffer
from argus.dsl.tags.obligations import Box


@dataclass(frozen=True, slots=True)
class Write:
    """One store to an output tensor, or what is added to it; `through` has the axes along which integers pick."""

    tensor: str
    box: Box
    adds: bool = False
    through: tuple[tuple[int, str], ...] = ()


class Carried(Protocol):
    """What analyses of one target add to a state."""

    def copy(self) -> Carried: ...

    def substituted(self, codes: Callable[[Ints], Ints], form: Callable[[Affine], Affine]) -> Carried:
        """The same with symbols replaced: in element codes, and in forms."""
        ...


@dataclass(slots=True, eq=False)
class State:
    """What is known at one program point on one path.

    Attributes:
        facts: What the path implies, about symbols.
        fixed: Symbols (or opaque atoms, by text) that stand for a form here: `(the symbol as a form, its value)`.
        least: Least values of symbols.
        done, open: Stores to outputs: of finished loop phases, and since.
        lost: Why nothing can be said from here on; empty as long as something can.
        known: Opaque atoms, by text, as forms of symbols that only stand for their quotients: a solver need not know.
        sync: What the analysis of roles adds (sm_90a).
        hints: What one way here would imply: of no use in proofs, but where witnesses are looked for first.
    """

    frags: dict[str, Fragment]
    buffers: dict[str, Buffer]
    facts: tuple[Formula, ...] = ()
    fixed: dict[str, tuple[Affine, Affine]] = field(default_factory=dict[str, tuple[Affine, Affine]])
    least: dict[str, int] = field(default_factory=dict[str, int])
    done: tuple[Write, ...] = ()
    open: tuple[Write, ...] = ()
    lost: str = ""
    known: dict[str, Affine] = field(default_factory=dict[str, Affine])
    sync: Carried | None = None
    hints: tuple[Formula, ...] = ()

    def fork(self) -> State:
        buffers = {name: buffer.copy() for name, buffer in self.buffers.items()}
        return State(
            dict(self.frags), buffers, self.facts, dict(self.fixed), dict(self.least), self.done, self.open, self.lost,
            dict(self.known), None if self.sync is None else self.sync.copy(), self.hints,
        )  # fmt: skip

    # ----------------------------------------------------------------------------------------- facts

    @property
    def rewriting(self) -> dict[str, Affine]:
        return {name: value for name, (_, value) in self.fixed.items()} | self.known

    def reduce(self, a: Affine) -> Affine:
        """`a` with everything fixed here put in."""
        if self.fixed or self.known:
            a = substitute_affine(a, self.rewriting)
        if any("max(" in atom.text or "min(" in atom.text for atom, _ in a.terms):
            a = settle_extremes(a, self.facts, self.least)
        return a

    def reduce_formula(self, f: Formula) -> Formula:
        return substitute_formula(f, self.rewriting) if self.fixed or self.known else f

    def hypotheses(self) -> tuple[Formula, ...]:
        """All that is known of the symbols, for a solver."""
        equal = (Eq(symbol - value) for symbol, value in self.fixed.values())
        return (*self.facts, *equal)

    def evident(self, f: Formula) -> bool:
        """Whether `f` follows by a cheap test."""
        return entails([self.reduce_formula(x) for x in self.facts], self.reduce_formula(f), self.least)

    def assume(self, f: Formula) -> None:
        if f != conjunction(()) and f not in self.facts:
            self.facts = (*self.facts, f)

    def refutes(self, f: Formula) -> bool:
        return self.evident(negation(f))


# ---------------------------------------------------------------------------------------- substitution


def substitute_state(state: State, env: Substitution, store: Store) -> State:
    """The state with symbols replaced, in every value and every fact."""
    recode = _Recode(store, env)
    frags = {name: recode.fragment(frag) for name, frag in state.frags.items()}
    buffers = dict[str, Buffer]()
    for name, buffer in state.buffers.items():
        buffers[name] = buffer.copy()
        buffers[name].code = recode.codes(buffer.code)
    facts = tuple(dict.fromkeys(substitute_formula(f, env) for f in state.facts))
    done, opened = (tuple(substitute_write(w, env) for w in part) for part in (state.done, state.open))
    sync = None
    if state.sync is not None:
        sync = state.sync.substituted(recode.codes, lambda a: substitute_affine(a, env))
    return State(
        frags,
        buffers,
        facts,
        dict(state.fixed),
        dict(state.least),
        done,
        opened,
        state.lost,
        dict(state.known),
        sync,
        state.hints,
    )


class _Recode:
    def __init__(self, store: Store, env: Substitution) -> None:
        self._store = store
        self._env = env
        self._new: dict[int, int] = {}

    def codes(self, codes: Ints) -> Ints:
        """Codes whose values had their symbols replaced."""
        if codes.size == 0:
            return codes
        numbers = np.unique(codes >> ELEMENT_BITS)
        moved = {int(n): self._value(int(n)) for n in numbers if n >= 0}
        if all(old == new for old, new in moved.items()):
            return codes.copy()
        table = np.arange(int(numbers[-1]) + 1)
        for old, new in moved.items():
            table[old] = new
        held = codes >= 0
        fresh = (table[codes >> ELEMENT_BITS] << ELEMENT_BITS) | (codes & ELEMENT_MASK)
        return np.where(held, fresh, codes)

    def _value(self, number: int) -> int:
        if number not in self._new:
            self._new[number] = self._store.value(substitute_value(self._store.values[number], self._env))
        return self._new[number]

    def fragment(self, frag: Fragment) -> Fragment:
        if isinstance(frag, Tile):
            return replace(frag, codes=self.codes(frag.codes))
        if isinstance(frag, Acc | Stat):
            done, opened = (tuple(substitute_term(t, self._env) for t in part) for part in (frag.done, frag.open))
            if isinstance(frag, Stat):
                return replace(frag, value=substitute_value(frag.value, self._env), done=done, open=opened)
            rows, cols = (None if s is None else substitute_side(s, self._env) for s in (frag.rows, frag.cols))
            folds = substitute_folds(frag.folds, self._env)
            return replace(frag, rows=rows, cols=cols, folds=folds, done=done, open=opened)
        if isinstance(frag, Coords):
            what = substitute_what(frag.what, self._env)
            return replace(frag, what=what, comps=substitute_comps(frag.comps, self._env))
        if isinstance(frag, Lowest):
            return replace(frag, of=self.fragment(frag.of))
        if isinstance(frag, Same) and frag.form is not None:
            return replace(frag, form=substitute_affine(frag.form, self._env))
        return frag


def substitute_what(what: Affine | Formula, env: Substitution) -> Affine | Formula:
    return substitute_affine(what, env) if isinstance(what, Affine) else substitute_formula(what, env)


def substitute_side(side: Side, env: Substitution) -> Side:
    return Side(substitute_comps(side.comps, env), substitute_windows(side.windows, env))


def substitute_write(write: Write, env: Substitution) -> Write:
    box = write.box
    return replace(
        write,
        box=replace(
            box,
            base=tuple(substitute_affine(a, env) for a in box.base),
            windows=substitute_windows(box.windows, env),
            domains=tuple(Domain(d.symbol, substitute_formula(d.guard, env)) for d in box.domains),
            given=tuple(substitute_formula(f, env) for f in box.given),
        ),
    )


def write_symbols(write: Write) -> frozenset[str]:
    """Free symbols of a store to an output."""
    box = write.box
    found = [a.symbols() for a in box.base]
    found += [x.symbols() for w in box.windows for x in (w.lo, w.hi)]
    found += [formula_symbols(f) for f in (*box.given, *(d.guard for d in box.domains))]
    return frozenset[str]().union(*found) - {d.symbol for d in box.domains}


def fragment_symbols(frag: Fragment, store: Store) -> frozenset[str]:
    """Free symbols of a fragment's tags."""
    if isinstance(frag, Tile):
        numbers = np.unique(frag.codes >> ELEMENT_BITS)
        return frozenset[str]().union(*(value_variables(store.values[int(n)]) for n in numbers if n >= 0))
    if isinstance(frag, Acc):
        sides = tuple(s for s in (frag.rows, frag.cols) if s is not None)
        comps = tuple(c for s in sides for c in s.comps)
        windows = tuple(w for s in sides for w in s.windows)
        return value_variables(Value(frozenset(), comps, windows, reduced=frag.reduced, folds=frag.folds))
    if isinstance(frag, Stat):
        return value_variables(frag.whole)
    if isinstance(frag, Coords):
        inside = frag.what.variables() if isinstance(frag.what, Affine) else formula_variables(frag.what)
        return frozenset(x for x in inside if x[0] != "[") | value_variables(Value(frozenset(), frag.comps))
    if isinstance(frag, Lowest):
        return fragment_symbols(frag.of, store)
    return frag.form.variables() if isinstance(frag, Same) and frag.form is not None else frozenset()


# ------------------------------------------------------------------------------------------- comparing


def same_fragment(x: Fragment, y: Fragment) -> bool:
    if isinstance(x, Tile) and isinstance(y, Tile):
        same = (x.type, x.mark, x.lost) == (y.type, y.mark, y.lost)
        return same and np.array_equal(x.codes, y.codes)
    if isinstance(x, Lowest) and isinstance(y, Lowest):
        return (x.type, x.negated) == (y.type, y.negated) and same_fragment(x.of, y.of)
    return not isinstance(x, Tile | Lowest) and not isinstance(y, Tile | Lowest) and x == y


def starts_sum(frag: Fragment) -> bool:
    """Numbers that sums and extremes begin with: a reduction may grow from them."""
    return isinstance(frag, Same) and frag.value in (0.0, -math.inf, math.inf)


# -------------------------------------------------------------------------------------------- growing


@dataclass(frozen=True, slots=True)
class Growth:
    """What the accumulators and the list of output stores had when a loop phase began."""

    accs: Mapping[str, tuple[Term, ...]]
    writes: tuple[Write, ...]


def seal(state: State) -> Growth:
    """Close what is open, so that what comes next can be told apart."""
    accs = dict[str, tuple[Term, ...]]()
    for name, frag in state.frags.items():
        if isinstance(frag, Acc | Stat):
            sealed = replace(frag, done=frag.reduced, open=())
            state.frags[name] = sealed
            accs[name] = sealed.done
        elif starts_sum(frag):
            accs[name] = ()
    state.done, state.open = state.done + state.open, ()
    return Growth(accs, state.done)


@dataclass(frozen=True, slots=True)
class Delta:
    """What one loop phase added; an accumulator that it replaced is missing."""

    accs: Mapping[str, tuple[Term, ...]]
    writes: tuple[Write, ...]


def delta(before: Growth, state: State) -> Delta:
    accs = dict[str, tuple[Term, ...]]()
    for name, old in before.accs.items():
        frag = state.frags.get(name)
        if isinstance(frag, Acc | Stat) and frag.done[: len(old)] == old:
            accs[name] = frag.done[len(old) :] + frag.open
    return Delta(accs, (state.done + state.open)[len(before.writes) :])


def substitute_delta(d: Delta, env: Substitution) -> Delta:
    accs = {name: tuple(substitute_term(t, env) for t in terms) for name, terms in d.accs.items()}
    return Delta(accs, tuple(substitute_write(w, env) for w in d.writes))


def repeated(d: Delta, symbol: str, bound: str, guard: Formula) -> Delta:
    """The delta for every value of `symbol` under `guard`; inside, the symbol is called `bound`."""
    env = {symbol: var(bound)}
    domain = Domain(bound, substitute_formula(guard, env))
    moved = substitute_delta(d, env)
    accs = {name: tuple(replace(t, domains=(*t.domains, domain)) for t in terms) for name, terms in moved.accs.items()}
    writes = tuple(replace(w, box=replace(w.box, domains=(*w.box.domains, domain))) for w in moved.writes)
    return Delta(accs, writes)
