"""A hash of what a kernel says, whatever its variables are called and however it is laid out."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from typing import Any, cast

from argus.dsl.ir.names import signature
from argus.dsl.ir.nodes import (
    Arrive,
    AsOperand,
    Assign,
    AwaitPhase,
    Field,
    Fill,
    For,
    Kernel,
    MmaInto,
    Node,
    Operand,
    Ref,
    Ring,
    Role,
    Use,
)
from argus.dsl.layout import Op, Var

# Fields that name variables of the body; all other text is meaning.
_NAMES: dict[type[Node], frozenset[str]] = {
    Ref: frozenset({"name"}),
    Assign: frozenset({"targets"}),
    For: frozenset({"targets"}),
    MmaInto: frozenset({"acc"}),
    Operand: frozenset({"acc"}),
    AsOperand: frozenset({"acc"}),
    Arrive: frozenset({"bar"}),
    AwaitPhase: frozenset({"bar"}),
    Fill: frozenset({"ring", "stage"}),
    Use: frozenset({"ring", "stage"}),
    Role: frozenset({"name", "index"}),
    Field: frozenset({"name"}),
    Ring: frozenset({"buffers"}),
}


def canonical_sha(kernel: Kernel) -> str:
    """SHA-256, as hex, of the kernel with its variables numbered in order of appearance.

    Parameters, sizes and axes keep their names; the kernel's own name and all spans are left out.
    """
    numbering = _Numbering(frozenset(signature(kernel)))
    out: list[str] = []
    for f in fields(kernel):
        if f.name not in ("name", "span"):
            numbering.write(getattr(kernel, f.name), out)
    return hashlib.sha256("\x1f".join(out).encode()).hexdigest()


class _Numbering:
    def __init__(self, fixed: frozenset[str]) -> None:
        self._fixed = fixed
        self._numbers: dict[str, str] = {}

    def _name(self, name: str) -> str:
        if name in self._fixed:
            return name
        stem, dot, part = name.partition(".")
        # The ordinal of a loop over tiles belongs to its first variable.
        if dot and part == "n" and stem in self._numbers:
            return f"{self._numbers[stem]}.n"
        return self._numbers.setdefault(name, f"${len(self._numbers)}")

    def write(self, value: Any, out: list[str], *, names: bool = False) -> None:  # noqa: ANN401 - any field
        """Append `value` in prefix form; `names`: text in it names variables."""
        match value:
            case Node():
                out.append(type(value).__name__)
                variables = _NAMES.get(type(value), frozenset())
                for f in fields(value):
                    if f.name != "span":
                        self.write(getattr(value, f.name), out, names=f.name in variables)
            case Var(name):
                out.append(self._name(name))
            case Op(kind, args):
                out.append(f"({kind}")
                for arg in args:
                    self.write(arg, out)
                out.append(")")
            case tuple():
                members = cast("tuple[Any, ...]", value)
                out.append(f"[{len(members)}")
                for member in members:
                    self.write(member, out, names=names)
            case str() if names:
                out.append(self._name(value))
            case _:
                out.append(repr(value))
