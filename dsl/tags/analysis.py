"""The walk over a kernel: one transfer rule a statement, obligations on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from argus.dsl.ir import (
    AsOperand,
    AssertComplete,
    AssertMatch,
    Assign,
    AtomicAdd,
    Barrier,
    Binary,
    Block,
    Cast,
    Commit,
    Coordinate,
    CopyAsync,
    For,
    If,
    Index,
    Kernel,
    Load,
    Mask,
    MmaAcc,
    MmaInto,
    Node,
    Operand,
    Priority,
    Reduce,
    Ref,
    Relayout,
    Role,
    Scalar,
    SchedBarrier,
    SchedGroup,
    Select,
    Shared,
    Shift,
    Shuffle,
    Split,
    Stmt,
    Store,
    Tagged,
    Unary,
    View,
    Wait,
)
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.types import FragType, Types
from argus.dsl.layout import Expr, Uniform
from argus.dsl.layout.affine import Affine, ge, var
from argus.dsl.tags.asserts import assert_match
from argus.dsl.tags.context import Context, Oracle, Site, block_all
from argus.dsl.tags.contract import assumptions
from argus.dsl.tags.control import branch, repeat, role, shift, split_range
from argus.dsl.tags.coverage import coverage
from argus.dsl.tags.domain import Acc, Fragment, Same, Top
from argus.dsl.tags.induction import Live
from argus.dsl.tags.marks import born
from argus.dsl.tags.memory import Buffer
from argus.dsl.tags.mma import mma_into
from argus.dsl.tags.numbers import computed
from argus.dsl.tags.obligations import Registry
from argus.dsl.tags.register import register, written_view
from argus.dsl.tags.registers import in_registers, lost_like
from argus.dsl.tags.shares import by_tile
from argus.dsl.tags.state import State
from argus.dsl.tags.sums import assert_complete
from argus.dsl.tags.tiles import Tiles
from argus.dsl.tags.transfer import atomic_add, copy_async, load, operand, store
from argus.dsl.tags.values import claimed
from argus.dsl.tags.views import Outside, root

MAX_STATES = 16


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the walk found.

    Attributes:
        blocks: Block indices with their counts.
        assumed: Some proof may lean on `assume` or on claimed tags.
        widened: Loops that were not understood.
    """

    registry: Registry
    blocks: tuple[tuple[str, Affine], ...]
    assumed: bool
    widened: tuple[str, ...]
    context: Context


def analyse(kernel: Kernel, types: Types, oracle: Oracle) -> Analysis:
    """Interpret a kernel in core form abstractly; goals are left for the solver."""
    kernel = by_tile(kernel, types.sizes, oracle)
    walker = _walker(kernel)(kernel, types, oracle)
    walker.run()
    cx = walker.cx
    claims = any(isinstance(n, Tagged) for n in walk_body(kernel.body))
    return Analysis(cx.registry, tuple(walker.blocks), claims or bool(kernel.assume), tuple(cx.widened), cx)


def _walker(kernel: Kernel) -> type[Walker]:
    from argus.dsl.tags.roles.walker import RoleWalker  # noqa: PLC0415 - it extends the walker of this module

    return Walker if kernel.target == "gfx942" else RoleWalker


