"""What one team does at one statement."""

from __future__ import annotations

from argus.dsl.ir import (
    Arrive,
    AsOperand,
    AssertComplete,
    AssertMatch,
    Assign,
    AtomicAdd,
    Block,
    Commit,
    CopyAsync,
    Fence,
    Kernel,
    Load,
    MBar,
    MmaInto,
    MmaWait,
    Operand,
    Priority,
    Reduce,
    Relayout,
    SchedBarrier,
    SchedGroup,
    Shared,
    Shuffle,
    Stmt,
    Store,
    Wait,
)
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.types import FragType, Types
from argus.dsl.layout import Expr, OperandMap
from argus.dsl.tags.analysis import Walker, word
from argus.dsl.tags.asserts import assert_match
from argus.dsl.tags.context import Oracle
from argus.dsl.tags.domain import Fragment
from argus.dsl.tags.roles.arrivals import Arrivals
from argus.dsl.tags.roles.copies import Copies
from argus.dsl.tags.roles.locate import Locator
from argus.dsl.tags.roles.memory_rules import MemoryRules
from argus.dsl.tags.roles.register import accumulators_of, read_accumulators
from argus.dsl.tags.roles.statements import Statements
from argus.dsl.tags.roles.sync import sync_of
from argus.dsl.tags.roles.teams import Actor, teams
from argus.dsl.tags.roles.turns import Families
from argus.dsl.tags.state import State
from argus.dsl.tags.sums import assert_complete
from argus.dsl.tags.views import Outside, root
from argus.dsl.targets.atoms import ATOMS


class TeamWalker(Walker):
    """Dispatch to the transfer rules; `actor` executes the present statement."""

    actor: Actor

    def __init__(self, kernel: Kernel, types: Types, oracle: Oracle) -> None:
        super().__init__(kernel, types, oracle)
        self.teams = teams(kernel)
        self.families = Families(kernel)
        self.accumulators = accumulators_of(kernel)
        self.lasting = frozenset(types.sizes) | frozenset(types.scalars)
        self.locator = Locator(self.cx, self.families)
        made = [(n.targets[0], n.value) for n in walk_body(kernel.body) if isinstance(n, Assign)]
        in_shared = frozenset(n for n, v in made if isinstance(v, Operand) and root(v.src) in types.buffers)
        memory = MemoryRules(self.cx, self.teams, self.families)
        self.rules = Statements(self.cx, memory, self.locator, in_shared)
        self.copies = Copies(self.cx, memory, self.locator)
        self.arrivals = Arrivals(self.cx, self.locator)

    def add_grid(self, names: tuple[str, ...], counts: tuple[Expr, ...], state: State) -> None:
        """Indices of the grid, known to lie in their ranges."""
        self._grid(names, counts, state)

    def perform(self, state: State, stmt: Stmt) -> None:
        """A statement that waits for nobody and is no control flow."""
        cx, rules, actor = self.cx, self.rules, self.actor
        match stmt:
            case Assign(value=Shared() | MBar()) | SchedGroup() | SchedBarrier() | Priority():
                pass
            case Assign(value=Block(counts=counts)):
                # Each team executes it, and all get the same.
                if stmt.targets[0] not in dict(self.blocks):
                    self._grid(stmt.targets, counts, state)
            case Assign():
                self._assign(stmt, state)
            case Store(value=value):
                self._registers(state, stmt)
                rules.store(state, actor, self._site(stmt), stmt, self._part(state, value))
            case AtomicAdd(value=value):
                self._registers(state, stmt)
                rules.add(state, self._site(stmt), stmt, self._part(state, value))
            case CopyAsync():
                self.copies.copy(state, actor, self._site(stmt), stmt)
            case Commit():
                self.copies.commit(state, actor, stmt)
            case Wait(pending=pending):
                self.copies.wait(state, actor, pending)
            case Fence():
                sync_of(state).order.fence(actor.mask)
            case Arrive():
                self.arrivals.arrive(state, actor, self._site(stmt), stmt)
            case MmaInto():
                rules.multiply(state, actor, self._site(stmt), stmt)
            case MmaWait(pending=pending):
                rules.mma_wait(state, actor, pending)
            case AssertMatch():
                assert_match(cx, state, self._site(stmt), stmt)
            case AssertComplete():
                assert_complete(cx, state, self._site(stmt), stmt)
            case _:
                raise Outside(word(stmt))

    def _registers(self, state: State, stmt: Stmt) -> None:
        for name in read_accumulators(stmt, self.accumulators):
            self.rules.registers_read(state, self.actor.team, self._site(stmt), name)

    def _of_warpgroup(self, made: FragType) -> bool:
        return isinstance(made.map, OperandMap) and ATOMS[made.map.acc.atom].warpgroup

    def _value(self, stmt: Assign, state: State, made: FragType) -> Fragment:
        site = self._site(stmt)
        self._registers(state, stmt)
        match stmt.value:
            case Operand(src=src) if root(src) in self.cx.types.buffers:
                return self.rules.operand(state, self.actor, site, stmt.targets[0], stmt.value)
            case AsOperand(src=src) if self._of_warpgroup(made):
                return self.rules.as_operand(state, stmt.value, self._part(state, src), made)
            case Load(view=view) if root(view) in self.cx.types.buffers:
                return self.rules.load(state, self.actor, site, view, made)
            case Relayout() | Shuffle():
                raise Outside(word(stmt.value))  # the tables of lanes are those of waves of 64
            case Reduce(across="block") if len(self.teams) > 1:
                raise Outside('reduce(..., across="block") in a role')
            case _:
                return super()._value(stmt, state, made)
