"""A thread on its way through core form, and what views of shared memory are to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from argus.dsl.ir import At, Cols, Kernel, Ref, Rows, View
from argus.dsl.ir.types import DTYPE_BYTES, Types
from argus.dsl.layout import evaluate
from argus.dsl.lower.sm_90a.audit.events import Event, Place, Trace

WARP = 32


@dataclass
class Thread:
    """One thread on its way through the kernel.

    Attributes:
        first, team: Waves that execute the present statement together.
        fresh: Accumulators that nothing has been added to.
        freed: Barriers that count arrivals from the whole cluster.
        roles, sizes: First waves of the roles, and how many they have.
        turns: Fragments that hold chunks of a tile.
        values: What the registers of a fragment are: (fragment, column where they start).
    """

    kernel: Kernel
    types: Types
    env: dict[str, int]
    block: int
    blocks: int
    number: int
    first: int = 0
    team: int = 0
    role: str = ""
    elected: bool = False
    trace: Trace = field(default_factory=list[Event])
    fresh: set[str] = field(default_factory=set[str])
    operands: dict[str, tuple[str, int, int]] = field(default_factory=dict[str, tuple[str, int, int]])
    freed: frozenset[str] = frozenset()
    turns: set[str] = field(default_factory=set[str])
    values: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    open_batch: bool = False
    roles: dict[str, int] = field(default_factory=dict[str, int])
    sizes: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def wave(self) -> int:
        return self.number // WARP

    @property
    def lane(self) -> int:
        return self.number % WARP

    def add(self, what: str, *operands: object) -> None:
        self.trace.append(Event(what, operands))


def root(view: View) -> str:
    """The buffer or tensor that a view is of."""
    while not isinstance(view, Ref):
        view = view.src
    return view.name


def corner_of(t: Thread, view: View) -> tuple[list[int], list[int]]:
    """Index of a shared view's first element in its buffer, and the extents left."""
    match view:
        case Ref(name=name):
            shape = list(t.types.buffers[name].shape)
            return [0] * len(shape), shape
        case At(src=src, index=index):
            corner, shape = corner_of(t, src)
            corner[len(corner) - len(shape)] += evaluate(index, t.env)
            return corner, shape[1:]
        case Rows(src=src, start=start, count=count):
            corner, shape = corner_of(t, src)
            corner[-2] += evaluate(start, t.env)
            return corner, [count, shape[-1]]
        case Cols(src=src, start=start, count=count):
            corner, shape = corner_of(t, src)
            corner[-1] += evaluate(start, t.env)
            return corner, [shape[-2], count]
        case _:
            raise AssertionError("no such view is lowered")


def bytes_of(t: Thread, name: str, index: Sequence[int]) -> int:
    """Where an element would lie without a swizzle."""
    buffer = t.types.buffers[name]
    flat = 0
    for i, extent in zip(index, buffer.shape, strict=True):
        flat = flat * extent + i
    return flat * DTYPE_BYTES[buffer.dtype]


def bar_place(name: str, slot: int) -> Place:
    """Where a barrier of eight bytes lies."""
    return Place(name, 8 * slot)
