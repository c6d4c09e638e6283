"""Allocations first: every shared buffer and barrier at the top of the body."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from argus.dsl.ir.nodes import Assign, Kernel, MBar, Shared


@dataclass(frozen=True, slots=True)
class Hoist:
    """Shared buffers and barriers move to the top of the body."""

    name: ClassVar[str] = "hoist"

    def __call__(self, kernel: Kernel) -> Kernel:
        first = tuple(s for s in kernel.body if isinstance(s, Assign) and isinstance(s.value, Shared | MBar))
        rest = tuple(s for s in kernel.body if not (isinstance(s, Assign) and isinstance(s.value, Shared | MBar)))
        return replace(kernel, body=(*first, *rest))
