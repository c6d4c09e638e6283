"""A persistent grid: a block takes tiles one after another, and each tile finds what the one before left behind.

Which tiles a block takes follows from the launch. So the indices of each tile are symbols of its own, known only to
lie in the grid and to differ from those of the tile before. The body is executed from every state in which a tile may
begin, until no new one appears. Every `order` is a bijection of the grid by construction, and the tiles are dealt out,
so over all blocks the body runs once for each tile: coverage counts tiles as it counts the blocks of a plain grid.

A ring that lives across tiles is indexed by the number of tiles done times the fills of a tile. That product is
followed modulo the number of stages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import lcm
from typing import cast

from argus.dsl.ir import For, Stmt
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import Const, Op, names
from argus.dsl.layout.affine import Affine, Formula, affine, disjunction, floordiv, formula_symbols, ge, ne, var
from argus.dsl.tags.context import Context, block_all
from argus.dsl.tags.induction import Live, Run, scoped
from argus.dsl.tags.parts import BEGIN, END
from argus.dsl.tags.rounds import ROUND, without_rounds
from argus.dsl.tags.stale import forget_values
from argus.dsl.tags.state import State, same_fragment, substitute_state

MAX_HEADS = 48
PREVIOUS = "'"  # marks the indices of the tile before


@dataclass(slots=True, eq=False)
class _Head:
    """A state in which a tile may begin; `residues`: the counters of `_Counter`, modulo their period."""

    state: State
    residues: tuple[int, ...]

    def same(self, other: _Head) -> bool:
        mine, theirs = self.state, other.state
        return (
            self.residues == other.residues
            and mine.frags.keys() == theirs.frags.keys()
            and all(same_fragment(x, theirs.frags[name]) for name, x in mine.frags.items())
            and all(buffer.same(theirs.buffers[name]) for name, buffer in mine.buffers.items())
        )


@dataclass(frozen=True, slots=True)
class _Counter:
    """A multiple of the number of tiles done, as it stands in indices; each tile adds `step`."""

    form: Affine
    step: Affine

    @property
    def text(self) -> str:
        return self.form.terms[0][0].text


@dataclass(slots=True, eq=False)
class Tiles:
    """One loop over tiles; `ends` are, for each head, the states in which its tile may end."""

    cx: Context
    stmt: For
    entry: State
    run: Run
    live: Live
    counts: tuple[Affine, ...] = ()
    period: int = 1
    counters: tuple[_Counter, ...] = ()
    heads: list[_Head] = field(default_factory=list[_Head])
    ends: list[list[State]] = field(default_factory=list[list[State]])

    def solve(self) -> list[State]:
        """The states after the loop."""
        cx, targets = self.cx, self.stmt.targets
        self.counts = tuple(cx.evaluate(e) for e in self.stmt.bounds)
        self.period, self.counters = _counters(self.stmt.body, f"{targets[0]}.n")
        for name in targets:
            cx.env[name] = var(name)
        self.heads.append(_Head(self.entry.fork(), (0,) * len(self.counters)))
        done = 0
        while done < len(self.heads):
            if done == MAX_HEADS:
                return [self._lost("what a tile leaves behind follows no rule that the checker sees")]
            ends = self._tile(self.heads[done])
            if any(e.lost for e in ends):
                return [e for e in ends if e.lost]
            self.ends.append([self._of_tile(e) for e in ends])
            for end in ends:
                for head in self._following(end, self.heads[done].residues):
                    if not any(head.same(known) for known in self.heads):
                        self.heads.append(head)
            done += 1
        for name in targets:
            del cx.env[name]
        # What was stored is counted by tile, from `ends`.
        return [h.state for h in self.heads] if self.live.names or self.live.memory else [self.heads[0].state]

    @property
    def ranges(self) -> tuple[Formula, ...]:
        """Each index lies in its range."""
        pairs = zip(self.stmt.targets, self.counts, strict=True)
        return tuple(f for name, count in pairs for f in (ge(var(name)), ge(count - var(name) - 1)))

    def _tile(self, head: _Head) -> list[State]:
        state = head.state.fork()
        for name in self.stmt.targets:
            state.least[name] = 0
        for fact in self.ranges:
            state.assume(fact)
        for counter, residue in zip(self.counters, head.residues, strict=True):
            state.known[counter.text] = var(f"{counter.text}@") * self.period + residue
        return scoped(frozenset(head.state.frags), self.run(self.stmt.body, [state]))

    def _following(self, end: State, residues: tuple[int, ...]) -> Iterator[_Head]:
        """The heads of the next tile: one, or several if the state of a ring is not known."""
        cx, targets = self.cx, self.stmt.targets
        before = frozenset(name + PREVIOUS for name in targets)
        out = end.fork()
        forget_values(out, cx.store, lambda s: s in before or _of_run(s), "left over from an earlier tile")
        out = substitute_state(out, {name: var(name + PREVIOUS) for name in targets}, cx.store)
        out.facts, out.fixed, out.least = self.entry.facts, dict(self.entry.fixed), dict(self.entry.least)
        out.known, out.done, out.open = dict(self.entry.known), self.entry.done, self.entry.open
        for name, count in zip(targets, self.counts, strict=True):
            earlier = var(name + PREVIOUS)
            out.least[name + PREVIOUS] = 0
            out.assume(ge(earlier))
            out.assume(ge(count - earlier - 1))
        out.assume(disjunction(ne(var(name) - var(name + PREVIOUS)) for name in targets))
        out.hints = self._hints(end)
        choices = [self._advanced(c, r, end) for c, r in zip(self.counters, residues, strict=True)]
        for choice in product(*choices):
            yield _Head(out, choice)

    def _hints(self, end: State) -> tuple[Formula, ...]:
        """What the tile just done implies about sizes."""
        indices = {*self.stmt.targets, *(name + PREVIOUS for name in self.stmt.targets)}
        known = (f for f in without_rounds(end.hypotheses())[0] if f not in self.entry.facts)
        part = self.cx.part
        # A share that goes on to another tile: there are many tiles for each of the shares.
        several = (ge(self.counts[-1] - part.parts * 2),) if part is not None and part.of_tile else ()
        found = tuple(
            f for f in known if formula_symbols(f).isdisjoint(indices) and not any(map(_of_run, formula_symbols(f)))
        )
        return (*several, *found)

    def _advanced(self, counter: _Counter, residue: int, end: State) -> tuple[int, ...]:
        step = end.reduce(counter.step)
        rest = step - floordiv(step, self.period) * self.period
        return ((residue + rest.const) % self.period,) if rest.is_const else tuple(range(self.period))

    def _of_tile(self, end: State) -> State:
        """The end of a tile, without what is known of the tile before."""
        out = end.fork()
        before = {name + PREVIOUS for name in self.stmt.targets}
        out.facts = tuple(f for f in out.facts if formula_symbols(f).isdisjoint(before))
        return out

    def _lost(self, reason: str) -> State:
        text = f"the loop over tiles at line {self.stmt.span.line} is not understood: {reason}"
        if text not in self.cx.widened:
            self.cx.widened.append(text)
        block_all(self.cx, self.stmt.body, text)
        state = self.entry.fork()
        state.lost = text
        return state


def _of_run(symbol: str) -> bool:
    """Whether a symbol stands for something else in each tile: the round of a loop, the bounds of a share."""
    return ROUND in symbol or symbol.endswith((BEGIN, END))


def _counters(body: tuple[Stmt, ...], ordinal: str) -> tuple[int, tuple[_Counter, ...]]:
    """What indices make of the number of tiles done, and the least common multiple of the moduli applied to it."""
    period, found = 1, dict[str, _Counter]()
    for node in walk_body(body):
        for name in node.__dataclass_fields__:
            for e in _moduli(getattr(node, name), ordinal):
                period = lcm(period, abs(cast("Const", e.args[1]).value) or 1)
                for counter in _multiples(affine(e.args[0], {}), ordinal):
                    found[counter.text] = counter
    return period, tuple(found.values())


def _moduli(value: object, ordinal: str) -> Iterator[Op]:
    """The divisions of something that mentions the number of tiles done, by a constant."""
    match value:
        case Op(kind, args):
            if kind in ("%", "//", "cdiv") and isinstance(args[1], Const) and ordinal in names(args[0]):
                yield value
            for arg in args:
                yield from _moduli(arg, ordinal)
        case tuple():
            for item in cast("tuple[object, ...]", value):
                yield from _moduli(item, ordinal)
        case _:
            pass


def _multiples(form: Affine, ordinal: str) -> Iterator[_Counter]:
    for atom, _ in form.terms:
        if atom.text == ordinal:
            yield _Counter(var(ordinal), Affine(1))
        elif atom.kind == "*" and var(ordinal) in atom.args:
            (step,) = (a for a in atom.args if a != var(ordinal))
            yield _Counter(Affine(0, ((atom, 1),)), step)
