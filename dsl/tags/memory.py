"""Shared memory, cell by cell: contents, who touched what since the last barrier, which copies are in flight.

Two accesses by different waves are ordered when a barrier lies between them. An ordinary access is ordered after the
earlier ones of its own wave. An async copy may land at any moment from its issue to the `wait` of its own wave that
retires it, and program order does not order it after ordinary accesses of the same wave; once retired it counts as a
write of that wave at the moment of the `wait`, so others see it only after a later barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from argus.dsl.ir import Shared
from argus.dsl.tags.domain import UNINITIALISED, Bools, Ints

LONG_AGO = 99  # ages of groups are clipped here: no wait distinguishes older ones
NOT_PENDING = -1
NO_SITE = -1


@dataclass(slots=True, eq=False)
class Buffer:
    """The cells of one buffer.

    Attributes:
        code: Element codes, `UNINITIALISED` before the first write.
        written, read: Waves that did so since the last barrier, as bits.
        landed: Waves whose copies into the cell were retired since the last barrier.
        age: Of the copy in flight: closed groups since it was issued, 0 in the open group, `NOT_PENDING` for none.
        owner: The wave of that copy (or of the last one), as a bit.
        writer, reader: Sites of the last write and read, for reports only.
        barriers: How many barriers were passed since the last copy was issued, for reports only.
    """

    code: Ints
    written: Ints
    read: Ints
    landed: Ints
    age: Ints
    owner: Ints
    writer: Ints = field(repr=False)
    reader: Ints = field(repr=False)
    barriers: Ints = field(repr=False)

    @classmethod
    def fresh(cls, shared: Shared) -> Buffer:
        cells = int(np.prod(shared.shape, dtype=np.int64))
        zero = np.zeros(cells, np.int64)
        return cls(
            np.full(cells, UNINITIALISED), zero, zero.copy(), zero.copy(), np.full(cells, NOT_PENDING), zero.copy(),
            np.full(cells, NO_SITE), np.full(cells, NO_SITE), zero.copy(),
        )  # fmt: skip

    def copy(self) -> Buffer:
        return Buffer(
            self.code.copy(), self.written.copy(), self.read.copy(), self.landed.copy(), self.age.copy(),
            self.owner.copy(), self.writer.copy(), self.reader.copy(), self.barriers.copy(),
        )  # fmt: skip

    def same(self, other: Buffer) -> bool:
        """Equal in all that later statements can tell."""
        mine = (self.code, self.written, self.read, self.landed, self.age)
        theirs = (other.code, other.written, other.read, other.landed, other.age)
        if not all(np.array_equal(x, y) for x, y in zip(mine, theirs, strict=True)):
            return False
        pending = self.age >= 0
        return np.array_equal(self.owner[pending], other.owner[pending])

    # ------------------------------------------------------------------------------------ statements

    def barrier(self) -> None:
        self.written[:] = 0
        self.read[:] = 0
        self.landed[:] = 0
        self.barriers += 1

    def commit(self) -> None:
        if (pending := self.age >= 0).any():
            self.age[pending] = np.minimum(self.age[pending] + 1, LONG_AGO)

    def wait(self, newest: int) -> None:
        """Retire all closed groups but the newest `newest`."""
        if (retired := self.age > newest).any():
            self.landed[retired] |= self.owner[retired]
            self.age[retired] = NOT_PENDING

    # ---------------------------------------------------------------------------------------- checks

    def unread_pending(self, cells: Ints) -> Bools:
        return self.age[cells] >= 0

    def reads_unseen_copy(self, cells: Ints, waves: Ints) -> Bools:
        return _by_another(self.landed[cells], waves)

    def reads_unseen_write(self, cells: Ints, waves: Ints) -> Bools:
        return _by_another(self.written[cells], waves)

    def overwrites_read(self, cells: Ints, waves: Ints) -> Bools:
        return _by_another(self.read[cells], waves)


def _by_another(before: Ints, now: Ints) -> Bools:
    """Where a wave of `now` meets an access of another wave of `before`."""
    if not before.any():
        return np.zeros(np.broadcast(before, now).shape, np.bool_)
    both = before | now
    return (before != 0) & (now != 0) & (both & (both - 1) != 0)
