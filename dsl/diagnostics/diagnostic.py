"""A mistake in a kernel, said so that a person or an agent can mend it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from pydantic import BaseModel

from argus.dsl.diagnostics.excerpt import excerpt
from argus.dsl.diagnostics.span import Span


class Code(StrEnum):
    """Stable names: agents, tests and the knowledge base refer to these."""

    SYNTAX = "syntax"
    FORBIDDEN = "forbidden"  # Python that the language does not have
    UNKNOWN_NAME = "unknown-name"
    BAD_CALL = "bad-call"  # wrong arguments of a construct
    BAD_SHAPE = "bad-shape"
    BAD_DTYPE = "bad-dtype"
    BAD_SPACE = "bad-space"  # a view, fragment or scalar where another kind is needed
    BAD_TARGET = "bad-target"
    BAD_SIZE = "bad-size"
    NOT_UNIFORM = "not-uniform"  # control flow that depends on a lane
    CONTRACT = "contract"
    LIMIT = "limit"  # a budget of the target or of the front end
    UNSUPPORTED = "unsupported"  # in the language, not yet on this path


class Diagnostic(BaseModel, frozen=True):
    """One message with its place; `hint` says what would fix it."""

    code: Code
    message: str
    span: Span
    hint: str = ""

    def render(self, lines: Sequence[str]) -> str:
        """Format as `file:line:col`, the source line and a caret underline."""
        out = [f"{self.span}: error[{self.code}]: {self.message}", *excerpt(self.span, lines)]
        if self.hint:
            out.append(f"    = hint: {self.hint}")
        return "\n".join(out)


class KernelError(Exception):
    """The author's mistake. A bug of ours raises `AssertionError` instead."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(f"{diagnostic.span}: {diagnostic.message}")


class ToolchainError(Exception):
    """TVM, LLVM, a linker, a driver or a worker process failed; the kernel may be fine."""
