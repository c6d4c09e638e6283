"""Persistent grids: a block's tiles one after the other, by induction over how many it has done.

Which tile a block gets does not matter: its indices are symbols, and over all blocks each tile comes once. What matters
is the order of one tile's accesses after those of the tiles before, so the invariant speaks of memory and barriers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from argus.dsl.ir import For
from argus.dsl.layout.affine import Affine, ge, product, var
from argus.dsl.tags.context import block_all
from argus.dsl.tags.roles.compare import forget_data, general, normal, within
from argus.dsl.tags.roles.sync import Sync, sync_of
from argus.dsl.tags.roles.turns import plain
from argus.dsl.tags.state import State, Write
from argus.dsl.tags.views import Outside

if TYPE_CHECKING:
    from argus.dsl.tags.roles.walker import RoleWalker

TRIES = 3


class TileLoop:
    def __init__(self, walker: RoleWalker, stmt: For, state: State) -> None:
        self.walker, self.stmt, self.cx = walker, stmt, walker.cx
        self.ordinal = f"{stmt.targets[0]}.n"
        walker.add_grid(stmt.targets, stmt.bounds, state)
        self.entry = state
        self.entry_base = dict(sync_of(state).base)
        self.ends: list[list[State]] = []  # the ways in which a tile may end
        self.step = walker.families.advance((stmt.body,), self.ordinal, self.cx.env)

    def run(self) -> list[State]:
        """The states after the loop: of blocks without a tile, and of those with some."""
        skipped = self.entry.fork()
        try:
            return [skipped, *self._some_tiles()]
        finally:
            self.cx.env.pop(self.ordinal, None)

    def _some_tiles(self) -> list[State]:
        seen = self._tile(self.entry.fork(), Affine())
        for _ in range(TRIES):
            if any(e.lost for e in seen):
                return [e for e in seen if e.lost]
            mark = self.cx.registry.mark()
            head = self._head(seen[-1])
            wide = sync_of(head).copy()
            seen = [*seen, *self._tile(head, var(self.ordinal))]
            if any(e.lost for e in seen):
                return [e for e in seen if e.lost]
            # The head stands for the end of any tile before, so each must be a case of it.
            if all(within(self.cx, self._normal(e), wide) for e in seen):
                return self._leave(seen)
            self.cx.registry.rewind(mark)
        return [self._lost("what a tile leaves in shared memory and barriers follows no rule that the checker sees")]

    def _tile(self, state: State, number: Affine) -> list[State]:
        """One tile; rings stand as they will for the next one."""
        self.cx.env[self.ordinal] = number
        sync = sync_of(state)
        head = {f: base + product(number, self.step[f]) for f, base in self.entry_base.items()}
        sync.base = dict(head)
        ends = self.walker.run_teams({t.number: self.stmt.body for t in self.walker.teams}, state)
        for end in ends:
            if not end.lost:
                self._turn(end, head)
        return ends

    def _turn(self, end: State, head: dict[str, Affine]) -> None:
        sync = sync_of(end)
        rest = dict[str, int]()
        for name, step in self.step.items():
            left = plain(end, step - (sync.base[name] - head[name]))
            if not left.is_const or left.const < 0:
                raise Outside(f"a ring that turns by {step} a tile and is used otherwise")
            rest[name] = left.const
        sync.turn({f.name: f for f in self.walker.families.all}, rest)

    def _normal(self, state: State) -> Sync:
        """A tile's data mean nothing to the next."""
        lasting = self.walker.lasting
        return normal(self.cx, self.walker.families, forget_data(self.cx, sync_of(state), lambda s: not s <= lasting))

    def _head(self, end: State) -> State:
        head = self.entry.fork()
        head.sync = general(self.walker.families, self._normal(end))
        sync_of(head).frags = {t: dict(f) for t, f in sync_of(self.entry).frags.items()}
        head.least[self.ordinal] = 1
        head.assume(ge(var(self.ordinal) - 1))
        return head

    def _leave(self, ends: Sequence[State]) -> list[State]:
        """Whatever a tile's number, it stores the same boxes; how often rings have turned is not known any more."""
        written = {tuple(_bare(w) for w in e.done + e.open) for e in ends}
        if len(written) > 1:
            return [self._lost("tiles store different parts")]
        out = self.entry.fork()
        last = ends[-1]
        end = self.entry.fork()
        end.done, end.open = last.done + last.open, ()
        self.ends.append([end])
        out.sync = general(self.walker.families, self._normal(last))
        sync_of(out).frags = {t: dict(f) for t, f in sync_of(self.entry).frags.items()}
        sync_of(out).base = {
            name: base + product(var(f"{self.ordinal}!"), self.step[name]) for name, base in self.entry_base.items()
        }
        return [out]

    def _lost(self, reason: str) -> State:
        text = f"the loop at line {self.stmt.span.line} is not understood: {reason}"
        if text not in self.cx.widened:
            self.cx.widened.append(text)
        block_all(self.cx, self.stmt.body, text)
        state = self.entry.fork()
        state.lost = text
        return state


def _bare(write: Write) -> Write:
    """A store without the facts under which it was met."""
    return replace(write, box=replace(write.box, given=()))
