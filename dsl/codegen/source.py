"""Kernel text to a lowered kernel: what a worker does before it generates code."""

from __future__ import annotations

from argus.dsl.codegen.request import CompileRequest
from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.frontend import parse
from argus.dsl.lower import Lowered, lower
from argus.dsl.transform import to_core


def lower_text(request: CompileRequest) -> Lowered:
    """Parse, expand and lower a kernel for gfx942; whether it is right is the checker's business.

    Raises:
        KernelError: If it is no kernel, or none for the target, or not lowered yet.
    """
    kernel = parse(request.text, request.file, kernel=request.kernel)
    if kernel.target != request.target:
        raise KernelError(
            Diagnostic(
                code=Code.BAD_TARGET,
                message=f"`{kernel.name}` is written for {kernel.target}, not for {request.target}",
                span=kernel.span,
                hint=f"compile it for {kernel.target}, or start from a kernel of {request.target}",
            )
        )
    lowered = lower(to_core(kernel))
    if not isinstance(lowered, Lowered):
        raise KernelError(
            Diagnostic(
                code=Code.BAD_TARGET,
                message=f"kernels for {kernel.target} are compiled by nvcc, not by LLVM",
                span=kernel.span,
                hint=f"argus compile FILE --target {kernel.target}",
            )
        )
    return lowered
