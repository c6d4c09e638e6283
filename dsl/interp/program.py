"""A kernel at given sizes, with everything that does not depend on data or schedule worked out once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from argus.dsl.diagnostics import Code, Diagnostic, KernelError, Span
from argus.dsl.interp.expression import Compiled, compiled
from argus.dsl.interp.fragments import AccumulatorTile, OperandTile, accumulator_tile, operand_tile
from argus.dsl.interp.placement import Seat, slots_of
from argus.dsl.interp.sites import Site, Slots
from argus.dsl.interp.values import Layout
from argus.dsl.interp.views import Plan
from argus.dsl.ir.nodes import (
    Assign,
    At,
    AtomicAdd,
    Block,
    Cols,
    Coordinate,
    CopyAsync,
    Elect,
    For,
    Gather,
    If,
    Kernel,
    MBar,
    Ref,
    Role,
    Rows,
    ScalarParam,
    Shared,
    Split,
    Stmt,
    Store,
    Tagged,
    TensorParam,
    TileAt,
    Transposed,
    View,
)
from argus.dsl.ir.rewrite import walk
from argus.dsl.ir.types import infer
from argus.dsl.layout import Accumulator, Expr, OperandMap, names

LANES: Mapping[str, int] = {"gfx942": 64, "sm_90a": 32}
# Address tables are kept for every value of a view's indices; those of a long run would fill the memory.
MOST_ADDRESSES = 8_000_000


def statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """Every statement, outer before inner."""
    for stmt in body:
        yield stmt
        match stmt:
            case For(body=inner) | Role(body=inner) | Elect(body=inner):
                yield from statements(inner)
            case If(body=inner, orelse=orelse):
                yield from statements((*inner, *orelse))
            case _:
                pass


@dataclass(slots=True)
class Program:
    """What all executions of a kernel at one set of sizes share.

    Attributes:
        tensors: Shape of each tensor parameter.
        written: Tensors that some statement stores or adds to; `added`: those that are added to; `scattered`: those
            whose rows data picks for the adding, so that some may be picked by none.
        views: Views that an explicit tag gave a name.
        roles: First wave and number of waves of each role.
        asked: Tag axes whose coordinates the kernel uses as data.
        watch: Called with the wave and the statement at each assertion.
        grid: The extents of the launch grid in program order, with what gives each its value.
    """

    kernel: Kernel
    sizes: dict[str, int]
    lanes: int
    tensors: dict[str, TensorParam] = field(default_factory=dict[str, TensorParam])
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    scalars: dict[str, ScalarParam] = field(default_factory=dict[str, ScalarParam])
    buffers: dict[str, Shared] = field(default_factory=dict[str, Shared])
    mbars: dict[str, MBar] = field(default_factory=dict[str, MBar])
    written: set[str] = field(default_factory=set[str])
    added: set[str] = field(default_factory=set[str])
    scattered: set[str] = field(default_factory=set[str])
    views: dict[str, View] = field(default_factory=dict[str, View])
    roles: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    asked: set[str] = field(default_factory=set[str])
    watch: Callable[..., None] | None = None
    buffer_axes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    axis_names: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    plans: dict[int, Plan] = field(default_factory=dict[int, Plan])
    sites: dict[tuple[object, ...], Site] = field(default_factory=dict[tuple[object, ...], Site])
    addresses_kept: int = 0
    tables: dict[tuple[object, ...], Slots] = field(default_factory=dict[tuple[object, ...], Slots])
    moves: dict[tuple[object, ...], object] = field(default_factory=dict[tuple[object, ...], object])
    _exprs: dict[int, Compiled] = field(default_factory=dict[int, Compiled])
    _accumulators: dict[tuple[Accumulator, int], AccumulatorTile] = field(
        default_factory=dict[tuple[Accumulator, int], AccumulatorTile]
    )
    _operands: dict[tuple[OperandMap, int], OperandTile] = field(
        default_factory=dict[tuple[OperandMap, int], OperandTile]
    )

    def expr(self, e: Expr) -> Compiled:
        # Nodes live as long as the kernel, so their identity is a safe and cheap key.
        found = self._exprs.get(id(e))
        if found is None:
            found = self._exprs[id(e)] = compiled(e)
        return found

    def root_of(self, view: View) -> str:
        """The tensor or buffer below a view."""
        while not isinstance(view, Ref) or view.name in self.views:
            view = self.views[view.name] if isinstance(view, Ref) else view.src
        return view.name

    def slots(self, layout: Layout, seat: Seat) -> Slots:
        key = (layout, seat)
        if key not in self.tables:
            self.tables[key] = slots_of(layout, seat)
        return self.tables[key]

    def accumulator(self, acc: Accumulator, position: int) -> AccumulatorTile:
        key = (acc, position)
        if key not in self._accumulators:
            self._accumulators[key] = accumulator_tile(acc, position)
        return self._accumulators[key]

    def operand(self, operand: OperandMap, position: int) -> OperandTile:
        key = (operand, position)
        if key not in self._operands:
            self._operands[key] = operand_tile(operand, position)
        return self._operands[key]


def prepare(kernel: Kernel, sizes: Mapping[str, int]) -> Program:
    """Check the sizes and collect what a run needs.

    Raises:
        KernelError: If a size is missing, unknown or below 1, or a precondition does not hold.
    """
    program = Program(kernel, dict(sizes), LANES[kernel.target])
    _check_sizes(kernel, sizes)
    for param in kernel.params:
        if isinstance(param, TensorParam):
            program.tensors[param.name] = param
            program.shapes[param.name] = tuple(compiled(e)(sizes) for e in param.shape)
        else:
            program.scalars[param.name] = param
    next_wave = 0
    for stmt in statements(kernel.body):
        match stmt:
            case Assign(targets=(name,), value=Shared() as buffer):
                program.buffers[name] = buffer
            case Assign(targets=(name,), value=MBar() as bar):
                program.mbars[name] = bar
            case Assign(targets=(name,), value=Tagged(src=src)) if _is_view(program, src):
                program.views[name] = cast("View", src)
            case Assign(value=Coordinate(axis=axis)):
                program.asked.add(axis)
            case Role(name=name, waves=waves) if name not in program.roles:
                program.roles[name] = (next_wave, waves)
                next_wave += waves
            case _:
                pass
    for stmt in statements(kernel.body):
        match stmt:
            case Store(view=view) | CopyAsync(dst=view):
                program.written.add(program.root_of(view))
            case AtomicAdd(view=view):
                program.written.add(program.root_of(view))
                program.added.add(program.root_of(view))
                if any(isinstance(n, Gather) for n in walk(view)):
                    program.scattered.add(program.root_of(view))
            case _:
                pass
    program.written &= program.tensors.keys()
    types = infer(kernel)
    program.axis_names = {name: t.axes for name, t in types.frags.items()}
    program.buffer_axes = dict(types.buffer_axes)
    return program


def _is_view(program: Program, src: object) -> bool:
    if isinstance(src, Ref):
        return src.name in program.tensors or src.name in program.buffers or src.name in program.views
    return isinstance(src, TileAt | At | Rows | Cols | Transposed | Gather)


def _check_sizes(kernel: Kernel, sizes: Mapping[str, int]) -> None:
    wanted = size_symbols(kernel)
    if missing := [s for s in wanted if s not in sizes]:
        raise bad_size(f"no value for size {', '.join(missing)}", kernel.span)
    if unknown := sorted(sizes.keys() - set(wanted)):
        raise bad_size(f"the kernel has no size {', '.join(unknown)}", kernel.span)
    if small := [f"{s} = {sizes[s]}" for s in wanted if sizes[s] < 1]:
        raise bad_size(f"sizes are at least 1, not {', '.join(small)}", kernel.span)
    for pred in kernel.where:
        if names(pred) <= sizes.keys() and not compiled(pred)(sizes):
            values = ", ".join(f"{s} = {sizes[s]}" for s in sorted(names(pred)))
            raise bad_size(f"a precondition of {kernel.name} does not hold for {values}", kernel.span)


def size_symbols(kernel: Kernel) -> tuple[str, ...]:
    """The size symbols of the signature, in order of appearance."""
    scalars = {p.name for p in kernel.params if isinstance(p, ScalarParam)}
    found: dict[str, None] = {}
    for param in kernel.params:
        if isinstance(param, TensorParam):
            for extent in param.shape:
                found.update(dict.fromkeys(sorted(names(extent) - scalars)))
    return tuple(found)


def bad_size(message: str, span: Span) -> KernelError:
    """The diagnostic of sizes that the kernel does not admit."""
    return KernelError(Diagnostic(code=Code.BAD_SIZE, message=message, span=span))


def grid_nodes(kernel: Kernel) -> list[Block | Split | For]:
    """What contributes dimensions to the launch grid, in program order."""
    found: list[Block | Split | For] = []
    for stmt in statements(kernel.body):
        match stmt:
            case Assign(value=Block() | Split() as node):
                found.append(node)
            case For(kind="tiles"):
                found.append(stmt)
            case _:
                pass
    return found
