"""compile_kernel: kernel text to an artifact with its static report, and the numeric tests of what was compiled."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from argus.dsl import ir
from argus.dsl.check import check
from argus.dsl.codegen.artifact import Artifact
from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.report import Report
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.codegen.static_report import static_report
from argus.dsl.diagnostics import CheckReport
from argus.dsl.frontend import parse
from argus.dsl.transform import to_core
from argus.tools.results import CompileResult
from argus.tools.workload import kernel_shape, workload

DEFAULT_CACHE = Path(".argus") / "artifacts"
REPORT = "report.json"


def compile_kernel(
    text: str,
    *,
    sizes: Mapping[str, int] | None = None,
    directory: Path | None = None,
    kernel: str | None = None,
    file: str = "<kernel>",
    cache: Path = DEFAULT_CACHE,
) -> CompileResult:
    """Compile one kernel in a worker process of its own.

    Args:
        text: Kernel text.
        sizes: Size symbols; with them the report holds an estimate.
        directory: Where the artifact is copied; it stays in the cache without one.
        kernel: Which kernel of the text.
        file: Name for diagnostics.
        cache: Folder of artifacts by content.

    Raises:
        KernelError: The kernel is at fault.
        ToolchainError: TVM, LLVM, the linker or the worker process is.
    """
    start = time.perf_counter()
    core = to_core(parse(text, file, kernel=kernel))
    request = CompileRequest(text=text, target=core.target, kernel=kernel, file=file)
    with CompilerPool(cache, workers=1) as pool:
        artifact = pool.compile_now(request)
    checked = check(text, kernel=kernel, replay=False) if sizes else None
    return finish(artifact, core, sizes=sizes, checked=checked, directory=directory, start=start)


def finish(
    artifact: Artifact,
    core: ir.Kernel,
    *,
    sizes: Mapping[str, int] | None,
    checked: CheckReport | None,
    directory: Path | None,
    start: float,
) -> CompileResult:
    """Copy an artifact to its folder and read its assembly."""
    kept = artifact.save(directory) if directory is not None else artifact
    report = assembly_report(kept.asm_path.read_text("utf-8"), core, sizes, checked)
    (kept.directory / REPORT).write_text(report.model_dump_json(indent=1), "utf-8")
    return CompileResult(
        directory=kept.directory,
        object_path=kept.object_path,
        asm_path=kept.asm_path,
        report=report,
        seconds=time.perf_counter() - start,
    )


def assembly_report(
    asm_text: str, core: ir.Kernel, sizes: Mapping[str, int] | None, checked: CheckReport | None
) -> Report:
    """The static report; with sizes and the checker's bank conflicts it holds an estimate."""
    shape = kernel_shape(core)
    work = workload(core, sizes, checked) if sizes is not None and checked is not None else None
    return static_report(
        asm_text, kernel=core.name, workload=work, mfma_per_tile=shape.mfma_per_tile, in_flight=shape.in_flight
    )
