"""Loops of symbolic trip count, by induction.

A loop of symbolic trip count runs in rounds of S iterations, S the least common multiple of the moduli that its body
applies to the loop variable: iteration = start + S*q + p. Rounds are interpreted one after the other with q = 0, 1, …
known until a round with q left symbolic, started from the last state moved by one round, ends in that state again.
Then that state is the invariant, and every trip count leaves the loop from a state that was seen: before one of the S
phases of a first round, or of the symbolic one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from argus.dsl.ir import For, Stmt
from argus.dsl.layout.affine import (
    Affine,
    Formula,
    conjunction,
    eq,
    ge,
    var,
)
from argus.dsl.tags.context import Context, Frame, block_all
from argus.dsl.tags.domain import HISTORY_AXIS, Acc, Stat, Term
from argus.dsl.tags.obligations import Box
from argus.dsl.tags.period import period_of
from argus.dsl.tags.stale import forget_facts, forget_values
from argus.dsl.tags.state import (
    Delta,
    Growth,
    State,
    Write,
    delta,
    fragment_symbols,
    repeated,
    same_fragment,
    seal,
    substitute_delta,
    substitute_state,
    write_symbols,
)

Run = Callable[[tuple[Stmt, ...], list[State]], list[State]]

KNOWN_ROUNDS = 3  # rounds tried before a loop counts as not inductive
MAX_PERIOD = 32
MAX_PATHS = 16

# Stands for what earlier rounds added, while a round is interpreted for every q: nothing may depend on it.
HISTORY = Term(HISTORY_AXIS, Affine(), ())
_NOW = "<this round>"
_HISTORY_WRITE = Write("<earlier rounds>", Box(-1, (), ()))


@dataclass(frozen=True, slots=True)
class Live:
    """What the statements after a loop use."""

    names: frozenset[str]
    memory: bool


def scoped(names: Collection[str], ends: list[State]) -> list[State]:
    """Names introduced inside end with the block."""
    for end in ends:
        end.frags = {name: frag for name, frag in end.frags.items() if name in names}
    return ends


def symbol_of(cx: Context, stmt: For) -> str:
    """The name of a loop's round counter."""
    return f"{stmt.targets[0]}@{cx.site_of(stmt).number}"


@dataclass(slots=True, eq=False)
class _Path:
    """A state inside a round, with what each finished phase of the round added."""

    state: State
    trace: tuple[Delta, ...] = ()


@dataclass(slots=True, eq=False)
class _Exit:
    """A state in which the loop may end: before phase `phase` of round `round` (None: any later round)."""

    state: State
    round: int | None
    phase: int
    trace: tuple[Delta, ...]


