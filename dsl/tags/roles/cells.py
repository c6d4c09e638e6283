"""Shared memory by stages: what lies there, and which accesses later ones must be ordered after."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.ir import Shared
from argus.dsl.tags.domain import UNINITIALISED, Ints


@dataclass(frozen=True, slots=True)
class Region:
    """A set of rows by a set of columns of a stage, as bits."""

    rows: int
    cols: int

    def meets(self, other: Region) -> bool:
        return bool(self.rows & other.rows) and bool(self.cols & other.cols)

    def covers(self, other: Region) -> bool:
        return not (other.rows & ~self.rows) and not (other.cols & ~self.cols)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Cells of one stage, in a view's shape; `stage` is the stage's place among those of its buffer."""

    buffer: str
    stage: int
    cells: Ints
    region: Region
    key: tuple[object, ...]

    @property
    def flat(self) -> Ints:
        return self.cells.ravel()


@dataclass(frozen=True, slots=True)
class Access:
    """One access of a region, made in these epochs (of several waves: in one of each).

    Attributes:
        ordinary: By loads and stores of lanes, not by TMA or wgmma.
        site, team: For reports.
        past: Of an earlier use of the stage, if there was one.
    """

    region: Region
    epochs: tuple[int, ...]
    ordinary: bool
    site: int
    team: int
    past: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One stage of a buffer, or a whole buffer that has no stages.

    Attributes:
        codes: Element codes, row-major; never changed in place.
        writes: The last ones, as far as nothing has overwritten them.
        reads: Those since the writes that they read.
    """

    codes: Ints
    columns: int
    writes: tuple[Access, ...] = ()
    reads: tuple[Access, ...] = ()

    @property
    def untouched(self) -> bool:
        return not self.writes and not self.reads

    def written(self, cells: Ints, codes: Ints, by: tuple[Access, ...]) -> Stage:
        """The stage after writes of these regions."""
        fresh = self.codes.copy()
        fresh[cells] = codes
        return replace(self, codes=fresh, writes=(*_left(self.writes, by), *by), reads=_left(self.reads, by))

    def read(self, by: tuple[Access, ...]) -> Stage:
        fresh = tuple(a for a in by if a not in self.reads)
        return replace(self, reads=self.reads + fresh) if fresh else self


def _left(old: tuple[Access, ...], new: tuple[Access, ...]) -> tuple[Access, ...]:
    """What no new access covers: a later access that is ordered after the new one is ordered after the old."""
    return tuple(a for a in old if not any(b.region.covers(a.region) for b in new))


def is_staged(shared: Shared) -> bool:
    return len(shared.shape) > 2


def stages_of(shared: Shared) -> list[Stage]:
    """The fresh stages of a buffer: one for each first index of a buffer of three axes or more."""
    count = shared.shape[0] if is_staged(shared) else 1
    size = int(np.prod(shared.shape, dtype=np.int64)) // count
    return [Stage(np.full(size, UNINITIALISED), shared.shape[-1]) for _ in range(count)]


def region_of(cells: Ints, columns: int) -> Region | None:
    """The region that these cells of a stage are; None if they are no rows by columns."""
    flat = np.unique(cells)
    rows, cols = np.unique(flat // columns), np.unique(flat % columns)
    if len(rows) * len(cols) != len(flat):
        return None
    return Region(_bits(rows), _bits(cols))


def _bits(numbers: Ints) -> int:
    flags = np.zeros(int(numbers[-1]) + 1, np.uint8)
    flags[numbers] = 1
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")
