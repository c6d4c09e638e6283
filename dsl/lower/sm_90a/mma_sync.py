"""mma.sync: a warp multiplies from registers, which `ldmatrix` reads from shared rows.

An accumulator is an array of atoms, row by row of the warp's part; an A operand has four registers an atom, a B operand
four for two neighbouring atoms. One `ldmatrix.x4` reads four 8x8 matrices, the rows of matrix i from the addresses of
lanes 8i to 8i + 7: of A, rows 0-7 and 8-15 at the first eight k, then at the others; of B, both halves of k of
the first eight columns, then of the next.
"""

from __future__ import annotations

from argus.dsl.ir import MmaAcc, MmaInto, Operand, Ref
from argus.dsl.ir.shapes import base
from argus.dsl.layout import Accumulator, OperandMap
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import constant, resolve
from argus.dsl.lower.sm_90a.chunks import demand_hardware, permuted
from argus.dsl.lower.sm_90a.context import Context, Registers
from argus.dsl.lower.sm_90a.expr import c_name
from argus.dsl.lower.sm_90a.mma import address
from argus.dsl.lower.sm_90a.ptx import mma_sync_function
from argus.dsl.lower.sm_90a.shared import row_bytes, shared_view

M, N, K = 16, 8, 16
CHUNK = 8  # elements of 16 bytes
QUAD = 4  # registers of one ldmatrix


def part(acc: Accumulator) -> tuple[int, int]:
    """Atoms of a warp's part, along rows and along columns."""
    return acc.m // acc.grid[0] // M, acc.n // acc.grid[1] // N


def accumulator(ctx: Context, target: str, node: MmaAcc) -> None:
    """`acc = mma_acc("m16n8k16", …)`: zeros."""
    kind = ctx.types.frags[target]
    assert isinstance(kind.map, Accumulator)
    down, across = part(kind.map)
    if across % 2:
        raise unsupported(node, f"a warp takes a multiple of {2 * N} columns here", f"{kind.map.n} are split in grid=")
    name, atoms = c_name(target), down * across
    ctx.registers[target] = Registers(name, kind, packed=False, atoms=atoms, count=QUAD)
    ctx.out.array("float", name, atoms, QUAD)
    ctx.out.add("#pragma unroll")
    ctx.out.add(f"for (int i = 0; i < {atoms}; ++i) zero({name}[i]);")


def warp_origin(ctx: Context, acc: Accumulator) -> tuple[str, str]:
    """Row and column of the tile where this warp's part starts."""
    gm, gn = acc.grid
    position = "warp" if ctx.program.group == ctx.kernel.waves else f"((warp - {ctx.program.first}) % {gm * gn})"
    row = f"{position} / {gn} * {acc.m // gm}" if gm > 1 else "0"
    column = f"{position} % {gn} * {acc.n // gn}" if gn > 1 else "0"
    return row, column


def operand(ctx: Context, target: str, node: Operand) -> None:
    """`a = view.operand("a", acc, ks)`, of rows of a shared view."""
    kind = ctx.types.frags[target]
    assert isinstance(kind.map, OperandMap)
    if isinstance(node.src, Ref) and node.src.name in ctx.types.frags:
        raise unsupported(
            node, "operands from registers are not lowered for sm_90a yet", "read them from shared memory"
        )
    if base(node.src).name not in ctx.types.buffers:
        raise unsupported(node, "operands from global memory are not lowered for sm_90a yet", "stage them in shared")
    view = shared_view(node.src, ctx.types.buffers)
    demand_hardware(ctx, node, view)
    first, step = constant(resolve(view.columns, ctx.known)), constant(resolve(node.ks, ctx.known))
    if first is None or first % CHUNK or step is None:
        raise unsupported(
            node, "the k-step of an operand is a constant, and its columns start at one of 8", "unroll(n)"
        )
    down, across = part(kind.map.acc)
    row, column = warp_origin(ctx, kind.map.acc)
    # Matrices of A alternate along rows first, those of B along k.
    origin, inner, half = (row, "lane % 16", "lane / 16")
    count, rows = down, M
    if node.side == "b":
        origin, inner, half = (column, "(lane / 16 * 8 + lane % 8)", "lane / 8 % 2")
        count, rows = across // 2, 2 * N
    pitch, chunk = row_bytes(view.buffer), (first + K * step) // CHUNK
    at = ctx.out.named("uint32_t", f"{node.side}_row", f"({origin} + {inner}) * {pitch}")
    moved = permuted(view, "lane % 8")
    place = f"({chunk} + {half})" if not moved else f"(({chunk} + {half}) ^ {moved})"
    k = ctx.out.named("uint32_t", f"{node.side}_chunk", f"{place} * 16")
    name = c_name(target)
    ctx.registers[target] = Registers(name, kind, packed=True, atoms=count, count=QUAD)
    ctx.out.array("uint32_t", name, count, QUAD)
    start = ctx.out.named("uint32_t", f"{c_name(view.name)}_at", address(ctx, view.name, view.offset))
    ctx.out.add("#pragma unroll")
    with ctx.out.scope(f"for (int i = 0; i < {count}; ++i)"):
        ctx.out.add(f"load_matrices({name}[i], {start} + {at} + i * {rows * pitch} + {k});")
    ctx.functions[f"mma.sync {view.buffer.dtype}"] = mma_sync_function(view.buffer.dtype)


def mma_into(ctx: Context, node: MmaInto) -> None:
    """`acc += mma(a, b)`: an instruction an atom."""
    acc = ctx.registers[node.acc]
    a, b = (ctx.registers.get(x.name) if isinstance(x, Ref) else None for x in (node.a, node.b))
    if a is None or b is None or acc.packed:
        raise unsupported(node, "an MMA takes two named operands and an f32 accumulator")
    assert isinstance(acc.type.map, Accumulator)
    down, across = part(acc.type.map)
    ctx.out.add("#pragma unroll")
    with ctx.out.scope(f"for (int i = 0; i < {down}; ++i)"):
        ctx.out.add("#pragma unroll")
        with ctx.out.scope(f"for (int j = 0; j < {across}; ++j)"):
            d = f"{acc.name}[i * {across} + j]"
            ctx.out.add(f"mma_m16n8k16_{a.type.dtype}({d}, {a.name}[i], {b.name}[j / 2] + j % 2 * 2);")
