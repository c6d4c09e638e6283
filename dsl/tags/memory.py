"""Shared memory, cell by cell: contents, who touched what since the last barrier, which copies are in flight.

Two accesses by different waves are ordered when a barrier lies between them. An ordinary access is ordered after the
earlier ones of its own wave. An async copy may land at any moment from its issue to the `wait` of its own wave that
retires it, and program order does not order it after ordinary accesses of the same wave; once retired it counts as a
write of that wave at the moment of the `wait`, so others see it only after a later barrier.

After `shift(n)` the first n waves are one barrier behind: what they do before their i-th barrier happens while the
others are past it. So an access of theirs comes before one of the others only if two barriers of the text lie between;
an access of the others comes before theirs even without a barrier. Another `shift(n)` puts them two barriers behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from argus.dsl.ir import Shared
from argus.dsl.tags.domain import UNINITIALISED, Bools, Ints

LONG_AGO = 99  # ages of groups are clipped here: no wait distinguishes older ones
NOT_PENDING = -1
NO_SITE = -1
ALL = -1  # waves, as bits


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
        behind: Waves that are `lag` barriers behind the others, as bits.
        late: What those did before each of the last `lag` barriers, the latest first: written, read and landed.
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
    behind: int = 0
    lag: int = 0
    late: tuple[tuple[Ints, Ints, Ints], ...] = ()

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
            self.owner.copy(), self.writer.copy(), self.reader.copy(), self.barriers.copy(), self.behind, self.lag,
            self.late,
        )  # fmt: skip

    def same(self, other: Buffer) -> bool:
        """Equal in all that later statements can tell."""
        if (self.behind, self.lag) != (other.behind, other.lag):
            return False
        pairs = zip(self._contents(), other._contents(), strict=True)
        if not all(np.array_equal(x, y) for x, y in pairs):
            return False
        pending = self.age >= 0
        return np.array_equal(self.owner[pending], other.owner[pending])

    def _contents(self) -> tuple[Ints, ...]:
        late = (x for done in self.late for x in done)
        return (self.code, self.written, self.read, self.landed, self.age, *late)

    # ------------------------------------------------------------------------------------ statements

    def shift(self, waves: int) -> None:
        """These waves, as bits, fall one barrier behind, or one more."""
        assert self.behind in (0, waves)
        self.behind, self.lag = waves, self.lag + 1
        self._keep_late()
        self.written &= ~waves
        self.read &= ~waves
        self.landed &= ~waves

    def _keep_late(self) -> None:
        now = (self.written & self.behind, self.read & self.behind, self.landed & self.behind)
        self.late = (now, *self.late)[: self.lag]

    def barrier(self) -> None:
        if self.behind:
            self._keep_late()
        self.written[:] = 0
        self.read[:] = 0
        self.landed[:] = 0
        self.barriers += 1

    def commit(self, waves: int = ALL) -> None:
        """Close the open groups of these waves, as bits."""
        if (pending := (self.age >= 0) & (self.owner & waves != 0)).any():
            self.age[pending] = np.minimum(self.age[pending] + 1, LONG_AGO)

    def wait(self, newest: int, waves: int = ALL) -> None:
        """Retire all closed groups of these waves, as bits, but each one's newest `newest`."""
        if (retired := (self.age > newest) & (self.owner & waves != 0)).any():
            self.landed[retired] |= self.owner[retired]
            self.age[retired] = NOT_PENDING

    # ---------------------------------------------------------------------------------------- checks

    def unread_pending(self, cells: Ints) -> Bools:
        return self.age[cells] >= 0

    def reads_unseen_copy(self, cells: Ints, waves: Ints) -> Bools:
        return self._clash(2, cells, waves)

    def reads_unseen_write(self, cells: Ints, waves: Ints) -> Bools:
        return self._clash(0, cells, waves)

    def overwrites_read(self, cells: Ints, waves: Ints) -> Bools:
        return self._clash(1, cells, waves)

    def still_wanted(self, cells: Ints, waves: Ints) -> tuple[Bools, Bools]:
        """Where reads, and where writes, may come after the issue of a copy by `waves`: their own too."""
        return self._clash(1, cells, waves, alone=True), self._clash(0, cells, waves, alone=True)

    def done(self, kind: int) -> Ints:
        """Waves that wrote (0), read (1) or landed copies (2) and are not known to have finished, for reports."""
        now = (self.written, self.read, self.landed)[kind]
        return reduce(np.bitwise_or, (late[kind] for late in self.late), now)

    def _clash(self, kind: int, cells: Ints, waves: Ints, *, alone: bool = False) -> Bools:
        """Where an earlier access is not ordered before one of `waves`; `alone`: not even one of the same wave is."""
        before = (self.written, self.read, self.landed)[kind][cells]
        meet = _both if alone else _by_another
        if not self.behind:
            return meet(before, waves)
        behind, others = self.behind, ~self.behind
        late = reduce(np.bitwise_or, (late[kind][cells] for late in self.late), before & behind)
        own = meet(before & behind, waves & behind) | meet(before & others, waves & others)
        return own | _both(late, waves & others)


def _both(before: Ints, now: Ints) -> Bools:
    return (before != 0) & (now != 0)


def _by_another(before: Ints, now: Ints) -> Bools:
    """Where a wave of `now` meets an access of another wave of `before`."""
    if not before.any():
        return np.zeros(np.broadcast(before, now).shape, np.bool_)
    both = before | now
    return (before != 0) & (now != 0) & (both & (both - 1) != 0)
