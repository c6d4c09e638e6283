"""Constructs that are in the language but not on this path."""

from __future__ import annotations

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.ir import Node


def unsupported(node: Node, message: str, hint: str = "") -> KernelError:
    return KernelError(Diagnostic(code=Code.UNSUPPORTED, message=message, span=node.span, hint=hint))
