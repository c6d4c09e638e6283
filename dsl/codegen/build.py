"""A lowered kernel to an artifact, in this process; LLVM may end it, so the pool calls this in a worker."""

from __future__ import annotations

from pathlib import Path

from argus.dsl.codegen import llvm, tir
from argus.dsl.codegen.artifact import MANIFEST, Argument, Artifact, Manifest, Parameter, write_emissions
from argus.dsl.codegen.codeobject import KernelMetadata, read_kernel
from argus.dsl.codegen.link import link
from argus.dsl.codegen.versions import tool_versions
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.lower.lowered import Lowered

TARGET = "gfx942"


def build(lowered: Lowered, directory: Path, kernel_sha: str) -> Artifact:
    """Compile for gfx942 and write the artifact into `directory`.

    Args:
        lowered: The kernel.
        directory: Exists; files of an earlier artifact are overwritten.
        kernel_sha: sha256 of the kernel text, for the manifest.

    Raises:
        KernelError: If the kernel exceeds a limit of the target.
        ToolchainError: If TVM, LLVM or the linker fails and survives it.
    """
    ir = _ir(lowered)
    budget = llvm.Budget(lowered.threads, lowered.waves_per_eu, lowered.agpr)
    code = llvm.generate(ir, lowered.device_ll, lowered.symbol, budget)
    hsaco = link(code.object)
    files = write_emissions(
        directory,
        {"tir": tir.script(lowered.func).encode(), "ll": code.ll.encode(), "asm": code.asm.encode(), "object": hsaco},
    )
    manifest = _manifest(lowered, ir.arguments, read_kernel(hsaco)).model_copy(
        update={"files": files, "kernel_sha": kernel_sha}
    )
    (directory / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
    return Artifact(directory=directory, manifest=manifest)


def _ir(lowered: Lowered) -> tir.Ir:
    # TVM reports what it dislikes as builtin exceptions of many types, its own among them.
    try:
        return tir.llvm_ir(lowered.func, lowered.threads)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise ToolchainError(f"TVM cannot compile {lowered.symbol}: {error}") from error


def _manifest(lowered: Lowered, arguments: tuple[str, ...], metadata: KernelMetadata) -> Manifest:
    """Launch facts: what lowering declared, joined to what the code object says."""
    assert metadata.symbol == lowered.symbol, f"the code object's kernel is {metadata.symbol}, not {lowered.symbol}"
    assert metadata.max_threads == lowered.threads, f"code for {metadata.max_threads} threads, not {lowered.threads}"
    params = {p.name: Parameter(name=p.name, kind=p.kind, dtype=p.dtype) for p in lowered.params}
    strangers = [name for name in arguments if name not in params]
    assert not strangers, f"the code takes arguments {strangers} that the kernel does not declare"
    return Manifest(
        symbol=lowered.symbol,
        target=TARGET,
        params=tuple(params.values()),
        grid=lowered.grid,
        threads=lowered.threads,
        arguments=tuple(
            Argument(**params[name].model_dump(), offset=place.offset, size=place.size)
            for name, place in zip(arguments, metadata.arguments, strict=True)
        ),
        kernarg_bytes=metadata.kernarg_bytes,
        lds_bytes=metadata.lds_bytes,
        scratch_bytes=metadata.scratch_bytes,
        kernel_sha="",
        files={},
        versions=tool_versions(),
    )