class Walker:
    def __init__(self, kernel: Kernel, types: Types, oracle: Oracle) -> None:
        written = frozenset(
            root(written_view(n)) for n in walk_body(kernel.body) if isinstance(n, Store | AtomicAdd | CopyAsync)
        )
        copied = frozenset(root(n.dst) for n in walk_body(kernel.body) if isinstance(n, CopyAsync))
        registry, sites = register(kernel, types, copied)
        self.cx = Context(
            kernel, types, oracle, sites, registry,
            reduced_axes=frozenset(o.axis for e in kernel.ensures for o in e.over),
            written_tensors=written & frozenset(types.params),
            guarded=_guarded(kernel), assumptions=assumptions(kernel),
        )  # fmt: skip
        self.blocks: list[tuple[str, Affine]] = []
        self._later: list[tuple[Stmt, ...]] = []  # what follows in each enclosing block
        self._loops: list[For | Role] = []
        self._ends_of_tiles: list[list[State]] = []

    def run(self) -> None:
        buffers = {name: Buffer.fresh(shared) for name, shared in self.cx.types.buffers.items()}
        state = State({}, buffers, least={size: 1 for size in self.cx.types.sizes})
        finals = self.body(self.cx.kernel.body, [state])
        coverage(self.cx, self.blocks, finals, self._ends_of_tiles)

    # ------------------------------------------------------------------------------------- statements

    def body(self, body: tuple[Stmt, ...], states: list[State]) -> list[State]:
        for i, stmt in enumerate(body):
            self._later.append(body[i + 1 :])
            states = [after for state in states for after in self._statement(stmt, state)]
            self._later.pop()
            if len(states) > MAX_STATES:
                states[0].lost = f"too many cases are open after line {stmt.span.line}"
                states = states[:1]
        return states

    def _statement(self, stmt: Stmt, state: State) -> list[State]:
        if state.lost:
            block_all(self.cx, (stmt,), state.lost)
            return [state]
        try:
            return self._execute(stmt, state)
        except Outside as e:
            self._outside(stmt, state, str(e))
            return [state]

    def _outside(self, stmt: Stmt, state: State, construct: str) -> None:
        """A construct that this slice does not model: what it may have touched is unknown from here on."""
        reason = f"{construct} (line {stmt.span.line}) is outside this slice of the checker"
        block_all(self.cx, (stmt,), reason)
        if not isinstance(stmt, Assign) or isinstance(stmt.value, Load | Operand):
            state.lost = reason  # later accesses cannot be told to be ordered after what this one did
            return
        if any(target not in self.cx.types.frags for target in stmt.targets):
            state.lost = reason  # an index of unknown value, or a view
            return
        for target in stmt.targets:
            state.frags[target] = Top(self.cx.types.frags.get(target), reason)

    def _execute(self, stmt: Stmt, state: State) -> list[State]:
        cx = self.cx
        match stmt:
            case Assign():
                self._assign(stmt, state)
            case Store(value=value):
                store(cx, state, self._site(stmt), stmt, self._part(state, value))
            case AtomicAdd(value=value):
                atomic_add(cx, state, self._site(stmt), stmt, self._part(state, value))
            case CopyAsync():
                copy_async(cx, state, self._site(stmt), stmt)
            case Commit():
                for buffer in state.buffers.values():
                    buffer.commit(cx.working.bits)
            case Wait(pending=pending):
                for buffer in state.buffers.values():
                    buffer.wait(pending, cx.working.bits)
            case Barrier(waves=waves):
                if waves is not None and waves != cx.kernel.waves:
                    raise Outside(f"a barrier of {waves} of {cx.kernel.waves} waves")
                # Every condition and bound on the way here is uniform over the block: index expressions are.
                cx.registry.get("divergence", self._site(stmt).number).raise_tier("structure")
                for buffer in state.buffers.values():
                    buffer.barrier()
            case Shift(waves=waves):
                shift(cx, state, self._site(stmt), waves)
            case MmaInto():
                mma_into(cx, state, self._site(stmt), stmt)
            case AssertMatch():
                assert_match(cx, state, self._site(stmt), stmt)
            case AssertComplete():
                assert_complete(cx, state, self._site(stmt), stmt)
            case SchedGroup() | SchedBarrier() | Priority():
                pass
            case If():
                return branch(cx, stmt, state, self.body)
            case Role():
                self._loops.append(stmt)  # its other groups come later
                try:
                    return role(cx, stmt, state, self.body)
                finally:
                    self._loops.pop()
            case For(kind="tiles"):
                return self._tiles(stmt, state)
            case For():
                return self._repeat(stmt, state)
            case _:
                raise Outside(word(stmt))
        return [state]

    def _site(self, stmt: Stmt) -> Site:
        return self.cx.site_of(stmt)

    def _tiles(self, stmt: For, state: State) -> list[State]:
        loop = Tiles(self.cx, stmt, state, self.body, self._live_after())
        self._loops.append(stmt)
        try:
            return loop.solve()
        finally:
            self._loops.pop()
            self.blocks += zip(stmt.targets, loop.counts, strict=True)
            self._ends_of_tiles += loop.ends

    def _repeat(self, stmt: For, state: State) -> list[State]:
        live = self._live_after()
        self._loops.append(stmt)
        try:
            return repeat(self.cx, stmt, state, self.body, live)
        finally:
            self._loops.pop()

    def _live_after(self) -> Live:
        """What runs later: the rest of every enclosing block; enclosing loops come round again whole."""
        later = [s for rest in self._later for s in rest] + [s for loop in self._loops for s in loop.body]
        nodes = list(walk_body(tuple(later)))
        names = {n.name for n in nodes if isinstance(n, Ref)} | {n.acc for n in nodes if isinstance(n, MmaInto)}
        memory = any(root(v) in self.cx.types.buffers for n in nodes for v in _views(n))
        return Live(frozenset(names), memory)

    # -------------------------------------------------------------------------------------- fragments

    def _assign(self, stmt: Assign, state: State) -> None:
        match stmt.value:
            case Shared():
                return
            case Block(counts=counts):
                self._grid(stmt.targets, counts, state)
                return
            case Split() as value:
                split_range(self.cx, state, stmt.targets, value)
                return
            case value:
                made = self.cx.types.frags.get(stmt.targets[0])
                if len(stmt.targets) != 1 or made is None:
                    raise Outside(word(value))
                found = self._value(stmt, state, made)
                if not isinstance(value, Ref):
                    found = born(self.cx, state, self._site(stmt).number, found)
                state.frags[stmt.targets[0]] = found

    def _value(self, stmt: Assign, state: State, made: FragType) -> Fragment:
        value = stmt.value
        if isinstance(value, Binary | Select) and (found := computed(self.cx, value, made, self._reader(state))):
            return found
        match value:
            case Load(view=view, like=like):
                lost = () if like is None else lost_like(self.cx, self._frag(state, like.name), like.name, made)
                return load(self.cx, state, self._site(stmt), view, made, lost=lost)
            case Operand():
                return operand(self.cx, state, self._site(stmt), value, made)
            case MmaAcc():
                return Acc(made, span=stmt.span)
            case Scalar() | Index():
                return self._part(state, value)
            case Ref(name=name):
                return self._frag(state, name)
            case (
                Cast()
                | Unary()
                | Binary()
                | Select()
                | Mask()
                | Coordinate()
                | Reduce()
                | AsOperand()
                | Relayout()
                | Shuffle()
            ):
                part = partial(self._part, state)
                return in_registers(self.cx, state, self._site(stmt), value, made, part=part)
            case Tagged(src=src, components=components) if isinstance(src, Ref) and src.name in state.frags:
                forms = {axis: self.cx.evaluate(e) for axis, e in components}
                return claimed(self.cx, state.frags[src.name], forms)
            case _:
                raise Outside(word(value))

    def _reader(self, state: State) -> Callable[[Node], Fragment]:
        return partial(self._part, state)

    def _part(self, state: State, node: Node) -> Fragment:
        match node:
            case Ref(name=name):
                return self._frag(state, name)
            case Scalar(value=value):
                return Same(FragType("f32", (), (), Uniform()), float(value))
            case Index(expr=expr):
                form = self.cx.evaluate(expr)
                number = float(form.const) if form.is_const else None
                return Same(FragType("i32", (), (), Uniform()), number, form)
            case _:
                raise Outside(word(node))

    def _frag(self, state: State, name: str) -> Fragment:
        if name in state.frags:
            return state.frags[name]
        if name in self.cx.types.scalars:
            return Same(FragType(self.cx.types.scalars[name], (), (), Uniform()))
        raise Outside(f"the value {name}")

    def _grid(self, names: tuple[str, ...], counts: tuple[Expr, ...], state: State) -> None:
        """Block indices. Every `order` is a bijection of the grid by construction, so which one does not matter."""
        for name, count in zip(names, counts, strict=True):
            extent = self.cx.evaluate(count)
            state.least[name] = 0
            state.assume(ge(var(name)))
            state.assume(ge(extent - var(name) - 1))
            self.blocks.append((name, extent))


