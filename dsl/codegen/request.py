"""What a compilation is asked for, and what a worker answers."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal

from pydantic import BaseModel

from argus.dsl.codegen.versions import tool_versions
from argus.dsl.diagnostics import Diagnostic, KernelError, ToolchainError

REQUEST = "request.json"  # stays in the artifact's folder: it says what was compiled


class CompileRequest(BaseModel, frozen=True):
    """Kernel text and options.

    Attributes:
        kernel: Which kernel of the text; None if it holds one.
        file: Name for diagnostics; equal texts compile equally under any.
        then: `module:function` that the worker calls as `function(lowered, directory, options)` once the object is
            built: what it writes into the folder is kept with the artifact.
    """

    text: str
    target: str = "gfx942"
    kernel: str | None = None
    file: str = "<kernel>"
    then: str | None = None
    options: dict[str, Any] = {}

    @property
    def text_sha(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def key(self, lowering: str) -> str:
        """sha256 of all that the artifact depends on; `lowering` names the entry point that lowers the text."""
        parts = {"lowering": lowering, "versions": tool_versions(), **self.model_dump(exclude={"file"})}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Reply(BaseModel, frozen=True):
    """A worker's answer, one JSON line.

    Attributes:
        serial: Of the request that it answers; 0 says that the worker is ready.
        status: `done`: the artifact is in the request's folder; `kernel`, `toolchain`: what failed; `bug`: ours.
        message: What failed; a traceback if it was a bug.
        rss_bytes: Memory of the worker by now.
    """

    serial: int
    status: Literal["done", "kernel", "toolchain", "bug"]
    message: str = ""
    diagnostic: Diagnostic | None = None
    rss_bytes: int = 0

    def check(self) -> None:
        """Raise the failure that this reply tells of, if any.

        Raises:
            KernelError, ToolchainError, AssertionError: As the compiler in this process would have.
        """
        match self.status:
            case "done":
                return
            case "kernel":
                assert self.diagnostic is not None, "a kernel error without its diagnostic"
                raise KernelError(self.diagnostic)
            case "toolchain":
                raise ToolchainError(self.message)
            case "bug":
                raise AssertionError(f"the compiler failed in a worker:\n{self.message}")
