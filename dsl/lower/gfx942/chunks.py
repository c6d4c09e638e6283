"""`Linear` maps in code: which chunk of a tile a thread moves in its j-th turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from argus.dsl.ir import Node
from argus.dsl.layout import Linear
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.context import WAVE, Fragment
from argus.dsl.lower.gfx942.tir import Tir


@dataclass(frozen=True, slots=True)
class Chunk:
    """One thread's chunk number `turn`.

    Attributes:
        row, column: Of its first element, per thread; columns count chunks.
        anchor: An earlier or equal turn whose row is `row_step` rows above, at the same column.
    """

    turn: int
    row: Tir
    column: Tir
    anchor: int
    row_step: int


@dataclass(frozen=True, slots=True)
class Chunks:
    """A tile of `rows` x `columns` elements cut into chunks of `vector`, dealt to `threads` in turn."""

    rows: int
    columns: int
    vector: int
    threads: int

    @property
    def per_row(self) -> int:
        return self.columns // self.vector

    @property
    def count(self) -> int:
        return self.rows * self.per_row

    @property
    def turns(self) -> int:
        return -(-self.count // self.threads)

    def of(self, thread: Tir) -> Iterator[Chunk]:
        """The chunks of one thread, in turn; the last may not exist for every thread."""
        aligned = self.threads % self.per_row == 0
        for turn in range(self.turns):
            if aligned:
                step = turn * (self.threads // self.per_row)
                row, column = thread // self.per_row + step, thread % self.per_row
                yield Chunk(turn, row, column, 0, step)
            else:
                place = thread + turn * self.threads
                yield Chunk(turn, place // self.per_row, place % self.per_row, turn, 0)

    def idle(self, turn: int) -> bool:
        """Whether some threads have no chunk in this turn."""
        return (turn + 1) * self.threads > self.count

    def exists(self, turn: int, thread: Tir, wave: Tir) -> Tir | None:
        """The condition under which the thread has a chunk; uniform over each wave where it can be."""
        if not self.idle(turn):
            return None
        left = self.count - turn * self.threads
        return wave < left // WAVE if left % WAVE == 0 else thread < tir.i32(left)


def chunks_of(fragment: Fragment, threads: int, node: Node) -> Chunks:
    """How a fragment's `Linear` map cuts it.

    Raises:
        KernelError: If it has not two axes, or its rows do not split into chunks.
    """
    kind, shape = fragment.type.map, fragment.type.shape
    assert isinstance(kind, Linear)
    if len(shape) != 2:
        raise unsupported(node, f"a fragment of {len(shape)} axes is not lowered yet", "use a tile of two axes")
    if shape[1] % kind.vector:
        raise unsupported(node, f"chunks of {kind.vector} elements do not tile rows of {shape[1]}")
    return Chunks(shape[0], shape[1], kind.vector, threads)
