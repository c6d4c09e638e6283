"""Functions that are linear over bits, as matrices: composed, inverted and compared in microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from argus.dsl.layout.algebra.layout import Inadmissible, Layout, Table


@dataclass(frozen=True, slots=True)
class Gf2:
    """A matrix over GF(2): bit i of the argument adds (exclusive or) `columns[i]` to the value."""

    columns: tuple[int, ...]

    def __call__(self, index: int) -> int:
        value = 0
        for bit, column in enumerate(self.columns):
            if index >> bit & 1:
                value ^= column
        return value

    def __matmul__(self, first: Gf2) -> Gf2:
        """This matrix after `first`.

        Raises:
            ValueError: If `first` has values that this matrix does not take.
        """
        bits = max((c.bit_length() for c in first.columns), default=0)
        if bits > len(self.columns):
            raise ValueError(f"values of {bits} bits for a matrix that takes {len(self.columns)}")
        return Gf2(tuple(map(self, first.columns)))

    @property
    def rank(self) -> int:
        return len(_echelon(self.columns))

    def inverse(self) -> Gf2:
        """The matrix that undoes this one.

        Raises:
            Inadmissible: If it is no bijection of its bits.
        """
        n = len(self.columns)
        if max((c.bit_length() for c in self.columns), default=0) > n or self.rank < n:
            raise Inadmissible(f"a matrix of rank {self.rank} on {n} bits has no inverse")
        # Each value beside the argument that gives it: reduced until the values are single bits.
        rows = [(column, 1 << bit) for bit, column in enumerate(self.columns)]
        for bit in range(n):
            pivot = next(i for i in range(bit, n) if rows[i][0] >> bit & 1)
            rows[bit], rows[pivot] = rows[pivot], rows[bit]
            value, index = rows[bit]
            rows = [(v ^ value, i ^ index) if k != bit and v >> bit & 1 else (v, i) for k, (v, i) in enumerate(rows)]
        return Gf2(tuple(index for _, index in rows))

    def table(self) -> Table:
        values = np.zeros(1, np.int64)
        for column in self.columns:
            values = np.concatenate((values, values ^ column))
        return values


def gf2(function: Layout | Iterable[int] | Table) -> Gf2:
    """The matrix of a layout or of a table.

    Raises:
        Inadmissible: If the function is not linear over bits.
    """
    values = function.table() if isinstance(function, Layout) else np.asarray(function, np.int64).reshape(-1)
    size = int(values.size)
    if size < 1 or size & (size - 1):
        raise Inadmissible(f"{size} indices are no power of two")
    found = Gf2(tuple(int(values[1 << bit]) for bit in range(size.bit_length() - 1)))
    wrong = np.flatnonzero(found.table() != values)
    if wrong.size:
        i = int(wrong[0])
        low = i & -i
        raise Inadmissible(
            f"index {i} goes to {values[i]}, and not to {found(i)}, the sum over bits of where its bits go"
            if i != low
            else f"index 0 goes to {values[0]}, not to 0"
        )
    return found


def _echelon(vectors: Iterable[int]) -> list[int]:
    """Linearly independent vectors with the same span."""
    kept: list[int] = []
    for vector in vectors:
        rest = vector
        for k in kept:
            rest = min(rest, rest ^ k)
        if rest:
            kept.append(rest)
    return kept
