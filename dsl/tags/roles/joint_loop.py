"""Loops of several teams with equal trip counts: one loop whose iterations hold one of each team's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import lcm

from argus.dsl.ir import For, Stmt
from argus.dsl.layout.affine import Affine
from argus.dsl.tags.context import Context, block_all
from argus.dsl.tags.domain import Acc, Fragment
from argus.dsl.tags.induction import Induction, Live, forget, symbol_of
from argus.dsl.tags.roles.compare import forget_data, general, normal, within
from argus.dsl.tags.roles.periods import period_beside_rings
from argus.dsl.tags.roles.sync import Sync, sync_of
from argus.dsl.tags.roles.turns import Families
from argus.dsl.tags.state import State, fragment_symbols, same_fragment, write_symbols
from argus.dsl.tags.views import Outside

RunTeams = Callable[[dict[int, tuple[Stmt, ...]], State], list[State]]


def flatten(state: State) -> None:
    """Registers of all teams under names that tell them apart."""
    sync = sync_of(state)
    state.frags = {f"{t}/{name}": frag for t, frags in sync.frags.items() for name, frag in frags.items()}


def unflatten(state: State) -> None:
    sync = sync_of(state)
    sync.frags = {t: {} for t in sync.frags}
    for name, frag in state.frags.items():
        team, own = name.split("/", 1)
        sync.frags[int(team)][own] = frag


def forget_run(cx: Context, state: State, stmt: For) -> State:
    """The state without what an earlier run of a loop left under its symbol."""
    symbol = symbol_of(cx, stmt)
    flatten(state)
    out = forget(cx, state, symbol)
    out.sync = forget_data(cx, sync_of(out), lambda symbols: symbol in symbols)
    unflatten(out)
    return out


@dataclass(frozen=True, slots=True)
class Later:
    """What the teams execute after a loop, as far as it matters to the state: names read, buffers read."""

    frags: frozenset[str]
    buffers: frozenset[str]


class JointLoop(Induction):
    """Induction over rounds in which rings turn; see `compare` for what makes its invariant general."""

    def __init__(
        self,
        cx: Context,
        families: Families,
        loops: Mapping[int, For],
        state: State,
        run: RunTeams,
        *,
        start: Affine,
        stop: Affine,
        later: Later,
    ) -> None:
        first = next(iter(loops.values()))
        flatten(state)
        super().__init__(
            cx, first, state, self._iteration, start=start, stop=stop, live=Live(later.frags, memory=False)
        )
        self.families, self.loops, self.run_teams, self.later = families, loops, run, later
        bodies = {id(s): s for s in loops.values()}
        self.period = lcm(*(period_beside_rings(s.body, s.targets[0]) for s in bodies.values()))
        self.advance = self._advances(list(bodies.values()))
        self.base = dict(sync_of(self.entry).base)

    def _advances(self, loops: list[For]) -> dict[str, int]:
        out = dict[str, int]()
        for stmt in loops:
            for name, step in self.families.advance((stmt.body,), stmt.targets[0], self.cx.env).items():
                if not step.is_const or step.const < 0:
                    raise Outside(f"stages that advance by {step} in each iteration")
                if step.const and out.get(name, step.const) != step.const:
                    raise Outside("stages that advance differently in loops that run side by side")
                out[name] = max(out.get(name, 0), step.const)
        return out

    def solve_teams(self) -> list[State]:
        """The states after the loop, registers by team."""
        ends = self.solve()
        for end in ends:
            unflatten(end)
        return ends

    # ------------------------------------------------------------------------------------- iterations

    def _iteration(self, body: tuple[Stmt, ...], states: list[State]) -> list[State]:
        del body
        ends = list[State]()
        for state in states:
            form = self.cx.env[self.name]
            self._set_base(state, form)
            for stmt in self.loops.values():
                self.cx.env[stmt.targets[0]] = form
            unflatten(state)
            for end in self.run_teams({t: s.body for t, s in self.loops.items()}, state):
                if not end.lost:
                    sync_of(end).turn({f.name: f for f in self.families.all}, self.advance)
                    self._set_base(end, form + 1)
                flatten(end)
                ends.append(end)
        return ends

    def _set_base(self, state: State, form: Affine) -> None:
        trips = form - self.start
        sync_of(state).base = {name: base + trips * self.advance.get(name, 0) for name, base in self.base.items()}

    def _note_exit(self, path: object, form: Affine, known: int | None, phase: int) -> None:
        kept = len(self.exits)
        super()._note_exit(path, form, known, phase)  # pyright: ignore[reportArgumentType]
        for e in self.exits[kept:]:
            self._set_base(e.state, form)

    # ----------------------------------------------------------------------------------- the invariant

    def _advance(self, state: State) -> State:
        wide = state.fork()
        wide.sync = self._wide(sync_of(state))
        return super()._advance(wide)

    def _wide(self, sync: Sync) -> Sync:
        return general(self.families, normal(self.cx, self.families, sync))

    def _same(self, final: State, end: State) -> bool:
        if not super()._same(final, end):
            return False
        ended, wide = normal(self.cx, self.families, sync_of(end)), self._wide(sync_of(end))
        return within(self.cx, ended, wide) and within(self.cx, normal(self.cx, self.families, sync_of(final)), wide)

    # ------------------------------------------------------------------------------------------ exits

    def _merged(self, states: list[State]) -> list[State]:
        """One state, if the last is as general as the others and what is used later tells no trip count."""
        alive = [s for s in states if s.lost or self.cx.oracle.consistent(s.hypotheses())]
        if len(alive) < 2 or any(s.lost for s in alive):
            return alive
        last = alive[-1]
        merged = last.fork()
        merged.sync = self._without_symbol(general(self.families, normal(self.cx, self.families, sync_of(last))))
        self._set_base(merged, self.stop)
        kept = [n for n in self.entry.frags if n in self.live.names]
        merged.frags = {n: last.frags[n] for n in kept}
        free = [fragment_symbols(f, self.cx.store) for f in merged.frags.values()]
        free += [write_symbols(w) for w in last.done + last.open]
        general_enough = not any(self.symbol in symbols for symbols in free) and all(
            s.done == last.done and s.open == last.open
            and all(_is_case(s.frags[n], last.frags[n]) for n in kept)
            and within(self.cx, self._without_symbol(normal(self.cx, self.families, sync_of(s))), sync_of(merged))
            for s in alive
        )  # fmt: skip
        if not general_enough:
            return alive
        merged.facts, merged.fixed, merged.least = self.entry.facts, dict(self.entry.fixed), dict(self.entry.least)
        return [merged]

    def _without_symbol(self, sync: Sync) -> Sync:
        """Data that lie where this loop's last iterations put them: which iterations is no longer known."""
        return forget_data(self.cx, sync, lambda symbols: self.symbol in symbols, self.later.buffers)

    def _lost(self, reason: str) -> State:
        for stmt in self.loops.values():
            block_all(self.cx, stmt.body, f"the loop at line {stmt.span.line} is not understood: {reason}")
        return super()._lost(reason)


def _is_case(special: Fragment, wide: Fragment) -> bool:
    """Whether registers are what `wide` says, for some trip count: zeros are a sum of no terms, wherever they lie."""
    if isinstance(special, Acc) and isinstance(wide, Acc) and special.rows is None and special.cols is None:
        alike = special.reduced == wide.reduced and special.type == wide.type and special.pad == 0.0
        return alike and special.origins <= wide.origins and (wide.changed or not special.changed)
    return same_fragment(special, wide)
