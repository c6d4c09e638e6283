"""compile_kernel for sm_90a: kernel text to CUDA C, whose meaning is compared with the text's, to a cubin."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from argus.dsl import ir
from argus.dsl.codegen.cuda_report import CudaReport
from argus.dsl.codegen.hopper_estimate import estimate
from argus.dsl.codegen.nvcc import FILES, CudaArtifact, build_cuda
from argus.dsl.codegen.report import Estimate, MainLoop, Registers, Report
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.frontend import parse
from argus.dsl.ir.verify import verify
from argus.dsl.kernels import Problem
from argus.dsl.layout import evaluate
from argus.dsl.lower import CudaKernel, lower
from argus.dsl.lower.sm_90a.audit import differences
from argus.dsl.transform import to_core
from argus.tools.hopper_work import hopper_work
from argus.tools.results import CompileResult

# The printed text is compared with core form at the last of these that the kernel takes: several tiles a block, tails,
# the ring wraps.
AUDIT_SIZES: tuple[Mapping[str, int], ...] = (
    {"M": 72, "N": 264, "K": 136},
    {"M": 72, "N": 265, "K": 136},
    {"M": 71, "N": 265, "K": 137},
)
CACHE = "sm_90a"


def compile_cuda(text: str, problem: Problem, directory: Path, cache: Path) -> CompileResult:
    """CUDA C, PTX, cubin, manifest and report in `directory`.

    Without the CUDA toolkit the CUDA C is there all the same, and the error says what is missing.

    Raises:
        KernelError: The kernel is at fault, or uses what is not lowered yet.
        ToolchainError: nvcc or ptxas is missing or refuses the text, or the text does not mean what the kernel does.
    """
    start = time.perf_counter()
    core = to_core(parse(text))
    verify(core)
    lowered = lower(core)
    assert isinstance(lowered, CudaKernel), "a kernel for sm_90a is lowered to CUDA C"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FILES["cu"]).write_text(lowered.source, "utf-8")
    artifact, cached = _built(core, lowered, text, directory, cache)
    return CompileResult(
        directory=directory,
        object_path=directory / FILES["object"],
        asm_path=directory / FILES["asm"],
        report=cuda_report(core, artifact.report, problem),
        seconds=time.perf_counter() - start,
        cached=cached,
    )


def taken(sizes: Sequence[Mapping[str, int]], kernel: ir.Kernel) -> list[Mapping[str, int]]:
    """Those sizes that the kernel's contract allows."""
    return [s for s in sizes if all(evaluate(e, s) for e in kernel.where)]


def cuda_report(core: ir.Kernel, found: CudaReport, problem: Problem) -> Report:
    """Ptxas's report with an estimate at the problem's shape; registers are a thread's."""
    work = hopper_work(core, problem.sizes, problem.shape)
    time_us: Estimate | None = estimate(work, found) if work is not None else None
    return Report(
        kernel=found.kernel,
        target=found.target,
        registers=Registers(vgpr=found.registers.regs, agpr=0, sgpr=0),
        spills=found.spills,
        scratch_bytes=found.scratch_bytes,
        lds_bytes=found.lds_bytes,
        occupancy_waves=found.occupancy_waves,
        main_loop=MainLoop(mfma=work.mma_steps * work.atoms if work else 0),
        estimate=time_us,
        lint=found.lint,
    )


def _built(core: ir.Kernel, lowered: CudaKernel, text: str, directory: Path, cache: Path) -> tuple[CudaArtifact, bool]:
    """The artifact, from the cache where the same text and CUDA C were compared and compiled before."""
    text_sha = hashlib.sha256(text.encode()).hexdigest()
    key = hashlib.sha256(f"{text_sha}\n{lowered.source}".encode()).hexdigest()
    kept = cache / CACHE / key[:32]
    try:
        CudaArtifact.load(kept)
    except ToolchainError:
        if wrong := differences(core, lowered, taken(AUDIT_SIZES, core)[-1], blocks=1):
            raise ToolchainError(f"the lowering is wrong: {wrong[0]}") from None
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
            build_cuda(lowered, text_sha, Path(scratch) / "built")
            shutil.rmtree(kept, ignore_errors=True)
            (Path(scratch) / "built").replace(kept)
        cached = False
    else:
        cached = True
    shutil.copytree(kept, directory, dirs_exist_ok=True)
    return CudaArtifact.load(directory), cached
