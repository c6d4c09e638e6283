"""The statements of one wave, one scheduling step each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace

from argus.dsl.interp.gate import Gate
from argus.dsl.interp.grid import block_indices, split_part
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.ops_collective import reduce, relayout, shuffle
from argus.dsl.interp.ops_copy import commit, copy_async, wait
from argus.dsl.interp.ops_memory import as_operand, atomic_add, load, operand, store
from argus.dsl.interp.ops_mma import mma_acc, mma_into, mma_wait
from argus.dsl.interp.ops_pointwise import binary, cast, coordinate, mask, select, tagged, unary
from argus.dsl.interp.ops_sync import arrive, await_phase, barrier, fence, shift
from argus.dsl.interp.registers import default_axes, read
from argus.dsl.interp.values import Accumulation, Frag, Register
from argus.dsl.ir.nodes import (
    Arrive,
    AsOperand,
    AssertComplete,
    AssertMatch,
    Assign,
    AtomicAdd,
    AwaitPhase,
    Barrier,
    Binary,
    Block,
    Cast,
    Commit,
    Coordinate,
    CopyAsync,
    Elect,
    Fence,
    For,
    If,
    Index,
    Load,
    Mask,
    MBar,
    MmaAcc,
    MmaInto,
    MmaWait,
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
    Wait,
)

Steps = Generator[Gate | None, None, None]


VALUES: Mapping[type, Callable[..., Register]] = {
    Ref: read, Scalar: read, Index: read, Load: load, MmaAcc: mma_acc, Operand: operand, AsOperand: as_operand,
    Cast: cast, Unary: unary, Binary: binary, Select: select, Coordinate: coordinate, Mask: mask, Relayout: relayout,
    Shuffle: shuffle, Tagged: tagged,
}  # fmt: skip
EFFECTS: Mapping[type, Callable[..., None]] = {
    Store: store, AtomicAdd: atomic_add, CopyAsync: copy_async, Commit: commit, Wait: wait, Fence: fence,
    Arrive: arrive, MmaInto: mma_into, MmaWait: mma_wait,
}  # fmt: skip
WAITS: Mapping[type, Callable[..., Generator[Gate, None, None]]] = {
    Barrier: barrier, Shift: shift, AwaitPhase: await_phase,
}  # fmt: skip
# Policies steer the instruction scheduler, assertions speak of tags: neither has an effect here.
SILENT = frozenset({SchedGroup, SchedBarrier, Priority, AssertMatch, AssertComplete})
DECLARED = frozenset({Shared, MBar})


def run_statements(w: Wave, body: Iterable[Stmt]) -> Steps:
    """Execute statements; every yield is a scheduling point, and a gate says what to wait for."""
    for stmt in body:
        kind = type(stmt)
        if kind in SILENT:
            if w.machine.program.watch is not None:
                w.machine.program.watch(w, stmt)
            continue
        match stmt:
            case For():
                yield from _loop(w, stmt)
            case If(condition=condition, body=inner, orelse=orelse):
                taken = inner if w.machine.program.expr(condition)(w.env) else orelse
                yield from run_statements(w, taken)
            case Role():
                yield from _role(w, stmt)
            case Elect():
                yield from _elect(w, stmt)
            case Assign():
                yield from _assign(w, stmt)
            case _:
                yield None
                w.span = stmt.span
                if kind in WAITS:
                    yield from WAITS[kind](w, stmt)
                else:
                    EFFECTS[kind](w, stmt)


def _assign(w: Wave, stmt: Assign) -> Steps:
    value = stmt.value
    kind = type(value)
    if kind in DECLARED or stmt.targets[0] in w.machine.program.views:
        return
    if isinstance(value, Block | Split):
        w.env.update(zip(stmt.targets, grid_values(w, value), strict=True))
        return
    yield None
    w.span = stmt.span
    result: Register
    if isinstance(value, Reduce):
        result = yield from reduce(w, value)
    elif isinstance(value, Ref) and isinstance(w.frags.get(value.name), Accumulation):
        result = w.frags[value.name]
    else:
        result = VALUES[kind](w, value)
    (target,) = stmt.targets
    w.frags[target] = _named(w, target, result)


def _named(w: Wave, target: str, value: Register) -> Register:
    """Axis names that the value's own origin does not tell (data that went through shared memory)."""
    names = w.machine.program.axis_names
    match value:
        case Frag() if len(value.axes) == len(value.layout.kept) and "" in value.axes:
            return replace(value, axes=default_axes(names, target, value.axes))
        case Accumulation() if "" in value.axes:
            rows, columns = default_axes(names, target, value.axes)
            value.axes = (rows, columns)
            return value
        case _:
            return value


def grid_values(w: Wave, node: Block | Split) -> tuple[int, ...]:
    """What `block()` or `split()` gives to this block."""
    indices = w.machine.block[id(node)]
    if isinstance(node, Block):
        return indices
    program = w.machine.program
    return split_part(program.expr(node.n)(w.env), program.expr(node.parts)(w.env), indices[0])


def _loop(w: Wave, stmt: For) -> Steps:
    program = w.machine.program
    bounds = [program.expr(b)(w.env) for b in stmt.bounds]
    if stmt.kind == "tiles":
        first, step = w.machine.block[id(stmt)]
        visits = list(block_indices(bounds, stmt.order))[first::step]
    else:
        visits = [(i,) for i in range(*bounds)]
    outer = {t: w.loops[t] for t in stmt.targets if t in w.loops}
    for ordinal, visit in enumerate(visits):
        if stmt.kind == "tiles":
            w.env[f"{stmt.targets[0]}.n"] = ordinal  # how many tiles this block has done before
        for target, value in zip(stmt.targets, visit, strict=True):
            w.env[target] = w.loops[target] = value
        yield from run_statements(w, stmt.body)
    for target in stmt.targets:
        w.loops.pop(target, None)
    w.loops.update(outer)


def _role(w: Wave, stmt: Role) -> Steps:
    first, waves = w.machine.program.roles[stmt.name]
    if not first <= w.index < first + waves:
        return
    before = (w.first, w.team, w.role)
    size = waves // stmt.groups
    group = (w.index - first) // size
    w.first, w.team, w.role = first + group * size, size, stmt.name
    if stmt.index is not None:
        w.env[stmt.index] = group
    yield from run_statements(w, stmt.body)
    w.first, w.team, w.role = before


def _elect(w: Wave, stmt: Elect) -> Steps:
    """The first lane of the team runs the body: of the role's group, where a role has groups."""
    if w.index != w.first:
        return
    before = (w.team, w.lanes)
    w.team, w.lanes = 1, 1
    yield from run_statements(w, stmt.body)
    w.team, w.lanes = before
