"""Registers to swizzled shared memory: conversion in pairs, then `stmatrix`, 16 rows and 16 columns of a warp a time.

Register pair i of an accumulator holds columns 8*(i // 2) + 2*(lane % 4) and the next, of rows lane // 4 + 8*(i % 2):
four pairs are what one `stmatrix.x4` stores, and what an A operand of one k-step is. Into a transposed view each of its
four matrices is stored transposed: then the address of row j of matrix i is that of column 8*(i // 2) + j.
"""

from __future__ import annotations

from argus.dsl.ir import AsOperand, Cast, Ref, Store, Transposed
from argus.dsl.layout import ZERO, Accumulator, Linear, OperandMap
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import constant, resolve
from argus.dsl.lower.sm_90a import chunks, mma_sync
from argus.dsl.lower.sm_90a.context import Context, Registers
from argus.dsl.lower.sm_90a.expr import c_name
from argus.dsl.lower.sm_90a.mma import address
from argus.dsl.lower.sm_90a.shared import SharedView, row_bytes, shared_view
from argus.dsl.targets.atoms import ATOMS

STEP = 16  # columns of one stmatrix.x4
PAIRS = 4  # registers of one
WARPGROUP_ROWS = 64  # of an atom


def cast(ctx: Context, target: str, node: Cast) -> None:
    """`y = acc.to(bf16)`: pairs of neighbouring columns in one register."""
    src = ctx.registers.get(node.src.name) if isinstance(node.src, Ref) else None
    if src is None or src.packed or node.dtype not in ("f16", "bf16"):
        raise unsupported(node, f"this conversion to {node.dtype} is not lowered for sm_90a yet", "acc.to(bf16)")
    name, pairs = c_name(target), src.count // 2
    ctx.registers[target] = Registers(name, ctx.types.frags[target], packed=True, atoms=src.atoms, count=pairs)
    ctx.dtypes.add(node.dtype)
    ctx.out.add(f"uint32_t {name}[{src.atoms}][{pairs}];")
    ctx.out.add("#pragma unroll")
    if not _warpgroup(src):
        with ctx.out.scope(f"for (int i = 0; i < {src.atoms * pairs}; ++i)"):
            halves = f"{src.name}[i / {pairs}][i % {pairs} * 2], {src.name}[i / {pairs}][i % {pairs} * 2 + 1]"
            ctx.out.add(f"{name}[i / {pairs}][i % {pairs}] = pair_{node.dtype}({halves});")
        return
    with ctx.out.scope(f"for (int i = 0; i < {pairs}; ++i)"):
        for p in range(src.atoms):
            halves = f"{src.name}[{p}][2 * i], {src.name}[{p}][2 * i + 1]"
            ctx.out.add(f"{name}[{p}][i] = pair_{node.dtype}({halves});")


def _warpgroup(registers: Registers) -> bool:
    where = registers.type.map
    return isinstance(where, Accumulator) and ATOMS[where.atom].warpgroup


def as_operand(ctx: Context, target: str, node: AsOperand) -> None:
    """The registers of one k-step of a fragment: 16 of its columns. Nothing is moved."""
    src = ctx.registers.get(node.src.name) if isinstance(node.src, Ref) else None
    step = constant(resolve(node.ks, ctx.known))
    if src is None or not src.packed:
        raise unsupported(node, "only 16-bit values of an accumulator serve as operand", "convert: acc.to(bf16)")
    if step is None or not 0 <= PAIRS * step < src.count:
        raise unsupported(node, "the k-step is a constant inside the fragment", "loop over it with unroll(n)")
    ctx.registers[target] = Registers(
        src.name, ctx.types.frags[target], packed=True, atoms=src.atoms, count=PAIRS, first=PAIRS * step
    )


def store(ctx: Context, node: Store) -> None:
    """`store(view, y)` into rows of 64 or 128 swizzled bytes."""
    src = ctx.registers.get(node.value.name) if isinstance(node.value, Ref) else None
    view_root = node.view
    while not isinstance(view_root, Ref):
        view_root = view_root.src
    if view_root.name not in ctx.types.buffers:
        _store_direct(ctx, node, src)
        return
    if src is not None and isinstance(src.type.map, Linear):
        chunks.store(ctx, node, src, shared_view(node.view, ctx.types.buffers))
        return
    if src is None or not src.packed or not isinstance(src.type.map, Accumulator | OperandMap):
        raise unsupported(node, "only 16-bit values of an accumulator are stored yet", "convert: acc.to(bf16)")
    if isinstance(node.view, Transposed):
        _store_transposed(ctx, node, src, shared_view(node.view.src, ctx.types.buffers))
    else:
        _store(ctx, node, src, shared_view(node.view, ctx.types.buffers))


