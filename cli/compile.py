"""`argus compile`: what a kernel becomes, at every step."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from argus.cli.kernel_file import read_kernel, refuse
from argus.cli.output import fail
from argus.cli.shapes import parse_shape
from argus.dsl import ir
from argus.dsl.diagnostics import Code, Diagnostic, KernelError, ToolchainError
from argus.dsl.frontend import parse
from argus.dsl.ir.printer import show
from argus.dsl.ir.verify import check_sizes, verify
from argus.dsl.layout import Var
from argus.dsl.transform import to_core

app = typer.Typer()


class Emit(StrEnum):
    """What to print."""

    ir = "ir"
    tir = "tir"
    ll = "ll"
    asm = "asm"
    cu = "cu"
    object = "object"
    report = "report"


@app.command(name="compile")
def compile_(
    file: Annotated[Path, typer.Argument(help="A file with one kernel, or with several and --kernel.")],
    target: Annotated[str, typer.Option(help="gfx942 or sm_90a; must be the kernel's own.")] = "gfx942",
    emit: Annotated[Emit, typer.Option(help="What to print.")] = Emit.report,
    shape: Annotated[str | None, typer.Option(help="Sizes for the estimate: m=4096,n=4096,k=4096.")] = None,
    kernel: Annotated[str | None, typer.Option(help="Which kernel of the file.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File instead of standard output.")] = None,
) -> None:
    """Compile a kernel; `asm` of sm_90a is PTX. Exit 0: done; 2: no kernel, or a wrong target; 3: toolchain trouble."""
    as_json = emit is Emit.report
    text = read_kernel(file, json=as_json)
    sizes = parse_shape(shape, json=as_json)
    try:
        parsed = parse(text, str(file), kernel=kernel)
        _same_target(parsed, target, emit)
        symbols = _symbols(parsed, sizes)
        if symbols:
            check_sizes(parsed, symbols)
        content = _emitted(parsed, text, file, kernel, emit, symbols)
    except KernelError as error:
        refuse(error, text, json=as_json)
    except ToolchainError as error:
        fail("toolchain", str(error), str(file), json=as_json)
    _write(content, output)


def _emitted(
    parsed: ir.Kernel, text: str, file: Path, kernel: str | None, emit: Emit, sizes: dict[str, int] | None
) -> bytes:
    if emit is Emit.ir:
        return show(to_core(parsed)).encode()
    if parsed.target == "sm_90a":
        return _cuda(parsed, text, emit)
    from argus.dsl.codegen.artifact import Artifact  # noqa: PLC0415 - printing IR needs no compiler
    from argus.tools.compile import compile_kernel  # noqa: PLC0415

    result = compile_kernel(text, sizes=sizes, kernel=kernel, file=str(file))
    if emit is Emit.report:
        return (result.report.model_dump_json(indent=2) + "\n").encode()
    assert emit is not Emit.cu, "refused with the target"
    return Artifact.load(result.directory).emit(emit.value)


def _cuda(parsed: ir.Kernel, text: str, emit: Emit) -> bytes:
    """CUDA C needs no tools; what follows it needs nvcc. `asm` is PTX."""
    from argus.dsl.codegen.nvcc import build_cuda  # noqa: PLC0415
    from argus.dsl.lower import CudaKernel, lower  # noqa: PLC0415

    core = to_core(parsed)
    verify(core)
    lowered = lower(core)
    assert isinstance(lowered, CudaKernel)
    if emit is Emit.cu:
        return lowered.source.encode()
    with tempfile.TemporaryDirectory() as folder:
        artifact = build_cuda(lowered, hashlib.sha256(text.encode()).hexdigest(), Path(folder))
        if emit is Emit.report:
            return (artifact.report.model_dump_json(indent=2) + "\n").encode()
        assert emit in (Emit.asm, Emit.object), "refused with the target"
        return artifact.emit("asm" if emit is Emit.asm else "object")


def _same_target(parsed: ir.Kernel, target: str, emit: Emit) -> None:
    if target != parsed.target:
        raise _refused(Code.BAD_TARGET, f"the kernel is for {parsed.target}, not {target!r}", parsed, "")
    if emit is Emit.cu and target != "sm_90a":
        raise _refused(Code.BAD_TARGET, "CUDA C is emitted for sm_90a kernels alone", parsed, "use --emit ll or asm")
    if emit in (Emit.tir, Emit.ll) and target == "sm_90a":
        message = f"kernels for sm_90a have no {emit.value}: they become CUDA C"
        raise _refused(Code.BAD_TARGET, message, parsed, "use --emit cu or asm")


def _symbols(parsed: ir.Kernel, sizes: dict[str, int]) -> dict[str, int] | None:
    """Sizes by the kernel's own symbols: `m` names the symbol `M`, and a symbol names itself."""
    if not sizes:
        return None
    tensors = [p for p in parsed.params if isinstance(p, ir.TensorParam)]
    known = {extent.name for p in tensors for extent in p.shape if isinstance(extent, Var)}
    full: dict[str, int] = {}
    for name, value in sizes.items():
        symbol = name if name in known else name.upper()
        if symbol not in known:
            raise _refused(
                Code.BAD_SIZE, f"the kernel has no size {name!r}", parsed, f"sizes are {', '.join(sorted(known))}"
            )
        full[symbol] = value
    if missing := sorted(known - set(full)):
        raise _refused(Code.BAD_SIZE, f"no value for {', '.join(missing)}", parsed, "give every size in --shape")
    return full


def _refused(code: Code, message: str, parsed: ir.Kernel, hint: str) -> KernelError:
    return KernelError(Diagnostic(code=code, message=message, span=parsed.span, hint=hint))


def _write(content: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(content)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        fail("input", f"cannot write: {error.strerror}", str(output))
