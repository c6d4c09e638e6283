"""The walk over a kernel: one transfer rule a statement, obligations on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.ir import (
    AssertComplete,
    AssertMatch,
    Assign,
    AtomicAdd,
    Barrier,
    Binary,
    Block,
    Cast,
    Commit,
    CopyAsync,
    For,
    If,
    Index,
    Kernel,
    Load,
    MmaAcc,
    MmaInto,
    Node,
    Operand,
    Priority,
    Ref,
    Relayout,
    Scalar,
    SchedBarrier,
    SchedGroup,
    Select,
    Shared,
    Stmt,
    Store,
    Tagged,
    Unary,
    View,
    Wait,
)
from argus.dsl.ir.rewrite import walk, walk_body
from argus.dsl.ir.types import FragType, Types
from argus.dsl.layout import Accumulator, OperandMap, Uniform
from argus.dsl.layout.affine import FALSE, Affine, Formula, conjunction, ge, var
from argus.dsl.tags.access import Touch, copy_shared, read_shared, write_shared
from argus.dsl.tags.asserts import assert_match
from argus.dsl.tags.context import Context, Oracle, Site
from argus.dsl.tags.coverage import coverage
from argus.dsl.tags.domain import Acc, Fragment, Ints, Same, Tile, Top
from argus.dsl.tags.epilogue import assert_complete, store_output
from argus.dsl.tags.loops import Live, block_all, branch, repeat
from argus.dsl.tags.memory import Buffer
from argus.dsl.tags.mma import k_depth, mma_into
from argus.dsl.tags.obligations import Finding, Goal, Obligation, Registry, WritesOnce
from argus.dsl.tags.register import register
from argus.dsl.tags.state import State
from argus.dsl.tags.values import claimed, global_codes, pointwise
from argus.dsl.tags.views import Cells, Need, Outside, byte_offsets, root

MAX_STATES = 16


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the walk found.

    Attributes:
        blocks: Block indices with their counts.
        assumed: Some value carries claimed tags.
        widened: Loops that were not understood.
    """

    registry: Registry
    blocks: tuple[tuple[str, Affine], ...]
    assumed: bool
    widened: tuple[str, ...]
    context: Context


def analyse(kernel: Kernel, types: Types, oracle: Oracle) -> Analysis:
    """Interpret a kernel in core form abstractly; goals are left for the solver."""
    walker = _Walker(kernel, types, oracle)
    walker.run()
    cx = walker.cx
    claims = any(isinstance(n, Tagged) for n in walk_body(kernel.body))
    return Analysis(cx.registry, tuple(walker.blocks), claims or bool(kernel.assume), tuple(cx.widened), cx)


