"""Warpgroup MMAs: both operands in shared memory, read through descriptors.

A batch opens with a fence at its first MMA and is committed where the kernel waits. The first MMA on a fresh
accumulator overwrites it, where the text shows that there is one; else the registers are zeroed.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.dsl.ir import Assign, For, MmaAcc, MmaInto, MmaWait, Node, Operand, Ref, Stmt
from argus.dsl.ir.rewrite import walk
from argus.dsl.layout import ZERO, Accumulator, Const, Expr, Op, Var
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import constant, resolve, simplify
from argus.dsl.lower.sm_90a.context import Context, Descriptors, Registers, warpgroup_atom
from argus.dsl.lower.sm_90a.expr import c_name
from argus.dsl.lower.sm_90a.ptx import wgmma_function
from argus.dsl.lower.sm_90a.shared import SWIZZLE_BYTES, SharedView, row_bytes, shared_view

K_BYTES = 32  # sixteen 16-bit elements, one step of the atom
ROW_BYTES = 128


def accumulator(ctx: Context, target: str, node: MmaAcc, following: Sequence[Stmt]) -> None:
    """`acc = mma_acc(…)`; `following` are the statements after it in its block."""
    kind = ctx.types.frags[target]
    assert isinstance(kind.map, Accumulator)
    atom, atoms = warpgroup_atom(kind.map, node)
    name = c_name(target)
    ctx.registers[target] = Registers(name, kind, packed=False, atoms=atoms, count=atom.d_regs)
    ctx.out.add(f"float {name}[{atoms}][{atom.d_regs}];")
    ctx.holding.discard(target)
    if _multiplied_first(ctx, target, following):
        ctx.flagged.add(target)
        ctx.out.add(f"int {name}_holds = 0;  // the first MMA overwrites")
    else:
        ctx.flagged.discard(target)
        ctx.out.add(f"for (int i = 0; i < {atoms}; ++i) zero({name}[i]);")


def operand(ctx: Context, target: str, node: Operand) -> None:
    """`x = view.operand(side, acc, ks)`: nothing is moved."""
    if isinstance(node.src, Ref) and node.src.name in ctx.types.frags:
        raise unsupported(node, "operands in registers are not lowered for sm_90a yet", "read them from shared memory")
    kind = ctx.types.frags[node.acc]
    assert isinstance(kind.map, Accumulator)
    atom, _ = warpgroup_atom(kind.map, node)
    view = shared_view(node.src, ctx.types.buffers)
    rows = kind.map.m if node.side == "a" else kind.map.n
    swizzle = view.buffer.swizzle
    if swizzle is None or swizzle.hardware != "b128" or row_bytes(view.buffer) != ROW_BYTES:
        raise unsupported(node, "wgmma operands are lowered from rows of 128 bytes alone", "swizzle=b128, 64 elements")
    if view.shape[0] != rows or view.columns != ZERO:
        raise unsupported(node, f"operand {node.side} of `{node.acc}` has {rows} whole rows, the view {view.shape}")
    if ctx.facts.divisor(resolve(view.row, ctx.known)) % (SWIZZLE_BYTES // ROW_BYTES):
        raise unsupported(node, "a wgmma operand starts at a multiple of 8 rows, where the swizzle repeats")
    step = constant(resolve(node.ks, ctx.known))
    if step is None:
        raise unsupported(node, "the k-step of a wgmma operand is a constant", "loop over it with unroll(n)")
    if not 0 <= step < ROW_BYTES // K_BYTES:
        raise unsupported(node, f"k-step {step} lies outside the {ROW_BYTES // K_BYTES} of a row")
    ctx.operands[target] = Descriptors(view, step * K_BYTES)
    ctx.functions[f"mma {atom.n} {view.buffer.dtype}"] = wgmma_function(atom.n, view.buffer.dtype)


def mma_into(ctx: Context, node: MmaInto) -> None:
    """`acc += mma(a, b)`: an instruction for each 64 rows of the accumulator."""
    acc = ctx.registers[node.acc]
    a, b = (ctx.operands[x.name] if isinstance(x, Ref) else None for x in (node.a, node.b))
    if a is None or b is None or acc.packed:
        raise unsupported(node, "an MMA takes two named operands and an f32 accumulator")
    if not ctx.pending:
        ctx.out.add("wgmma_fence();")
        ctx.pending = True
    assert isinstance(acc.type.map, Accumulator)
    atom, atoms = warpgroup_atom(acc.type.map, node)
    unknown = node.acc in ctx.flagged and node.acc not in ctx.holding
    adds = f"{acc.name}_holds" if unknown else "1"
    b_text = _descriptor(ctx, b, 0)
    for p in range(atoms):
        a_text = _descriptor(ctx, a, p * atom.m * ROW_BYTES)
        ctx.out.add(f"mma_m64n{atom.n}k16_{a.view.buffer.dtype}({acc.name}[{p}], {a_text}, {b_text}, {adds});")
    if unknown:
        ctx.out.add(f"{acc.name}_holds = 1;")
        ctx.holding.add(node.acc)


def mma_wait(ctx: Context, node: MmaWait) -> None:
    """Commit the open batch and wait; with none pending the registers may be touched again."""
    if ctx.pending:
        ctx.out.add("wgmma_commit();")
        ctx.pending = False
    ctx.out.add(f"wgmma_wait<{node.pending}>();")
    if node.pending == 0:
        for acc in (r for r in ctx.registers.values() if not r.packed):
            for p in range(acc.atoms):
                ctx.out.add(f"hold({acc.name}[{p}]);")


def demand_committed(ctx: Context, node: Node) -> None:
    """Loops and branches start and end without an open batch, so that where it is committed is known.

    Raises:
        KernelError: If one is open.
    """
    if ctx.pending:
        raise unsupported(node, "a batch of MMAs is open here", "write mma_wait(n) at the end of the loop's body")


def _descriptor(ctx: Context, operand: Descriptors, extra_bytes: int) -> str:
    """A descriptor, as one of the whole tile plus a constant: the address field counts 16 bytes."""
    tile = tile_descriptor(ctx, operand.view)
    more = (operand.k_bytes + extra_bytes) // 16
    return f"{tile} + {more}" if more else tile


def tile_descriptor(ctx: Context, view: SharedView) -> str:
    """The wgmma descriptor of a whole tile, computed once."""
    name = c_name(view.name)
    return ctx.out.named("uint64_t", f"{name}_rows", f"rows_b128({address(ctx, view.name, view.offset)})")


def address(ctx: Context, name: str, offset: Expr) -> str:
    """Shared address of a byte of a buffer."""
    text = ctx.c(offset)
    return c_name(name) if text == "0" else f"{c_name(name)} + {text}"


# -------------------------------------------------------------------------------- the first MMA overwrites


def _multiplied_first(ctx: Context, acc: str, following: Sequence[Stmt]) -> bool:
    """Whether the first thing that happens to `acc`, on every path, is an MMA."""
    for s in following:
        if not _mentions(s, acc):
            continue
        match s:
            case MmaInto(acc=into):
                return into == acc
            case Assign(value=Operand()):
                continue
            case For(kind="range" | "unroll", bounds=(start, stop), body=body):
                return _runs(ctx, start, stop) and _multiplied_first(ctx, acc, body)
            case _:
                return False
    return False


def _mentions(s: Stmt, name: str) -> bool:
    return any(
        (isinstance(n, Ref) and n.name == name) or (isinstance(n, MmaInto | Operand) and n.acc == name) for n in walk(s)
    )


def _runs(ctx: Context, start: Expr, stop: Expr) -> bool:
    """Whether a loop runs at least once; sizes are at least 1."""
    if constant(resolve(start, ctx.known)) is None:
        return False
    trips = simplify(Op("-", (resolve(stop, ctx.known), resolve(start, ctx.known))))
    match trips:
        case Const(value):
            return value >= 1
        case Op("cdiv", (Var(name), Const(c))):
            return c > 0 and name in ctx.types.sizes
        case Var(name):
            return name in ctx.types.sizes
        case _:
            return False