def _views(node: Node) -> tuple[View, ...]:
    match node:
        case Load(view=view) | Store(view=view) | AtomicAdd(view=view):
            return (view,)
        case Operand(src=src):
            return (src,)
        case CopyAsync(dst=dst, src=src):
            return (dst, src)
        case _:
            return ()


def _guarded(kernel: Kernel) -> frozenset[str]:
    """What is written inside some branch."""
    branches = [n for n in walk_body(kernel.body) if isinstance(n, If)]
    inside = [m for b in branches for m in walk_body((*b.body, *b.orelse))]
    stored = {root(m.view) for m in inside if isinstance(m, Store)}
    return frozenset(stored | {root(m.dst) for m in inside if isinstance(m, CopyAsync)})


_WORDS = {
    "Reduce": "reduce(...)", "Mask": "mask(...)", "AsOperand": "as_operand(...)", "Split": "split(...)",
    "Role": "role(...)", "Elect": "elect()", "MBar": "mbar(...)", "AtomicAdd": "atomic_add(...)",
    "Shift": "shift(...)", "Fence": "fence(...)", "Arrive": "arrive(...)", "AwaitPhase": "await_phase(...)",
    "MmaWait": "mma_wait(...)", "Shuffle": "shuffle(...)", "Coordinate": "a coordinate as data",
    "Gather": "gather(...)",
}  # fmt: skip


def word(node: object) -> str:
    """A construct as authors spell it."""
    name = type(node).__name__
    return _WORDS.get(name, name)