def _store(ctx: Context, node: Store, src: Registers, view: SharedView) -> None:
    _check(ctx, node, view)
    first = constant(resolve(view.columns, ctx.known))
    if first is None or first % STEP or src.count % PAIRS:
        raise unsupported(node, f"a store covers multiples of {STEP} columns, from a constant one on")
    place = _place(ctx, view)
    row = ctx.out.named("uint32_t", "matrix_row", f"(warp % 4 * 16 + lane % 16) * {row_bytes(view.buffer)}")
    for p in range(src.atoms):
        for block in range(src.count // PAIRS):
            chunk = (first + STEP * block) // 8
            column = ctx.out.named("uint32_t", "chunk", f"(({chunk} + lane / 16) ^ {_permuted(view)}) * 16")
            rows = f" + {p * 64 * row_bytes(view.buffer)}" if p else ""
            registers = f"{src.name}[{p}] + {src.first + PAIRS * block}"
            ctx.out.add(f"store_matrix({place} + {row}{rows} + {column}, {registers});")


def _store_direct(ctx: Context, node: Store, src: Registers | None) -> None:
    """Pairs of an accumulator to a tile of a tensor, as far as they lie in it."""
    if src is None or not src.packed or not isinstance(src.type.map, Accumulator):
        raise unsupported(
            node, "only 16-bit values of an accumulator are stored to tensors yet", "convert: acc.to(bf16)"
        )
    acc = src.type.map
    tile = chunks.tile_of(ctx, node.view, node)
    if ATOMS[acc.atom].warpgroup:
        row, column, down, across = "warp % 4 * 16", "0", src.atoms, acc.n // 8
    else:
        (row, column), (down, across) = mma_sync.warp_origin(ctx, acc), mma_sync.part(acc)
    r = ctx.out.named("int", "matrix_row", f"{ctx.c(tile.row)} + {row} + lane / 4")
    c = ctx.out.named("int", "matrix_column", f"{ctx.c(tile.column)} + {column} + lane % 4 * 2")
    for p in range(down):
        # A warpgroup's atom is as wide as its accumulator.
        register = f"[{p}][i]" if ATOMS[acc.atom].warpgroup else f"[{p * across} + i / 2][i % 2]"
        ctx.out.add("#pragma unroll")
        with ctx.out.scope(f"for (int i = 0; i < {2 * across}; ++i)"):
            where = f"{r} + {p * ATOMS[acc.atom].m} + i % 2 * 8, {c} + i / 2 * 8, {chunks.extents(ctx, tile.tensor)}"
            ctx.out.add(f"store_pair<{min(tile.width, 2)}>({c_name(tile.tensor.name)}, {where}, {src.name}{register});")


def _store_transposed(ctx: Context, node: Store, src: Registers, view: SharedView) -> None:
    """Columns of the accumulator become rows of `view`; the four warps' 16 rows fill its 64 columns."""
    _check(ctx, node, view)
    if src.atoms != 1 or view.columns != ZERO or view.shape[1] != WARPGROUP_ROWS or src.count % PAIRS:
        raise unsupported(node, f"a transposed store fills rows of {WARPGROUP_ROWS}, {STEP} of them a time")
    place, pitch = _place(ctx, view), row_bytes(view.buffer)
    row = ctx.out.named("uint32_t", "matrix_row", f"(lane / 16 * 8 + lane % 8) * {pitch}")
    column = ctx.out.named("uint32_t", "chunk", f"((warp % 4 * 2 + lane / 8 % 2) ^ {_permuted(view)}) * 16")
    for block in range(src.count // PAIRS):
        rows = f" + {block * STEP * pitch}" if block else ""
        ctx.out.add(
            f"store_matrix_transposed({place} + {row}{rows} + {column}, {src.name}[0] + {src.first + PAIRS * block});"
        )


def _place(ctx: Context, view: SharedView) -> str:
    return ctx.out.named("uint32_t", f"{c_name(view.name)}_at", address(ctx, view.name, view.offset))


def _permuted(view: SharedView) -> str:
    """A row's chunks are permuted by its number, b64's by that of its pair of rows."""
    return "(lane % 8)" if row_bytes(view.buffer) == 128 else "(lane % 8 / 2)"


def _check(ctx: Context, node: Store, view: SharedView) -> None:
    swizzle = view.buffer.swizzle
    if swizzle is None or swizzle.hardware not in ("b64", "b128"):
        raise unsupported(
            node, "fragments are stored to swizzled rows alone", "swizzle=b128 and 64 elements, or b64 and 32"
        )
    if ctx.facts.divisor(resolve(view.row, ctx.known)) % 8:
        raise unsupported(node, "a store starts at a multiple of 8 rows, where the swizzle repeats")
