"""Diagnostics, made short."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from argus.dsl.diagnostics import Code, Diagnostic, KernelError, Span


def diagnostic(code: Code, span: Span, message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(code=code, message=message, span=span, hint=hint)


def kernel_error(code: Code, span: Span, message: str, hint: str = "") -> KernelError:
    """An error to raise."""
    return KernelError(diagnostic(code, span, message, hint))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known name, or ''."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else ""
