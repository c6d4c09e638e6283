"""Constructs that are in the language but not on this path."""

from __future__ import annotations

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.ir import Node


def unsupported(node: Node, message: str, hint: str = "") -> KernelError:
    """The diagnostic of a construct that this target does not lower."""
    return KernelError(Diagnostic(code=Code.UNSUPPORTED, message=message, span=node.span, hint=hint))
