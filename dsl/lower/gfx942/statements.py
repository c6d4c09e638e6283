"""Each statement of core form to the module that lowers it."""

from __future__ import annotations

from collections.abc import Sequence

from argus.dsl.ir import (
    AssertComplete,
    AssertMatch,
    Assign,
    Barrier,
    Binary,
    Block,
    Cast,
    Commit,
    CopyAsync,
    For,
    If,
    Load,
    MmaAcc,
    MmaInto,
    Node,
    Operand,
    Priority,
    Ref,
    SchedBarrier,
    SchedGroup,
    Select,
    Shared,
    Stmt,
    Store,
    Tagged,
    Unary,
    Wait,
)
from argus.dsl.layout import Accumulator, Linear
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import barriers, blocks, dma, epilogue, loads, loops, mma, operands, pointwise, staging, tir
from argus.dsl.lower.gfx942.context import Context
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import is_shared


def lower_statements(ctx: Context, statements: Sequence[Stmt], number: Tir) -> None:
    """Emit code for statements in order; `number` is the linear block number."""
    for s in statements:
        _statement(ctx, s, number)


def _statement(ctx: Context, s: Stmt, number: Tir) -> None:
    match s:
        case Assign():
            _assign(ctx, s, number)
        case Store():
            _store(ctx, s)
        case CopyAsync():
            dma.copy_async(ctx, s)
        case Commit():
            barriers.commit(ctx, s)
        case Wait():
            barriers.wait(ctx, s)
        case Barrier(waves=None):
            barriers.barrier(ctx)
        case MmaInto():
            mma.mma_into(ctx, s)
        case For():
            loops.loop(ctx, s, lambda body: lower_statements(ctx, body, number))
        case If():
            _if(ctx, s, number)
        case AssertMatch() | AssertComplete():
            pass  # proved or refused before; nothing is executed
        case SchedGroup():
            barriers.sched_group(ctx, s)
        case SchedBarrier() | Priority():
            barriers.policy(ctx, s)
        case _:
            raise _not_lowered(s)


def _assign(ctx: Context, s: Assign, number: Tir) -> None:
    (target, *_) = s.targets
    match s.value:
        case Shared():
            pass  # allocated a stage at a time, where first used
        case Block() as block:
            blocks.bind_indices(ctx, s.targets, block, number)
        case Load() as node:
            fragment = ctx.fragment(target, node)
            (staging if is_shared(node.view, ctx.types) else loads).load(ctx, fragment, node)
        case MmaAcc() as node:
            mma.accumulator(ctx, ctx.fragment(target, node), node)
        case Operand() as node:
            operands.operand(ctx, ctx.fragment(target, node), node)
        case Cast() | Unary() | Binary() | Select() as node:
            pointwise.pointwise(ctx, target, node)
        case Ref(name=name) | Tagged(src=Ref(name=name)) if name in ctx.types.frags:
            pointwise.copy(ctx, target, s, name)
        case node:
            raise _not_lowered(node)


def _store(ctx: Context, s: Store) -> None:
    if s.via != "direct":
        raise unsupported(s, 'gfx942 has no store via "tma"')
    if not isinstance(s.value, Ref):
        raise unsupported(s, "only fragments are stored yet")
    fragment = ctx.fragment(s.value.name, s)
    match fragment.type.map:
        case Linear():
            (staging if is_shared(s.view, ctx.types) else loads).store(ctx, fragment, s)
        case Accumulator():
            epilogue.store_accumulator(ctx, fragment, s)
        case _:
            raise unsupported(s, "operands are not stored")


def _if(ctx: Context, s: If, number: Tir) -> None:
    sides: list[list[Tir]] = []
    for statements in (s.body, s.orelse):
        barriers.ask_for_order(ctx)
        with ctx.emit.nested() as body:
            lower_statements(ctx, statements, number)
            barriers.ask_for_order(ctx)
        sides.append(body)
    otherwise = tir.sequence(sides[1]) if sides[1] else None
    ctx.emit.add(tir.branch(ctx.indices.condition(s.condition), tir.sequence(sides[0]), otherwise))


def _not_lowered(node: Node) -> Exception:
    return unsupported(node, f"{_word(node)} is not lowered for gfx942 yet")


def _word(node: Node) -> str:
    """The construct as kernels spell it, from the first line of its documentation."""
    first = (type(node).__doc__ or "").split("`")
    return f"`{first[1]}`" if len(first) > 2 else type(node).__name__.lower()
