"""Permutations of 16-byte chunks within the rows of a shared buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Chunk c of row r lies in place `c XOR ((r // rows) % chunks)`; a bijection of each row.

    Attributes:
        chunks: How many chunks one permutation spans, a power of two. Chunks beyond it keep their group:
            `c // chunks * chunks + ((c % chunks) ^ (r // rows % chunks))`.
        unit: Elements a chunk.
        rows: Consecutive rows that share one permutation. None: as many rows as 128 bytes hold, at least one
            (rows that together fill the 32 banks once).
        hardware: The name of a swizzle that TMA and wgmma know; then the other fields follow from it.
    """

    chunks: int
    unit: int
    rows: int | None = None
    hardware: Literal["b32", "b64", "b128"] | None = None

    def rows_for(self, row_bytes: int) -> int:
        """`rows`, or its default for rows of this many bytes (mi300x: 32 banks of 4 bytes)."""
        return self.rows if self.rows is not None else max(1, 128 // row_bytes)