class Induction:
    def __init__(
        self, cx: Context, stmt: For, state: State, run: Run, *, start: Affine, stop: Affine, live: Live
    ) -> None:
        self.cx, self.stmt, self.run, self.start, self.stop, self.live = cx, stmt, run, start, stop, live
        self.name = stmt.targets[0]
        number = cx.site_of(stmt).number
        self.symbol, self.bound = symbol_of(cx, stmt), f"{self.name}#{number}"  # free in a round, bound in a sum
        self.q = var(self.symbol)
        self.period = period_of(stmt.body, self.name)
        self.entry = state
        self.growth: Growth = seal(self.entry)
        self.exits: list[_Exit] = []

    def solve(self) -> list[State]:
        if self.period > MAX_PERIOD:
            return [self._lost(f"its indices repeat only every {self.period} iterations")]
        self.cx.frames.append(Frame(self.name, self.start, self.symbol, self.period))
        try:
            return self._solve()
        finally:
            self.cx.frames.pop()

    def _solve(self) -> list[State]:
        heads = [_Path(self.entry.fork())]
        traces = list[tuple[Delta, ...]]()
        for known in range(KNOWN_ROUNDS + 1):
            for path in heads:
                path.state.fixed[self.symbol] = (self.q, Affine(known))
            ends = self._round(heads, known)
            if not ends:
                return self._leave(traces, None, known)  # no trip count gets this far
            if any(p.state.lost for p in ends):
                return [p.state for p in ends if p.state.lost] + self._leave_concretely()
            if _same_traces(ends):
                traces.append(ends[0].trace)
                mark = self.cx.registry.mark()
                kept = len(self.exits)
                steady = self._steady(ends, known + 1)
                if steady is not None:
                    return self._leave(traces, steady, known + 1)
                self.cx.registry.rewind(mark)
                del self.exits[kept:]
            heads = [_Path(self._advance(p.state)) for p in ends]
        reason = "what it leaves in shared memory or registers follows no rule that the checker sees"
        return [self._lost(reason), *self._leave_concretely()]

    # ----------------------------------------------------------------------------------------- rounds

    def _round(self, heads: list[_Path], known: int | None) -> list[_Path]:
        """All phases of one round; exits are noted before each."""
        previous: Formula | None = None
        for phase in range(self.period):
            form = self.start + self.q * self.period + phase
            goes_on = ge(self.stop - form - 1)
            entered = list[_Path]()
            for path in heads:
                if previous is not None:
                    path.state.facts = tuple(f for f in path.state.facts if f != previous)
                self._note_exit(path, form, known, phase)
                if not path.state.refutes(goes_on):
                    path.state.assume(goes_on)
                    # Of several paths most end with the loop: a branch that skips the next fill, for one.
                    if len(heads) == 1 or self.cx.oracle.consistent(path.state.hypotheses()):
                        entered.append(path)
            previous = goes_on
            self.cx.env[self.name] = form
            heads = [end for path in entered for end in self._phase(path)]
            if len(heads) > MAX_PATHS:
                return [_Path(self._lost("its branches leave too many cases open"))]
        for path in heads:
            # Once the next iteration begins, its own condition says more.
            path.state.facts = tuple(f for f in path.state.facts if f != previous)
        following = ge(self.stop - self.start - (self.q + 1) * self.period - 1)
        alive = list[_Path]()
        form = self.start + (self.q + 1) * self.period
        for path in heads:
            if path.state.refutes(following) or (
                len(heads) > 1 and not self.cx.oracle.consistent((*path.state.hypotheses(), following))
            ):
                self._note_exit(path, form, known, self.period)
            else:
                alive.append(path)
        return alive

    def _phase(self, path: _Path) -> list[_Path]:
        before = seal(path.state)
        ends = scoped(self.entry.frags, self.run(self.stmt.body, [path.state]))
        return [_Path(end, (*path.trace, delta(before, end))) for end in ends]

    def _note_exit(self, path: _Path, form: Affine, known: int | None, phase: int) -> None:
        at_entry = known == 0 and phase == 0 and not path.state.evident(ge(self.stop - self.start))
        ends = ge(form - self.stop) if at_entry else eq(self.stop - form)
        if path.state.refutes(ends):
            return
        state = path.state.fork()
        state.assume(ends)
        if not at_entry:
            _fix(state, self.stop, form)
        self.exits.append(_Exit(state, known, phase, path.trace))

    def _advance(self, state: State) -> State:
        """The state as the next round finds it: forms of this round's q become forms of the next one's.

        Numbers would do, since q is known, but only forms show how later rounds go on.
        """
        moved = substitute_state(state, {self.symbol: self.q - 1}, self.cx.store)
        del moved.fixed[self.symbol]
        return moved

    def _steady(self, ends: list[_Path], first: int) -> tuple[Delta, ...] | None:
        """What each phase adds in all rounds from `first` on, if only the round's number tells their states apart."""
        heads = list[_Path]()
        assumed = list[tuple[tuple[Formula, ...], dict[str, tuple[Affine, Affine]]]]()
        for end in ends:
            moved = self._advance(end.state)
            assumed.append((end.state.facts, dict(moved.fixed)))
            moved.least[self.symbol] = first
            moved.assume(ge(self.q - first))
            self._hide_history(moved, end)
            heads.append(_Path(moved))
        finals = self._round(heads, None)
        if not finals or any(p.state.lost for p in finals) or not _same_traces(finals):
            return None
        for final in finals:
            # One of the states assumed at the head must come again, under no more than was assumed with it.
            if not any(
                self._same(final.state, end.state)
                and all(final.state.evident(f) for f in facts)
                and all(final.state.fixed.get(n) == v for n, v in fixed.items())
                for end, (facts, fixed) in zip(ends, assumed, strict=True)
            ):
                return None
        return finals[0].trace

    def _hide_history(self, state: State, end: _Path) -> None:
        for name, old in self.growth.accs.items():
            frag = state.frags.get(name)
            grows = all(name in d.accs for d in end.trace) and any(d.accs[name] for d in end.trace)
            if isinstance(frag, Acc | Stat) and grows:
                earlier = replace(HISTORY, op=frag.reduced[-1].op) if frag.reduced else HISTORY
                state.frags[name] = replace(frag, done=(*old, earlier), open=())
        state.done, state.open = (*self.growth.writes, _HISTORY_WRITE), ()

    def _same(self, final: State, end: State) -> bool:
        for name in self.entry.frags:
            x, y = final.frags.get(name), end.frags.get(name)
            if isinstance(x, Acc | Stat) and isinstance(y, Acc | Stat) and name in self.growth.accs:
                old = self.growth.accs[name]
                earlier = x.done[len(old) : len(old) + 1]
                if x.done[: len(old)] == old and earlier and earlier[0].axis == HISTORY.axis:
                    x, y = replace(x, done=(), open=()), replace(y, done=(), open=())
            if x is None or y is None or not same_fragment(x, y):
                return False
        return all(final.buffers[name].same(end.buffers[name]) for name in final.buffers)

    # ------------------------------------------------------------------------------------------ exits

    def _leave(self, traces: list[tuple[Delta, ...]], steady: tuple[Delta, ...] | None, first: int) -> list[State]:
        """The states after the loop, for all trip counts."""
        if steady is None:
            return self._leave_concretely()
        uniform = all(
            self._at(d, k) == self._at(s, k)
            for k, trace in enumerate(traces)
            for d, s in zip(trace, steady, strict=True)
        )
        begin = 0 if uniform else first
        known = [] if uniform else [self._at(d, k) for k, trace in enumerate(traces) for d in trace]
        out = list[State]()
        for e in self.exits:
            # A path that leaves the loop may have done something else in its last round.
            usual = all(d == s if e.round is None else self._at(d, e.round) == self._at(s, e.round)
                        for d, s in zip(e.trace, steady, strict=False))  # fmt: skip
            if uniform and usual:
                self._set_history(e.state, [self._all(d, self._runs(p, 0)) for p, d in enumerate(steady)])
            elif e.round is not None:
                self._settle(e)
            elif usual:
                self._set_history(
                    e.state, [*known, *(self._all(d, self._runs(p, begin)) for p, d in enumerate(steady))]
                )
            else:
                earlier = conjunction((ge(self.q - begin), ge(var(_NOW) - self.q - 1)))
                now = {_NOW: self.q}
                before = [substitute_delta(self._all(d, earlier), now) for d in steady]
                self._set_history(e.state, [*known, *before, *e.trace])
            out.append(e.state)
        return self._merged(out)

    def _at(self, d: Delta, number: int) -> Delta:
        return substitute_delta(d, {self.symbol: Affine(number)})

    def _all(self, d: Delta, guard: Formula) -> Delta:
        return repeated(d, self.symbol, self.bound, guard)

    def _runs(self, phase: int, begin: int) -> Formula:
        """The rounds in which a phase is executed."""
        form = self.start + self.q * self.period + phase
        return conjunction((ge(self.q - begin), ge(self.stop - form - 1)))

    def _set_history(self, state: State, added: list[Delta]) -> None:
        for name, old in self.growth.accs.items():
            frag = state.frags.get(name)
            if isinstance(frag, Acc | Stat) and all(name in d.accs for d in added):
                state.frags[name] = replace(frag, done=old + tuple(t for d in added for t in d.accs[name]), open=())
        state.done, state.open = self.growth.writes + tuple(w for d in added for w in d.writes), ()

    def _settle(self, e: _Exit) -> None:
        """Put the known round's number into everything."""
        assert e.round is not None
        moved = substitute_state(e.state, {self.symbol: Affine(e.round)}, self.cx.store)
        e.state.frags, e.state.buffers, e.state.done, e.state.open = moved.frags, moved.buffers, moved.done, moved.open

    def _leave_concretely(self) -> list[State]:
        for e in self.exits:
            if e.round is not None:
                self._settle(e)
        return self._merged([e.state for e in self.exits if e.round is not None])

    def _merged(self, states: list[State]) -> list[State]:
        """One state if what is used later is the same after every trip count."""
        if not states:
            return []
        first = states[-1]
        kept = [n for n in self.entry.frags if n in self.live.names]
        same = not self.live.memory and all(
            s.lost == first.lost and s.done == first.done and s.open == first.open
            and all(same_fragment(s.frags[n], first.frags[n]) for n in kept)
            for s in states
        )  # fmt: skip
        free = [fragment_symbols(first.frags[n], self.cx.store) for n in kept]
        free += [write_symbols(w) for w in first.done + first.open]
        if same and not any(self.symbol in symbols for symbols in free):
            first.frags = {n: first.frags[n] for n in kept}
            first.facts, first.fixed, first.least = self.entry.facts, dict(self.entry.fixed), dict(self.entry.least)
            return [first]
        return [s for s in states if self.cx.oracle.consistent(s.hypotheses())]

    def _lost(self, reason: str) -> State:
        text = f"the loop at line {self.stmt.span.line} is not understood: {reason}"
        if text not in self.cx.widened:
            self.cx.widened.append(text)
        block_all(self.cx, self.stmt.body, text)
        state = self.entry.fork()
        state.lost = text
        return state


def _same_traces(paths: list[_Path]) -> bool:
    return all(p.trace == paths[0].trace for p in paths)


def _fix(state: State, stop: Affine, form: Affine) -> None:
    """The loop ended with its variable at `form`, so one atom of `stop` is known."""
    for atom, c in stop.terms:
        if abs(c) == 1 and atom.text not in state.fixed and not form.mentions(atom.symbols()):
            alone = Affine(0, ((atom, 1),))
            rest = stop - alone * c
            state.fixed[atom.text] = (alone, (form - rest) * c)
            return


def forget(cx: Context, state: State, symbol: str) -> State:
    """The state with everything that an earlier run of a loop left under `symbol` made unknown."""
    if symbol not in state.least and symbol not in state.fixed:
        return state
    out = state.fork()
    if any(symbol in write_symbols(w) for w in state.done + state.open):
        out.lost = "what is stored depends on how an earlier run of the same loop ended"
    forget_facts(out, (symbol,))
    forget_values(out, cx.store, lambda s: s == symbol, "left over from an earlier run of a loop")
    return out