class _Walker:
    def __init__(self, kernel: Kernel, types: Types, oracle: Oracle) -> None:
        written = frozenset(root(n.view) for n in walk_body(kernel.body) if isinstance(n, Store | AtomicAdd))
        copied = frozenset(root(n.dst) for n in walk_body(kernel.body) if isinstance(n, CopyAsync))
        registry, sites = register(kernel, types, copied)
        self.cx = Context(
            kernel, types, oracle, sites, registry,
            reduced_axes=frozenset(o.axis for e in kernel.ensures for o in e.over),
            written_tensors=written & frozenset(types.params),
        )  # fmt: skip
        self.blocks: list[tuple[str, Affine]] = []
        self._live: list[tuple[Stmt, ...]] = []

    def run(self) -> None:
        buffers = {name: Buffer.fresh(shared) for name, shared in self.cx.types.buffers.items()}
        state = State({}, buffers, least={size: 1 for size in self.cx.types.sizes})
        finals = self.body(self.cx.kernel.body, [state])
        coverage(self.cx, self.blocks, finals)

    # ------------------------------------------------------------------------------------- statements

    def body(self, body: tuple[Stmt, ...], states: list[State]) -> list[State]:
        for i, stmt in enumerate(body):
            self._live.append(body[i + 1 :])
            states = [after for state in states for after in self._statement(stmt, state)]
            self._live.pop()
            if len(states) > MAX_STATES:
                reason = f"too many cases are open after line {stmt.span.line}"
                states[0].lost = reason
                states = states[:1]
        return states

    def _statement(self, stmt: Stmt, state: State) -> list[State]:
        if state.lost:
            block_all(self.cx, (stmt,), state.lost)
            return [state]
        try:
            return self._execute(stmt, state)
        except Outside as e:
            return [self._outside(stmt, state, str(e))]

    def _outside(self, stmt: Stmt, state: State, construct: str) -> State:
        """A construct that this slice does not model: what it may have touched is unknown from here on."""
        reason = f"{construct} (line {stmt.span.line}) is outside this slice of the checker"
        block_all(self.cx, (stmt,), reason)
        if isinstance(stmt, Assign) and not isinstance(stmt.value, Load | Operand):
            for target in stmt.targets:
                state.frags[target] = Top(self.cx.types.frags.get(target), reason)
        elif isinstance(stmt, Assign):
            # A read of unknown cells: later writes cannot be told to be safe from it.
            state.lost = reason
        else:
            state.lost = reason
        return state

    def _execute(self, stmt: Stmt, state: State) -> list[State]:
        match stmt:
            case Assign():
                self._assign(stmt, state)
            case Store():
                self._store(stmt, state)
            case CopyAsync():
                self._copy(stmt, state)
            case Commit():
                for buffer in state.buffers.values():
                    buffer.commit()
            case Wait(pending=pending):
                for buffer in state.buffers.values():
                    buffer.wait(pending)
            case Barrier(waves=waves):
                if waves is not None and waves != self.cx.kernel.waves:
                    raise Outside(f"a barrier of {waves} of {self.cx.kernel.waves} waves")
                self.cx.registry.get("divergence", self._site(stmt).number).raise_tier("structure")
                for buffer in state.buffers.values():
                    buffer.barrier()
            case MmaInto():
                mma_into(self.cx, state, self._site(stmt), stmt)
            case AssertMatch():
                assert_match(self.cx, state, self._site(stmt), stmt)
            case AssertComplete():
                assert_complete(self.cx, state, self._site(stmt), stmt)
            case SchedGroup() | SchedBarrier() | Priority():
                pass
            case If():
                return branch(self.cx, stmt, state, self.body)
            case For(kind="tiles"):
                raise Outside("tiles(...)")
            case For():
                return repeat(self.cx, stmt, state, self.body, self._live_after(stmt))
            case _:
                raise Outside(_word(stmt))
        return [state]

    def _site(self, stmt: Stmt) -> Site:
        return self.cx.site_of(stmt)

    def _live_after(self, stmt: Stmt) -> Live:
        """What runs later: the rest of every enclosing block; enclosing loops come round again whole."""
        later = [s for rest in self._live for s in rest]
        for frame_body in self._enclosing_loops(stmt):
            later += frame_body
        nodes = list(walk_body(tuple(later)))
        names = {n.name for n in nodes if isinstance(n, Ref)} | {n.acc for n in nodes if isinstance(n, MmaInto)}
        memory = any(root(v) in self.cx.types.buffers for n in nodes for v in _views(n))
        return Live(frozenset(names), memory)

    def _enclosing_loops(self, stmt: Stmt) -> list[tuple[Stmt, ...]]:
        return [
            n.body for n in walk_body(self.cx.kernel.body)
            if isinstance(n, For) and n is not stmt and any(m is stmt for m in walk_body(n.body))
        ]  # fmt: skip

    # -------------------------------------------------------------------------------------- fragments

    def _assign(self, stmt: Assign, state: State) -> None:
        value = stmt.value
        match value:
            case Shared():
                return
            case Block(counts=counts):
                self._grid(stmt, counts, state)
                return
            case _:
                pass
        if len(stmt.targets) != 1:
            raise Outside(_word(value))
        target = stmt.targets[0]
        made = self.cx.types.frags.get(target)
        if made is None:
            raise Outside(_word(value))
        state.frags[target] = self._value(stmt, state, made)

    def _value(self, stmt: Assign, state: State, made: FragType) -> Fragment:
        value = stmt.value
        match value:
            case Load(view=view):
                return self._load(stmt, state, view, made)
            case Operand(src=src):
                return self._operand(stmt, value, state, src, made)
            case MmaAcc():
                return Acc(made, span=stmt.span)
            case Scalar() | Index():
                return Same(made)
            case Ref(name=name):
                return self._frag(state, name)
            case Cast(src=src) | Unary(src=src) | Relayout(src=src):
                return pointwise(self.cx, state, made, (self._part(state, src),), sums=False)
            case Binary(op=op, lhs=lhs, rhs=rhs):
                parts = (self._part(state, lhs), self._part(state, rhs))
                return pointwise(self.cx, state, made, parts, sums=op == "+")
            case Select(condition=condition, x=x, y=y):
                parts = tuple(self._part(state, p) for p in (condition, x, y))
                return pointwise(self.cx, state, made, parts, sums=False)
            case Tagged(src=src, components=components) if isinstance(src, Ref) and src.name in state.frags:
                forms = {axis: self.cx.evaluate(e) for axis, e in components}
                return claimed(self.cx, state.frags[src.name], forms)
            case _:
                raise Outside(_word(value))

    def _part(self, state: State, node: Node) -> Fragment:
        if isinstance(node, Ref):
            return self._frag(state, node.name)
        return Same(FragType("f32", (), (), Uniform()))

    def _frag(self, state: State, name: str) -> Fragment:
        if name in state.frags:
            return state.frags[name]
        if name in self.cx.types.scalars:
            return Same(FragType(self.cx.types.scalars[name], (), (), Uniform()))
        raise Outside(f"the value {name}")

    def _grid(self, stmt: Assign, counts: tuple[object, ...], state: State) -> None:
        for name, count in zip(stmt.targets, counts, strict=True):
            extent = self.cx.evaluate(count)  # pyright: ignore[reportArgumentType]
            state.least[name] = 0
            state.assume(ge(var(name)))
            state.assume(ge(extent - var(name) - 1))
            self.blocks.append((name, extent))

    # ------------------------------------------------------------------------------------------ memory

    def _load(self, stmt: Assign, state: State, view: View, made: FragType) -> Fragment:
        site = self._site(stmt)
        if root(view) in self.cx.types.params:
            return self._global_read(site, state, view, made)
        cells = self._cells(site, state, view)
        if cells is None:
            return Top(made, f"depends on {self.cx.registry.get('bounds', site.number).place}")
        places = self.cx.places(made)
        return read_shared(
            self.cx, state, Touch(site, cells.buffer, cells.flat, places.waves, places), made.shape, made
        )

    def _global_read(self, site: Site, state: State, view: View, made: FragType) -> Fragment:
        at = self.cx.global_view(view)
        self._needs(site, state, at.needs)
        return Tile(global_codes(self.cx, at, at.shape, site.stmt.span), made)

    def _operand(self, stmt: Assign, value: Operand, state: State, src: View, made: FragType) -> Fragment:
        site = self._site(stmt)
        if isinstance(src, Ref) and src.name not in self.cx.types.buffers and src.name not in self.cx.types.params:
            raise Outside("operand(...) of a fragment")
        if not isinstance(made.map, OperandMap):
            raise Outside("an operand without a register map")
        width = k_depth(made.map.acc, value.pack)
        step = state.reduce(self.cx.evaluate(value.ks))
        if not step.is_const:
            raise Outside("a symbolic k-step")
        columns = slice(step.const * width, (step.const + 1) * width)
        if root(src) in self.cx.types.params:
            at = self.cx.global_view(src)
            self._needs(site, state, at.needs)
            rows, depth = at.shape
            self._fits(site, state, columns, depth)
            codes = global_codes(self.cx, at, (rows, depth), site.stmt.span)[:, columns]
            return Tile(np.ascontiguousarray(codes), made)
        cells = self._cells(site, state, src)
        bounds = self.cx.registry.get("bounds", site.number)
        if cells is None or not self._fits(site, state, columns, cells.index.shape[1]):
            return Top(made, f"depends on {bounds.place}")
        if cells.index.shape[0] != made.shape[0]:
            raise Outside("an operand of another height than its accumulator")
        places = self.cx.places(made)
        index = np.ascontiguousarray(cells.index[:, columns])
        return read_shared(
            self.cx, state, Touch(site, cells.buffer, index.ravel(), places.waves, places), made.shape, made
        )

    def _fits(self, site: Site, state: State, columns: slice, depth: int) -> bool:
        if 0 <= columns.start and columns.stop <= depth:
            return True
        text = f"k {columns.start} to {columns.stop - 1} of a view that is {depth} deep"
        self._out_of_bounds(site, state, FALSE, text)
        return False

    def _store(self, stmt: Store, state: State) -> None:
        site = self._site(stmt)
        frag = self._part(state, stmt.value)
        if root(stmt.view) in self.cx.types.params:
            at = self.cx.global_view(stmt.view)
            self._needs(site, state, at.needs)
            store_output(self.cx, state, site, at, frag)
            return
        cells = self._cells(site, state, stmt.view)
        if cells is None:
            return
        if isinstance(frag, Same) or frag.type is None:
            raise Outside("a store of uniform or unknown registers to shared memory")
        places = self.cx.places(frag.type)
        write_shared(self.cx, state, Touch(site, cells.buffer, cells.flat, places.waves, places), self._codes(frag))

    def _codes(self, frag: Fragment) -> Ints:
        from argus.dsl.tags.values import accumulator_codes
        from argus.dsl.tags.domain import Value

        if isinstance(frag, Tile):
            return frag.codes
        assert frag.type is not None
        if isinstance(frag, Acc):
            return accumulator_codes(self.cx, frag, frag.type.shape)
        assert isinstance(frag, Top)
        return self.cx.store.codes(Value(frozenset(), (), top=frag.reason), frag.type.shape)

    def _copy(self, stmt: CopyAsync, state: State) -> None:
        site = self._site(stmt)
        if stmt.via != "dma" or root(stmt.src) not in self.cx.types.params:
            raise Outside(f'copy_async(via="{stmt.via}")')
        cells = self._cells(site, state, stmt.dst)
        at = self.cx.global_view(stmt.src)
        self._needs(site, state, at.needs)
        if cells is None:
            return
        shared = self.cx.buffer(cells.buffer)
        element_bytes = int(byte_offsets(shared)[1]) if len(byte_offsets(shared)) > 1 else 2
        del element_bytes
        from argus.dsl.ir.types import DTYPE_BYTES

        waves = self.cx.copy_waves(byte_offsets(shared)[cells.flat], DTYPE_BYTES[shared.dtype])
        codes = global_codes(self.cx, at, cells.index.shape, stmt.span)
        copy_shared(self.cx, state, Touch(site, cells.buffer, cells.flat, waves, None), codes)

    def _cells(self, site: Site, state: State, view: View) -> Cells | None:
        cells = self.cx.shared_views.resolve(view, self.cx.constant(state))
        if (cells.index < 0).any():
            raise Outside("a tile that reaches beyond a shared buffer")
        return cells if self._needs(site, state, cells.needs) else None

    def _needs(self, site: Site, state: State, needs: tuple[Need, ...]) -> bool:
        bounds = self.cx.registry.get("bounds", site.number)
        bounds.raise_tier("affine" if needs else "structure")
        for need in needs:
            self._out_of_bounds(site, state, need.formula, need.text)
        return all(need.formula != FALSE for need in needs)

    def _out_of_bounds(self, site: Site, state: State, inside: Formula, text: str) -> None:
        loops, span = self.cx.loops(), site.stmt.span
        bounds = self.cx.registry.get("bounds", site.number)
        self.cx.must(bounds, state, inside, "affine", lambda: Finding(
            f"the access leaves its view: {text}", span, loops, fix_class="bounds guard",
        ))  # fmt: skip


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


_WORDS = {"Reduce": "reduce(...)", "Mask": "mask(...)", "AsOperand": "as_operand(...)", "Split": "split(...)"}


def _word(node: object) -> str:
    name = type(node).__name__
    return _WORDS.get(name, name)


__all__ = ["Analysis", "Accumulator", "Obligation", "Span", "analyse", "conjunction", "walk"]
