"""`copy(dst, src)` is a load and a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from argus.dsl.ir.nodes import Copy, Kernel, Load, Stmt, Store
from argus.dsl.transform.blocks import map_statements


@dataclass(frozen=True, slots=True)
class ExpandCopy:
    """`copy` becomes a load and a store."""

    name: ClassVar[str] = "expand-copy"

    def __call__(self, kernel: Kernel) -> Kernel:
        return map_statements(kernel, _expand)


def _expand(statement: Stmt) -> tuple[Stmt, ...]:
    match statement:
        case Copy(dst=dst, src=src, span=span):
            return (Store(view=dst, value=Load(view=src, span=span), span=span),)
        case _:
            return (statement,)
