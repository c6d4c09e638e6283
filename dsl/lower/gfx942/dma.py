"""Copies from global memory straight into LDS: 4 bytes a lane, 256 consecutive bytes of LDS a wave instruction.

The LDS address is the wave's alone, so a swizzle is undone on the global side: each lane fetches the chunk that belongs
where it writes.
"""

from __future__ import annotations

from argus.dsl.ir import CopyAsync
from argus.dsl.ir.types import DTYPE_BYTES, Types
from argus.dsl.lower.gfx942 import barriers, lds, tir
from argus.dsl.lower.gfx942 import global_memory as memory
from argus.dsl.lower.gfx942.context import WAVE, Context
from argus.dsl.lower.gfx942.errors import unsupported
from argus.dsl.lower.gfx942.index import Indices
from argus.dsl.lower.gfx942.views import SharedView, shared_view

LANE_BYTES = 4


def copy_async(ctx: Context, node: CopyAsync) -> None:
    """`copy_async(dst, src, via="dma")`."""
    if node.via != "dma":
        raise unsupported(node, f'gfx942 copies asynchronously via "dma" only, not "{node.via}"')
    target, rows = lds.shared(ctx, node.dst)[1:]
    view = _whole_rows(ctx, node)
    tile = memory.tile(ctx, node.src)
    if tile.minor != 1:
        raise unsupported(node, "a tile is copied along its contiguous axis, which must be its second")
    if tile.bytes != rows.bytes:
        raise unsupported(node, f"{tile.view.param.dtype} memory does not fit a {view.buffer.dtype} buffer")
    lane_elements = LANE_BYTES // rows.bytes
    memory.check_vector(ctx, tile, lane_elements)
    if rows.swizzle is not None and rows.swizzle.unit % lane_elements:
        raise unsupported(node, f"a lane copies {lane_elements} elements, which a swizzle of single ones separates")
    with ctx.emit.nested() as copies:
        barriers.open_group(ctx)
        turns = instructions(view, ctx.kernel.waves)
        for turn in range(turns):
            segment = ctx.wave + turn * ctx.kernel.waves
            first = view.starts[0] * rows.columns
            with ctx.emit.nested() as body:
                _segment(ctx, node, tile, rows, target, turn, segment, first)
            left = segments(view) - turn * ctx.kernel.waves
            whole = left >= ctx.kernel.waves
            for statement in body if whole else [tir.branch(ctx.wave < left, tir.sequence(body))]:
                ctx.emit.add(statement)
    ctx.region.delayed += copies


def _segment(
    ctx: Context,
    node: CopyAsync,
    tile: memory.Tile,
    rows: lds.Rows,
    target: tir.Tir,
    turn: int,
    segment: tir.Tir,
    first: int,
) -> None:
    """One wave instruction: `segment` is its number among those of the tile."""
    lane_elements = LANE_BYTES // rows.bytes
    per_row = rows.columns // lane_elements
    place = segment * WAVE + ctx.lane
    row = place // per_row
    start = first // rows.columns
    column = rows.logical_column(row + start, place % per_row, lane_elements) * lane_elements
    key = ("dma", memory.identity(ctx, tile), rows, turn, start % rows.period)
    voff = memory.hoisted_offset(ctx, tile, (row, column), key, None)
    voff = memory.masked(voff, memory.remaining_masks(ctx, tile, (row, column)))
    lds_at = tir.address(target, segment * (WAVE * lane_elements) + first)
    ctx.region.record("vmem")
    ctx.emit.call("argus_buffer_load_lds_b32", memory.pointer(ctx, tile), lds_at, voff, memory.scalar_offset(ctx, tile))


def _whole_rows(ctx: Context, node: CopyAsync) -> SharedView:
    view = shared_view(node.dst, ctx.types, ctx.indices)
    whole = view.shape[1] == view.buffer.shape[-1] and not view.transposed
    if not whole or view.buffer.pad:
        raise unsupported(
            node,
            "direct-to-LDS copies write 256 consecutive bytes: the destination must be whole rows without padding",
            "use a swizzle instead of pad=, and copy whole rows",
        )
    if view.shape[0] * view.shape[1] * DTYPE_BYTES[view.buffer.dtype] % (WAVE * LANE_BYTES):
        raise unsupported(node, "direct-to-LDS copies move multiples of 256 bytes", "use a larger tile")
    return view


def segments(view: SharedView) -> int:
    """Wave instructions of a copy, over all waves."""
    return view.shape[0] * view.shape[1] * DTYPE_BYTES[view.buffer.dtype] // (WAVE * LANE_BYTES)


def instructions(view: SharedView, waves: int) -> int:
    """Wave instructions of the busiest wave."""
    return -(-segments(view) // waves)


def fewest_instructions(node: CopyAsync, types: Types, indices: Indices, waves: int) -> int:
    """Wave instructions of the idlest wave: what a wait may count on."""
    return segments(shared_view(node.dst, types, indices)) // waves
