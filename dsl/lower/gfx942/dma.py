"""Copies from global memory straight into LDS: 4 bytes a lane, 256 consecutive bytes of LDS a wave instruction.

The LDS address is the wave's alone, so a swizzle is undone on the global side: each lane fetches the chunk that belongs
where it writes.
"""

from __future__ import annotations

from argus.dsl.ir import CopyAsync
from argus.dsl.ir.types import DTYPE_BYTES, Types
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import barriers, lds, tir
from argus.dsl.lower.gfx942 import global_memory as memory
from argus.dsl.lower.gfx942.context import WAVE, Context, wave_number
from argus.dsl.lower.gfx942.index import Indices
from argus.dsl.lower.gfx942.views import SharedView, shared_view

LANE_BYTES = 4
SEGMENT_BYTES = WAVE * LANE_BYTES  # of LDS that one wave instruction writes


def copy_async(ctx: Context, node: CopyAsync) -> None:
    """`copy_async(dst, src, via="dma")`: issued behind the operand reads that follow, ahead of the first MFMA."""
    if node.via != "dma":
        raise unsupported(node, f'gfx942 copies asynchronously via "dma" only, not "{node.via}"')
    barriers.start_reads(ctx)  # they may be of the cells copied into
    with ctx.emit.nested() as copies:
        barriers.open_group(ctx)
        _Copy(ctx, node).emit()
    ctx.region.delayed += copies


class _Copy:
    def __init__(self, ctx: Context, node: CopyAsync) -> None:
        self.ctx = ctx
        self.view, self.memory, self.rows = lds.shared(ctx, node.dst)
        _check_destination(self.view, node)
        self.tile = memory.tile(ctx, node.src)
        if self.tile.minor != 1:
            raise unsupported(node, "a tile is copied along its contiguous axis, which must be its second")
        if self.tile.bytes != self.rows.bytes:
            source, target = self.tile.view.param.dtype, self.view.buffer.dtype
            raise unsupported(node, f"{source} memory does not fit a {target} buffer")
        self.lane_elements = LANE_BYTES // self.rows.bytes
        if self.rows.swizzle is not None and self.rows.swizzle.unit % self.lane_elements:
            raise unsupported(node, f"a lane copies {self.lane_elements} elements, which this swizzle separates")
        memory.check_vector(ctx, self.tile, self.lane_elements)

    def emit(self) -> None:
        """Segments are dealt to the waves in turn; waves without one in the last turn skip it."""
        waves = self.ctx.kernel.waves
        # Asked again in each trip, so that LLVM adds it up there and does not keep a scalar register for each address.
        wave = self.ctx.emit.keep("wave", wave_number(self.ctx.thread))
        for first in range(0, segments(self.view), waves):
            with self.ctx.emit.nested() as body:
                self._segment(wave, first)
            left = segments(self.view) - first
            whole = left >= waves
            for statement in body if whole else [tir.branch(self.ctx.wave < left, tir.sequence(body))]:
                self.ctx.emit.add(statement)

    def _segment(self, wave: tir.Tir, first: int) -> None:
        """One instruction of each wave, from segment `first` on."""
        ctx, rows = self.ctx, self.rows
        segment = ctx.wave + first
        per_row = rows.columns // self.lane_elements
        place = segment * WAVE + ctx.lane
        start = self.view.starts[0]
        row = place // per_row
        column = rows.logical_column(row + start, place % per_row, self.lane_elements) * self.lane_elements
        key = ("dma", memory.identity(ctx, self.tile), rows, first, start % rows.period)
        voff = memory.hoisted_offset(ctx, self.tile, (row, column), key, None)
        voff = memory.masked(voff, memory.remaining_masks(ctx, self.tile, (row, column)))
        target = tir.address(self.memory, (wave + first) * (WAVE * self.lane_elements) + start * rows.columns)
        source, soff = memory.pointer(ctx, self.tile), memory.scalar_offset(ctx, self.tile)
        ctx.emit.call("argus_buffer_load_lds_b32", source, target, voff, soff)
        ctx.region.record("vmem")


def _check_destination(view: SharedView, node: CopyAsync) -> None:
    whole = view.shape[1] == view.buffer.shape[-1] and not view.transposed
    if not whole or view.buffer.pad:
        raise unsupported(
            node,
            "direct-to-LDS copies write 256 consecutive bytes: the destination must be whole rows without padding",
            "use a swizzle instead of pad=, and copy whole rows",
        )
    if _bytes(view) % SEGMENT_BYTES:
        raise unsupported(node, f"direct-to-LDS copies move multiples of {SEGMENT_BYTES} bytes", "use a larger tile")


def _bytes(view: SharedView) -> int:
    return view.shape[0] * view.shape[1] * DTYPE_BYTES[view.buffer.dtype]


def segments(view: SharedView) -> int:
    """Wave instructions of a copy, over all waves."""
    return _bytes(view) // SEGMENT_BYTES


def fewest_instructions(node: CopyAsync, types: Types, indices: Indices, waves: int) -> int:
    """Wave instructions of the idlest wave: what a wait may count on."""
    return segments(shared_view(node.dst, types, indices)) // waves
