"""Tiles between registers and LDS, under `Linear` maps."""

from __future__ import annotations

from argus.dsl.ir import Load, Store
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import barriers, lds, tir
from argus.dsl.lower.gfx942.chunks import Chunk, chunks_of
from argus.dsl.lower.gfx942.context import Context, Fragment
from argus.dsl.lower.gfx942.tir import Tir


def load(ctx: Context, fragment: Fragment, node: Load) -> None:
    """Fill a fragment from a shared view."""
    barriers.start_copies(ctx)
    move = _Move(ctx, fragment, node)
    for chunk, slot, index in move.pieces():
        value = tir.load(move.memory, index, move.vector)
        move.emit(chunk, fragment.store(value, slot, move.vector))


def store(ctx: Context, fragment: Fragment, node: Store) -> None:
    """Write a fragment to a shared view."""
    barriers.start_copies(ctx)
    barriers.start_reads(ctx)  # they may be of the cells written here
    move = _Move(ctx, fragment, node)
    for chunk, slot, index in move.pieces():
        value = fragment.load(slot, move.vector)
        move.emit(chunk, tir.store(move.memory, value, index, move.vector))
        ctx.region.record("ds_write")


class _Move:
    """A tile cut into what one lane moves at a time.

    Attributes:
        vector: Elements that stay together: a chunk's, less where swizzle, padding or transposition separate them.
    """

    def __init__(self, ctx: Context, fragment: Fragment, node: Load | Store) -> None:
        self.ctx = ctx
        self.view, self.memory, self.rows = lds.shared(ctx, node.view)
        if DTYPE_BYTES[self.view.buffer.dtype] != DTYPE_BYTES[fragment.type.dtype]:
            raise unsupported(node, f"{fragment.type.dtype} registers do not fit {self.view.buffer.dtype} memory")
        self.chunks = chunks_of(fragment, ctx.threads, node)
        self.vector = 1 if self.view.transposed else self.rows.vector(self.chunks.vector, self.view.starts[1])

    def pieces(self) -> list[tuple[Chunk, int, Tir]]:
        """The chunk, the first slot and the index in LDS of each instruction."""
        found: list[tuple[Chunk, int, Tir]] = []
        chunks = list(self.chunks.of(self.ctx.thread))
        for chunk in chunks:
            for piece in range(self.chunks.vector // self.vector):
                slot = chunk.turn * self.chunks.vector + piece * self.vector
                found.append((chunk, slot, self._index(chunks[chunk.anchor], chunk, piece)))
        return found

    def _index(self, anchor: Chunk, chunk: Chunk, piece: int) -> Tir:
        along = (anchor.row, chunk.row_step)
        across = (anchor.column * (self.chunks.vector // self.vector), piece)
        row, column = (across, along) if self.view.transposed else (along, across)
        starts = self.view.starts
        place = lds.Place(row[0], row[1] + starts[0], column[0], column[1] + starts[1] // self.vector)
        key = ("linear", self.chunks, self.view.transposed, chunk.anchor)
        return lds.index(self.ctx, self.rows, self.vector, place, key)

    def emit(self, chunk: Chunk, statement: Tir) -> None:
        """Threads without this chunk skip it."""
        exists = self.chunks.exists(chunk.turn, self.ctx.thread, self.ctx.wave)
        if exists is not None:
            barriers.ask_for_order(self.ctx)  # a branch ends what the scheduler sees at once
            statement = tir.branch(exists, statement)
        self.ctx.emit.add(statement)
