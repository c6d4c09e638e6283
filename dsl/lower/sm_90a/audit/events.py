"""What a thread does, one value for each instruction that matters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A byte of a shared buffer or an mbarrier."""

    name: str
    byte: int

    def __str__(self) -> str:
        return f"{self.name} + {self.byte}"


@dataclass(frozen=True, slots=True)
class Event:
    """An instruction and its operands.

    `what` is one of: `registers` (count), `wait` (mbarrier, parity), `expect` (mbarrier, bytes), `arrive` (mbarrier),
    `load` (tensor, column, row, box, place, mbarrier), `store` (tensor, column, row, box, place), `commit`,
    `load to all` (the same and a mask of blocks), `arrive at` (mbarrier, block), `cluster` (a barrier of all blocks),
    `wait groups` (n), `barrier` (who, threads), `fence`, `mma` (accumulator part, a, b, adds), `batch wait` (n),
    `put` (place of a 16-byte row, the eight elements), `put down` (the same, of matrices that are transposed); where an
    element is tensor, row, column and the tensor's extents: `chunk copy` (place, element), `chunk load` (registers,
    element), `chunk store` (place, registers), `pair` (element, the two values); `zero` (accumulator part), `matrices`
    (registers, place), `mma sync` (dtype, accumulator part, a, b).
    """

    what: str
    operands: tuple[object, ...] = ()

    def __str__(self) -> str:
        return f"{self.what}({', '.join(map(str, self.operands))})"


Trace = list[Event]
