"""What a name stands for, as far as reading needs to know: its kind, and a view's dtype and rank."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from argus.dsl.ir.nodes import Dtype, Node
from argus.dsl.layout import ZERO, Expr


class Kind(StrEnum):
    """The value completes "… is needed, this is …"."""

    INDEX = "an integer"
    VIEW = "a view"
    FRAG = "a fragment"
    RING = "a ring"
    STAGE = "a stage of a ring"
    BAR = "an mbar"
    ALLOCATION = "an allocation"  # only as the right-hand side of an assignment
    INDICES = "block indices"
    RESULTS = "several results"


@dataclass(frozen=True, slots=True)
class Item:
    """Something that was read, or what a name is bound to.

    Attributes:
        value: An `Expr` for INDEX; else a node. Of no meaning in a scope.
        dtype, rank: Of views and shared allocations.
        buffers: Of rings and stages: name to (dtype, rank).
    """

    kind: Kind
    value: Expr | Node = ZERO
    dtype: Dtype | None = None
    rank: int = 0
    buffers: dict[str, tuple[Dtype, int]] = field(default_factory=dict[str, tuple[Dtype, int]])


class Scope:
    """Names by block: a name that a block introduces is gone after it."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Item]] = [{}]

    def get(self, name: str) -> Item | None:
        for block in reversed(self._blocks):
            if name in block:
                return block[name]
        return None

    def bind(self, name: str, item: Item) -> None:
        """Rebinding a name of an outer block changes it there, as assignment does in Python."""
        for block in reversed(self._blocks):
            if name in block:
                block[name] = item
                return
        self._blocks[-1][name] = item

    def bind_here(self, name: str, item: Item) -> None:
        """Bind in the innermost block, hiding what the name means outside."""
        self._blocks[-1][name] = item

    def innermost(self) -> dict[str, Item]:
        """What the innermost block binds."""
        return self._blocks[-1]

    def names(self) -> Iterator[str]:
        for block in reversed(self._blocks):
            yield from block

    @contextmanager
    def block(self) -> Generator[None]:
        self._blocks.append({})
        try:
            yield
        finally:
            self._blocks.pop()
