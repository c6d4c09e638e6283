"""Swizzles: bits of an offset that are changed by higher ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from argus.dsl.layout.algebra.layout import Table


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`x ^ ((x >> shift) & mask)`, mask being `bits` ones from bit `base` on; its own inverse.

    Attributes:
        bits: How many bits are changed.
        base: The lowest of them.
        shift: How much higher those lie that change them; at least `bits`.

    Raises:
        ValueError: If the two groups of bits overlap.

    Source:
        CuTe's Swizzle<bits, base, shift>.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if min(self.bits, self.base) < 0 or self.shift < self.bits:
            raise ValueError(f"{self}: bits and base are not negative, and the shift is at least bits")

    @overload
    def __call__(self, offset: int) -> int: ...
    @overload
    def __call__(self, offset: Table) -> Table: ...
    def __call__(self, offset: int | Table) -> int | Table:
        return offset ^ ((offset >> self.shift) & (((1 << self.bits) - 1) << self.base))

    def table(self, size: int) -> Table:
        """Where the offsets 0, …, size - 1 go."""
        return self(np.arange(size, dtype=np.int64))


def xor(chunks: int, unit: int, rows: int, width: int) -> Swizzle:
    """The language's `xor(chunks, unit=, rows=)` of a buffer whose rows hold `width` elements.

    Chunk c of row r goes to chunk c ^ (r // rows % chunks) of its row; a chunk has `unit` elements.

    Raises:
        ValueError: If one of them is no power of two, or if a row has fewer chunks.
    """
    for name, value in (("chunks", chunks), ("unit", unit), ("rows", rows), ("width", width)):
        if value < 1 or value & (value - 1):
            raise ValueError(f"{name} = {value} is no power of two, so that this is no swizzle of bits")
    if chunks * unit > width:
        raise ValueError(f"{chunks} chunks of {unit} elements are more than a row of {width}")
    base = unit.bit_length() - 1
    return Swizzle(chunks.bit_length() - 1, base, (width * rows).bit_length() - 1 - base)
