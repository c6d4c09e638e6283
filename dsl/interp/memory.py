"""Memory cells: values, poison, and who touched them last."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from argus.dsl.diagnostics import Code, Diagnostic, KernelError, Span
from argus.dsl.interp.arrays import Bools, Floats, Ids, Ints
from argus.dsl.interp.clocks import Clocks
from argus.dsl.ir.nodes import Dtype, Shared
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Swizzle


class Cells:
    """One shared buffer, or one global tensor.

    Attributes:
        shape: Logical.
        places: Address of each logical element; None: row-major, without gaps.
        data, poison: By address. `poison` None: every cell is initialised, and stays so.
        coords: Global coordinates of the elements in the cells, along the axes that the kernel asks for as data.
        tracked: Whether accesses are recorded. Tensors that no statement writes need no record.
        times_written: How often a global element was stored or added to, in all blocks.
    """

    def __init__(
        self, name: str, shape: tuple[int, ...], dtype: Dtype, *, places: Ints | None = None, size: int | None = None
    ) -> None:
        self.name, self.shape = name, shape
        self.dtype: Dtype = dtype
        self.places = places
        self.size = int(np.prod(shape, dtype=np.intp)) if size is None else size
        self.data: Floats = np.full(self.size, np.nan)
        self.poison: Bools | None = np.ones(self.size, np.bool_)
        self.coords: dict[str, Floats] = {}
        self.tracked = True
        self.shared = False
        self.times_written: Ids = np.zeros(0, np.int32)
        self._block = 0
        # By element: the block (from 1) that read it, -1 for several; made when a written tensor is first read.
        self._read_in: Ids | None = None
        self.begin_block()

    def begin_block(self) -> None:
        """Forget who touched what within a block: another block begins."""
        self._block += 1
        self.last_write: Ids = np.zeros(self.size if self.tracked else 0, np.int32)
        self.last_read: dict[int, Ids] = {}
        self.latest_write: dict[int, int] = {}
        self.latest_read: dict[int, int] = {}

    def element(self, address: int) -> tuple[int, ...]:
        """The logical index that lives at an address."""
        flat = address
        if self.places is not None:
            flat = int(np.flatnonzero(self.places == address)[0])
        return tuple(int(i) for i in np.unravel_index(flat, self.shape))

    def unordered_writes(self, clocks: Clocks, hit: Ints, seen: Ids) -> Bools | None:
        """Which of these cells were last written by something not ordered before; None: all is well."""
        if all(clocks.clock[e] <= seen[a] for a, e in self.latest_write.items()):
            return None
        bad = clocks.unordered(self.last_write[hit], seen)
        return bad if bad.any() else None

    def unordered_reads(self, clocks: Clocks, hit: Ints, seen: Ids) -> tuple[Bools, Ids] | None:
        """Likewise for reads, with the reading events."""
        for agent, event in self.latest_read.items():
            if clocks.clock[event] > seen[agent]:
                events = self.last_read[agent][hit]
                bad = clocks.unordered(events, seen)
                if bad.any():
                    return bad, events
        return None

    def written_elsewhere(self, hit: Ints) -> Bools:
        """Which of these elements another block has written; nothing orders two blocks."""
        return (self.times_written[hit] > 0) & (self.last_write[hit] == 0)

    def read_elsewhere(self, hit: Ints) -> Bools | None:
        """Which of these elements another block has read."""
        if self._read_in is None:
            return None
        return (self._read_in[hit] != 0) & (self._read_in[hit] != self._block)

    def note_read(self, agent: int, hit: Ints, event: int) -> None:
        if agent not in self.last_read:
            self.last_read[agent] = np.zeros(self.size, np.int32)
        self.last_read[agent][hit] = event
        self.latest_read[agent] = event
        if not self.shared:
            if self._read_in is None:
                self._read_in = np.zeros(self.size, np.int32)
            before = self._read_in[hit]
            self._read_in[hit] = np.where((before == 0) | (before == self._block), self._block, -1)

    def forget(self, clocks: Clocks) -> None:
        """Drop what every wave has seen: batches of copies are agents, and there are many."""
        seen = np.min([clocks.at_issue(w) for w in range(clocks.waves)], axis=0)
        for latest in (self.latest_write, self.latest_read):
            for agent in [a for a, e in latest.items() if clocks.clock[e] <= seen[a]]:
                del latest[agent]

    def note_write(self, agent: int, hit: Ints, event: int) -> None:
        self.last_write[hit] = event
        self.latest_write[agent] = event


def shared_cells(name: str, buffer: Shared) -> Cells:
    """A fresh buffer: every cell, padding included, is poison.

    Raises:
        KernelError: If the swizzle is no permutation of each row.
    """
    size = int(np.prod(buffer.shape[:-1], dtype=np.intp)) * (buffer.shape[-1] + buffer.pad)
    places = _places(buffer)
    if places is None:
        raise _not_a_permutation(name, buffer.span)
    cells = Cells(name, buffer.shape, buffer.dtype, places=places, size=size)
    cells.shared = True
    return cells


@lru_cache(maxsize=256)
def _places(buffer: Shared) -> Ints | None:
    """The address of each element; None: the swizzle moves some out of their row."""
    columns, pitch = buffer.shape[-1], buffer.shape[-1] + buffer.pad
    row, column = np.divmod(np.arange(int(np.prod(buffer.shape, dtype=np.intp))), columns)
    if buffer.swizzle is None:
        return row * pitch + column
    places = swizzled(buffer.swizzle, row, column, pitch, DTYPE_BYTES[buffer.dtype])
    # Hardware XORs address bits and may cross rows shorter than its period.
    inside = places < pitch * (int(row.max(initial=0)) + 1) if buffer.swizzle.hardware else places // pitch == row
    return places if inside.all() and len(np.unique(places)) == len(places) else None


def swizzled(swizzle: Swizzle, row: Ints, column: Ints, pitch: int, element_bytes: int) -> Ints:
    """Element addresses under a swizzle.

    Hardware modes XOR bits 4.. of the byte offset with bits 7.. (h200.md section 4); others permute the chunks of a
    row as `Swizzle` says.
    """
    if swizzle.hardware is not None:
        mask = {"b32": 0x10, "b64": 0x30, "b128": 0x70}[swizzle.hardware]
        offset = (row * pitch + column) * element_bytes
        return (offset ^ ((offset >> 3) & mask)) // element_bytes
    chunk, inside = np.divmod(column, swizzle.unit)
    group, place = np.divmod(chunk, swizzle.chunks)
    key = row // swizzle.rows_for(pitch * element_bytes) % swizzle.chunks
    return row * pitch + (group * swizzle.chunks + (place ^ key)) * swizzle.unit + inside


def _not_a_permutation(name: str, span: Span) -> KernelError:
    text = f"the swizzle of {name} moves elements out of their row"
    hint = "the row length must be a multiple of chunks * unit elements"
    return KernelError(Diagnostic(code=Code.BAD_SHAPE, message=text, span=span, hint=hint))
