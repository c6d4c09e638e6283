"""What a pass is, and names that no source text can spell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from argus.dsl.ir.nodes import Kernel


class Pass(Protocol):
    """A value; options are its fields. It builds a new kernel and keeps the span of everything it moves."""

    name: ClassVar[str]

    def __call__(self, kernel: Kernel) -> Kernel: ...


@dataclass(slots=True)
class Fresh:
    """Names not used so far."""

    used: set[str] = field(default_factory=set[str])

    def version(self, name: str) -> str:
        """`name` itself, or with a number: `x`, `x.2`, `x.3`."""
        candidate, n = name, 1
        while candidate in self.used:
            n += 1
            candidate = f"{name}.{n}"
        self.used.add(candidate)
        return candidate

    def part(self, owner: str, what: str) -> str:
        """A part of `owner`: `acc.t1`, `acc.t2` for what = `t`."""
        stem, n = owner.split(".", 1)[0], 1
        while f"{stem}.{what}{n}" in self.used:
            n += 1
        self.used.add(f"{stem}.{what}{n}")
        return f"{stem}.{what}{n}"
