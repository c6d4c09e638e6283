"""Swizzles that would free a buffer's accesses of bank conflicts, found by counting the cycles of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.ir import Shared
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Swizzle
from argus.dsl.tags.banks import Access, conflict
from argus.dsl.tags.views import byte_offsets


@dataclass(frozen=True, slots=True)
class Better:
    """A swizzle of a buffer and what it changes.

    Attributes:
        before, after: Cycles of all access sites of the buffer.
        worst_before, worst_after: The worst way of any.
    """

    swizzle: Swizzle
    before: int
    after: int
    worst_before: float
    worst_after: float


def better_swizzle(buffer: Shared, accesses: Sequence[Access]) -> Better | None:
    """The swizzle under which the accesses of a buffer without padding take the fewest cycles.

    None if the accesses are free of conflicts, or if no swizzle improves them.
    """
    now = [conflict(a) for a in accesses]
    worst = max((c.worst for c in now), default=1.0)
    if worst <= 1 or buffer.pad:
        return None
    before = sum(c.cycles for c in now)
    best: Better | None = None
    for swizzle in _options(buffer):
        moved = [conflict(a) for a in _moved(buffer, swizzle, accesses)]
        after = sum(c.cycles for c in moved)
        if after < (before if best is None else best.after):
            best = Better(swizzle, before, after, worst, max(c.worst for c in moved))
    return best


def _options(buffer: Shared) -> Iterator[Swizzle]:
    """Permutations of 16- and 8-byte chunks whose period fits into a stage; few rows a permutation first."""
    columns = buffer.shape[-1]
    period = buffer.shape[-2] if len(buffer.shape) > 1 else 1
    for chunk_bytes in (16, 8):
        unit = chunk_bytes // DTYPE_BYTES[buffer.dtype]
        for chunks in (2, 4, 8):
            for rows in (1, 2, 4, 8):
                if unit and columns % (chunks * unit) == 0 and period % (chunks * rows) == 0:
                    yield Swizzle(chunks, unit, rows)


def _moved(buffer: Shared, swizzle: Swizzle, accesses: Sequence[Access]) -> Iterator[Access]:
    """The same accesses with the elements where the swizzle puts them."""
    old, new = byte_offsets(buffer), byte_offsets(replace(buffer, swizzle=swizzle))
    place = np.full(int(old.max()) + 1, -1, np.int64)
    place[old] = new
    for access in accesses:
        yield replace(access, address=np.where(access.address >= 0, place[access.address], -1))
