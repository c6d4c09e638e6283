"""Each statement of core form to the module that prints it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from argus.dsl.ir import (
    Arrive,
    AsOperand,
    AssertComplete,
    AssertMatch,
    Assign,
    AwaitPhase,
    Barrier,
    Block,
    Cast,
    Commit,
    CopyAsync,
    Elect,
    Fence,
    For,
    If,
    Load,
    MmaAcc,
    MmaInto,
    MmaWait,
    Node,
    Operand,
    Ref,
    Stmt,
    Store,
    Wait,
)
from argus.dsl.layout import Accumulator, Const, Expr, Op, Var
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import constant, resolve
from argus.dsl.lower.sm_90a import chunks, copies, epilogue, mma, mma_sync
from argus.dsl.lower.sm_90a.context import LANES, Context
from argus.dsl.lower.sm_90a.expr import c_name
from argus.dsl.targets.atoms import ATOMS


def lower_statements(ctx: Context, body: Sequence[Stmt]) -> None:
    """Print statements in order.

    Raises:
        KernelError: For what is not on this path; the caret shows where.
    """
    at = 0
    while at < len(body):
        s = body[at]
        ctx.out.at(s.span)
        if copies.is_load(ctx, s):
            at = _loads(ctx, body, at)
            continue
        at += 1
        _statement(ctx, s, body[at:])


def _loads(ctx: Context, body: Sequence[Stmt], at: int) -> int:
    """A run of loads and the arrival that counts their bytes; the place after it."""
    run: list[CopyAsync] = []
    while at < len(body) and copies.is_load(ctx, body[at]):
        s = body[at]
        assert isinstance(s, CopyAsync)
        run.append(s)
        at += 1
    end = body[at] if at < len(body) else None
    if not isinstance(end, Arrive) or end.bytes is None:
        message = "TMA loads are lowered where an arrival counts their bytes right after them"
        raise unsupported(run[-1], message, "arrive(bar, bytes=…)")
    copies.loads(ctx, run, end)
    return at + 1


def _statement(ctx: Context, s: Stmt, following: Sequence[Stmt]) -> None:
    match s:
        case Assign():
            _assign(ctx, s, following)
        case For():
            mma.demand_committed(ctx, s) if s.kind != "unroll" else None
            _loop(ctx, s)
        case If():
            _if(ctx, s)
        case Elect():
            _elect(ctx, s)
        case CopyAsync(via="cp"):
            chunks.copy(ctx, s)
        case CopyAsync():
            copies.store(ctx, s)
        case Commit():
            ctx.out.add("copy_commit();" if ctx.groups == "cp" else "bulk_commit();")
        case Wait():
            # Each thread waits for its own groups; who never committed one waits for nothing.
            ctx.out.add(f"copy_wait<{s.pending}>();" if ctx.groups == "cp" else f"bulk_wait_read<{s.pending}>();")
        case Barrier():
            _barrier(ctx, s)
        case Fence():
            ctx.out.add("fence_async();")
        case Arrive(bytes=None):
            copies.arrive(ctx, s)
        case AwaitPhase():
            copies.await_phase(ctx, s)
        case MmaInto(acc=acc):
            (mma if _warpgroup(ctx, acc) else mma_sync).mma_into(ctx, s)
        case MmaWait():
            mma.mma_wait(ctx, s)
        case Store(via="direct"):
            epilogue.store(ctx, s)
        case AssertMatch() | AssertComplete():
            pass  # of tags: nothing is executed
        case _:
            raise _not_lowered(s)


def _assign(ctx: Context, s: Assign, following: Sequence[Stmt]) -> None:
    (target, *_) = s.targets
    match s.value:
        case MmaAcc(atom=atom) as node if ATOMS[atom].warpgroup:
            mma.accumulator(ctx, target, node, following)
        case MmaAcc() as node:
            mma_sync.accumulator(ctx, target, node)
        case Operand(acc=acc) as node:
            (mma if _warpgroup(ctx, acc) else mma_sync).operand(ctx, target, node)
        case Load() as node:
            chunks.load(ctx, target, node)
        case Cast() as node:
            epilogue.cast(ctx, target, node)
        case AsOperand() as node:
            epilogue.as_operand(ctx, target, node)
        case Block() as node:
            _tile_indices(ctx, node, s.targets, "blockIdx.x")
        case Ref(name=name) if name in ctx.registers:
            raise unsupported(s, "a copy of registers is not lowered for sm_90a yet", f"use `{name}` itself")
        case node:
            raise _not_lowered(node)


# -------------------------------------------------------------------------------------------- control flow


def _loop(ctx: Context, s: For) -> None:
    match s.kind:
        case "unroll":
            stop = constant(resolve(s.bounds[1], ctx.known))
            if stop is None:
                raise unsupported(s, "an unrolled loop runs a constant number of times")
            for i in range(stop):
                with ctx.knowing(s.targets[0], Const(i)):
                    lower_statements(ctx, s.body)
        case "range":
            i, (start, stop) = c_name(s.targets[0]), s.bounds
            ctx.out.add("#pragma unroll 1")
            ctx.holding.clear()  # the first trip comes from above, the others from below
            with ctx.out.scope(f"for (int {i} = {ctx.c(start)}; {i} < {ctx.c(stop)}; ++{i})"):
                lower_statements(ctx, s.body)
                mma.demand_committed(ctx, s)
            ctx.holding.clear()
        case "tiles":
            _tiles(ctx, s)


def _tiles(ctx: Context, s: For) -> None:
    """A persistent grid: tile t goes to block t mod the number of blocks."""
    total = " * ".join(ctx.c(n, factor=True) for n in s.bounds)
    ordinal = c_name(f"{s.targets[0]}.n")
    ctx.out.add(f"int {ordinal} = 0;  // tiles done before")
    ctx.out.add("#pragma unroll 1")
    with ctx.out.scope(f"for (int tile = blockIdx.x; tile < {total}; tile += gridDim.x, ++{ordinal})"):
        _tile_indices(ctx, s, s.targets, "tile")
        lower_statements(ctx, s.body)
        mma.demand_committed(ctx, s)


def _tile_indices(ctx: Context, node: Block | For, targets: Sequence[str], number: str) -> None:
    """Indices of a tile by its number, in the order of `block_indices`."""
    counts, order = node.counts if isinstance(node, Block) else node.bounds, node.order
    match = re.fullmatch(r"(\w+)(?:\((\d+)\))?", order)
    name, size = (match[1], int(match[2] or 0)) if match else (order, 0)
    names = [c_name(t) for t in targets]
    ctx.out.add(f"const int place = {number};")
    match name:
        case "rows":
            _mixed_radix(ctx, names, counts)
        case "columns":
            _mixed_radix(ctx, names[::-1], counts[::-1])
        case "group_m" if len(names) == 2 and size > 0:
            rows, columns = (ctx.c(n, factor=True) for n in counts)
            (m, n), height = names, f"{size} * {columns}"
            ctx.out.add(f"const int group = quo(place, {height});  // of {size} rows of tiles, walked down each column")
            ctx.out.add(f"const int group_rows = min({rows} - group * {size}, {size});")
            ctx.out.add(f"const int {m} = group * {size} + rem(rem(place, {height}), group_rows);")
            ctx.out.add(f"const int {n} = quo(rem(place, {height}), group_rows);")
        case _:
            raise unsupported(node, f"the order {order} is not lowered for sm_90a yet", "rows, columns or group_m(G)")


def _mixed_radix(ctx: Context, names: Sequence[str], counts: Sequence[Expr]) -> None:
    """The last index runs fastest."""
    rest = "place"
    for name, count in list(zip(names, counts, strict=True))[:0:-1]:
        ctx.out.add(f"const int {name} = rem({rest}, {ctx.c(count)});")
        rest = f"quo({rest}, {ctx.c(count)})"
    ctx.out.add(f"const int {names[0]} = {rest};")


def _if(ctx: Context, s: If) -> None:
    mma.demand_committed(ctx, s)
    holds = _decided(ctx, s.condition)
    if holds is not None:
        lower_statements(ctx, s.body if holds else s.orelse)
        return
    with ctx.out.scope(f"if ({ctx.c(s.condition)})"):
        lower_statements(ctx, s.body)
        mma.demand_committed(ctx, s)
    if s.orelse:
        with ctx.out.scope("else"):
            lower_statements(ctx, s.orelse)
            mma.demand_committed(ctx, s)


def _decided(ctx: Context, condition: Expr) -> bool | None:
    """A condition whose value the text shows, given that sizes are at least 1."""
    match resolve(condition, ctx.known):
        case Op(">=", (Op("cdiv", (Var(name), Const(c))), Const(least))) if name in ctx.types.sizes and c > 0:
            return True if least <= 1 else None
        case Const(value):
            return value != 0
        case _:
            return None


def _elect(ctx: Context, s: Elect) -> None:
    """The first lane of the waves that execute this together."""
    p = ctx.program
    threads, first = p.group * LANES, p.first * LANES
    whole = p.group == p.waves and p.waves == ctx.kernel.waves
    if whole or (p.group == p.waves and first == 0):
        chosen = "threadIdx.x == 0"
    elif p.group == p.waves:
        chosen = f"threadIdx.x == {first}"
    else:
        number = "threadIdx.x" if first % threads == 0 else f"(threadIdx.x - {first})"
        chosen = f"{number} % {threads} == 0"
    with ctx.out.scope(f"if ({chosen})"):
        ctx.elected = True
        lower_statements(ctx, s.body)
        ctx.elected = False


def _barrier(ctx: Context, s: Barrier) -> None:
    p = ctx.program
    waves = ctx.kernel.waves if s.waves is None else s.waves
    if waves == ctx.kernel.waves:
        if p.role is not None and p.waves != ctx.kernel.waves:
            raise unsupported(s, "a barrier of all waves inside a kernel with roles is not lowered yet", "waves=")
        ctx.out.add("block_barrier();")
        return
    if waves > p.waves and waves in ctx.across:
        ctx.out.add(f"named_barrier({ctx.across[waves]}, {waves * LANES});")
        return
    if waves not in (p.waves, p.group):
        raise unsupported(s, f"a barrier of {waves} waves among the {p.group} that run this", f"waves={p.group}")
    whole = waves == p.waves
    number = ctx.barriers[p.number, whole]
    group = "" if whole or p.role is None or p.role.index is None else f" + {c_name(p.role.index)}"
    if not whole and not group:
        raise unsupported(s, "a barrier of a group needs the group's index", "with role(…, groups=2) as g")
    ctx.out.add(f"named_barrier({number}{group}, {waves * LANES});")


def _warpgroup(ctx: Context, acc: str) -> bool:
    where = ctx.types.frags[acc].map
    return isinstance(where, Accumulator) and ATOMS[where.atom].warpgroup


def _not_lowered(node: Node) -> Exception:
    first = (type(node).__doc__ or "").split("`")
    word = f"`{first[1]}`" if len(first) > 2 else type(node).__name__.lower()
    return unsupported(node, f"{word} is not lowered for sm_90a yet")
