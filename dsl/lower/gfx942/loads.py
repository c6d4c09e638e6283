"""Tiles between global memory, registers and LDS, under `Linear` maps."""

from __future__ import annotations

from argus.dsl.ir import Load, Store
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Linear
from argus.dsl.lower.gfx942 import global_memory as memory
from argus.dsl.lower.gfx942 import barriers, lds, tir
from argus.dsl.lower.gfx942.chunks import Chunk, Chunks
from argus.dsl.lower.gfx942.context import REGISTER_DTYPES, Context, Fragment
from argus.dsl.lower.gfx942.errors import unsupported
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import is_shared


def load(ctx: Context, target: str, node: Load) -> None:
    """`target = load(view, map=linear(v))`."""
    fragment = ctx.fragment(target, node)
    if is_shared(node.view, ctx.types):
        _from_shared(ctx, fragment, node)
    else:
        _from_global(ctx, fragment, node)


def store(ctx: Context, node: Store, fragment: Fragment) -> None:
    """`store(view, x)` of a fragment that a `Linear` map places."""
    barriers.start_copies(ctx)
    if is_shared(node.view, ctx.types):
        _to_shared(ctx, fragment, node)
    else:
        _to_global(ctx, fragment, node)


def turns(kind: Linear, shape: tuple[int, ...], threads: int) -> int:
    return Chunks(shape[0], shape[1], kind.vector, threads).turns


def pieces(vector: int, size: int) -> tuple[int, int]:
    """How many memory instructions one chunk takes, and the bytes of each: 16 at most."""
    total = vector * size
    return (1, total) if total <= 16 else (total // 16, 16)


def chunks_of(ctx: Context, fragment: Fragment, node: Load | Store) -> Chunks:
    kind, shape = fragment.type.map, fragment.type.shape
    assert isinstance(kind, Linear)
    if len(shape) != 2:
        raise unsupported(node, f"a fragment of {len(shape)} axes is not lowered yet", "use a tile of two axes")
    if shape[1] % kind.vector:
        raise unsupported(node, f"chunks of {kind.vector} elements do not tile rows of {shape[1]}")
    return Chunks(shape[0], shape[1], kind.vector, ctx.threads)


# ---------------------------------------------------------------------------------------------- global


def _from_global(ctx: Context, fragment: Fragment, node: Load) -> None:
    tile, chunks = _global_tile(ctx, fragment, node)
    count, size = pieces(chunks.vector, tile.bytes)
    lanes = size // tile.bytes
    for chunk in chunks.of(ctx.thread):
        for piece in range(count):
            voff = _address(ctx, tile, chunks, chunk, piece * lanes)
            value = memory.read(ctx, tile, voff, size, tir.vector(REGISTER_DTYPES[fragment.type.dtype], lanes))
            slot = chunk.turn * chunks.vector + piece * lanes
            ctx.emit.add(tir.store(fragment.registers, value, slot, lanes))
            ctx.region.record("vmem")


def _to_global(ctx: Context, fragment: Fragment, node: Store) -> None:
    tile, chunks = _global_tile(ctx, fragment, node)
    count, size = pieces(chunks.vector, tile.bytes)
    lanes = size // tile.bytes
    for chunk in chunks.of(ctx.thread):
        for piece in range(count):
            voff = _address(ctx, tile, chunks, chunk, piece * lanes)
            value = tir.load(fragment.registers, chunk.turn * chunks.vector + piece * lanes, lanes)
            memory.write(ctx, tile, value, voff, memory.scalar_offset(ctx, tile), size)


def _global_tile(ctx: Context, fragment: Fragment, node: Load | Store) -> tuple[memory.Tile, Chunks]:
    tile, chunks = memory.tile(ctx, node.view), chunks_of(ctx, fragment, node)
    if tile.minor != 1:
        raise unsupported(node, "a tile is moved along its contiguous axis, which must be its second")
    total = chunks.vector * tile.bytes
    if total not in memory.BUFFER_TYPES and total % 16:
        raise unsupported(node, f"a lane moves 4, 8 or 16 bytes at a time, not {total}", "use another map=linear(v)")
    memory.check_vector(ctx, tile, chunks.vector)
    return tile, chunks


def _address(ctx: Context, tile: memory.Tile, chunks: Chunks, chunk: Chunk, shift: int) -> Tir:
    """`voff` of a piece of a chunk; threads without this chunk touch nothing, so that no branch is needed."""
    at = (chunk.row, chunk.column * chunks.vector + shift)
    exists = chunks.exists(chunk.turn, ctx.thread, ctx.wave)
    key = (memory.identity(ctx, tile), chunks, chunk.turn, shift)
    voff = memory.hoisted_offset(ctx, tile, at, key, exists)
    return memory.masked(voff, memory.remaining_masks(ctx, tile, at))


# ---------------------------------------------------------------------------------------------- shared


def _from_shared(ctx: Context, fragment: Fragment, node: Load) -> None:
    target, chunks, rows, vector, starts = _shared_tile(ctx, fragment, node)
    for chunk in chunks.of(ctx.thread):
        for piece in range(chunks.vector // vector):
            at = _cell(ctx, chunks, rows, vector, chunk, piece, starts)
            slot = chunk.turn * chunks.vector + piece * vector
            value = tir.load(target, at.index(vector), vector)
            _guarded(ctx, chunks, chunk, tir.store(fragment.registers, value, slot, vector))


def _to_shared(ctx: Context, fragment: Fragment, node: Store) -> None:
    target, chunks, rows, vector, starts = _shared_tile(ctx, fragment, node)
    for chunk in chunks.of(ctx.thread):
        for piece in range(chunks.vector // vector):
            at = _cell(ctx, chunks, rows, vector, chunk, piece, starts)
            value = tir.load(fragment.registers, chunk.turn * chunks.vector + piece * vector, vector)
            _guarded(ctx, chunks, chunk, tir.store(target, value, at.index(vector), vector))
            ctx.region.record("ds_write")


def _shared_tile(
    ctx: Context, fragment: Fragment, node: Load | Store
) -> tuple[Tir, Chunks, lds.Rows, int, tuple[int, int]]:
    view, target, rows = lds.shared(ctx, node.view)
    if view.transposed:
        raise unsupported(node, "a transposed shared view is not moved as a tile yet")
    if DTYPE_BYTES[view.buffer.dtype] != DTYPE_BYTES[fragment.type.dtype]:
        raise unsupported(node, f"{fragment.type.dtype} registers do not fit {view.buffer.dtype} memory")
    chunks = chunks_of(ctx, fragment, node)
    vector = rows.vector(chunks.vector)
    while view.starts[1] % vector:
        vector //= 2
    return target, chunks, rows, vector, view.starts


def _cell(
    ctx: Context, chunks: Chunks, rows: lds.Rows, vector: int, chunk: Chunk, piece: int, starts: tuple[int, int]
) -> lds.Cell:
    per_chunk = chunks.vector // vector
    anchor = list(chunks.of(ctx.thread))[chunk.anchor]
    row = (anchor.row, chunk.row_step + starts[0])
    column = (anchor.column * per_chunk, piece + starts[1] // vector)
    return lds.cell(ctx, rows, vector, row, column, ("linear", chunks, chunk.anchor), "lds_at")


def _guarded(ctx: Context, chunks: Chunks, chunk: Chunk, statement: Tir) -> None:
    exists = chunks.exists(chunk.turn, ctx.thread, ctx.wave)
    ctx.emit.add(statement if exists is None else tir.branch(exists, statement))
