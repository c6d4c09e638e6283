"""Tiles between global memory and registers, under `Linear` maps."""

from __future__ import annotations

from argus.dsl.ir import Load, Store
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import global_memory as memory
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.chunks import Chunk, chunks_of
from argus.dsl.lower.gfx942.context import REGISTER_DTYPES, Context, Fragment
from argus.dsl.lower.gfx942.tir import Tir

MOST_BYTES = 16  # of one lane in one instruction


def load(ctx: Context, fragment: Fragment, node: Load) -> None:
    """Fill a fragment from a view of a tensor."""
    move = _Move(ctx, fragment, node)
    dtype = tir.vector(REGISTER_DTYPES[fragment.type.dtype], move.lanes)
    for slot, voff in move.pieces():
        value = memory.read(ctx, move.tile, (voff, memory.scalar_offset(ctx, move.tile)), move.size, dtype)
        ctx.emit.add(fragment.store(value, slot, move.lanes))
        ctx.region.record("vmem")


def store(ctx: Context, fragment: Fragment, node: Store) -> None:
    """Write a fragment to a view of a tensor."""
    move = _Move(ctx, fragment, node)
    for slot, voff in move.pieces():
        value = fragment.load(slot, move.lanes)
        memory.write(ctx, move.tile, value, (voff, memory.scalar_offset(ctx, move.tile)), move.size)


class _Move:
    """A tile cut into what one lane moves at a time.

    Attributes:
        size: Bytes of one lane in one instruction; `lanes` elements.
    """

    def __init__(self, ctx: Context, fragment: Fragment, node: Load | Store) -> None:
        self.ctx = ctx
        self.tile = memory.tile(ctx, node.view)
        self.chunks = chunks_of(fragment, ctx.threads, node)
        if self.tile.minor != 1:
            raise unsupported(node, "a tile is moved along its contiguous axis, which must be its second")
        total = self.chunks.vector * self.tile.bytes
        self.size = min(total, MOST_BYTES)
        if self.size not in memory.BUFFER_TYPES or total % self.size:
            raise unsupported(
                node, f"a lane moves 4, 8 or 16 bytes at a time, not {total}", "use another map=linear(v)"
            )
        self.lanes = self.size // self.tile.bytes
        memory.check_vector(ctx, self.tile, self.chunks.vector)

    def pieces(self) -> list[tuple[int, Tir]]:
        """The first slot and `voff` of each instruction."""
        vector = self.chunks.vector
        return [
            (chunk.turn * vector + shift, self._voff(chunk, shift))
            for chunk in self.chunks.of(self.ctx.thread)
            for shift in range(0, vector, self.lanes)
        ]

    def _voff(self, chunk: Chunk, shift: int) -> Tir:
        """Threads without this chunk touch nothing, so that no branch is needed."""
        ctx, chunks = self.ctx, self.chunks
        at = (chunk.row, chunk.column * chunks.vector + shift)
        exists = chunks.exists(chunk.turn, ctx.thread, ctx.wave)
        key = (memory.identity(ctx, self.tile), chunks, chunk.turn, shift)
        voff = memory.hoisted_offset(ctx, self.tile, at, key, exists)
        return memory.masked(voff, memory.remaining_masks(ctx, self.tile, at))
