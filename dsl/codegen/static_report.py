"""Everything the assembly of a gfx942 kernel says, in one report."""

from __future__ import annotations

from argus.dsl.codegen.asm import AsmKernel, parse_kernel
from argus.dsl.codegen.estimate import estimate, occupancy_waves
from argus.dsl.codegen.lint import lint
from argus.dsl.codegen.mainloop import count, main_loop, path
from argus.dsl.codegen.report import Registers, Report
from argus.dsl.codegen.workload import Conflicts, Workload
from argus.dsl.targets import gfx942


def static_report(
    asm_text: str,
    *,
    kernel: str,
    workload: Workload | None = None,
    conflicts: Conflicts | None = None,
    mfma_per_tile: int | None = None,
    in_flight: int = 0,
) -> Report:
    """Read LLVM's gfx942 assembly of a kernel.

    Args:
        asm_text: The whole file, metadata included.
        kernel: The kernel's name in the language; of several kernels in the file the one of this name is read.
        workload: The problem and how it is cut; without it there is no estimate.
        conflicts: LDS bank conflicts; they replace the workload's.
        mfma_per_tile: MFMAs of one wave for one iteration of the language's main loop.
        in_flight: Copies to LDS that a wave may have outstanding at a barrier.

    Raises:
        ToolchainError: If the file lacks the kernel or names instructions of unknown timing, or no block fits on a CU.
    """
    read = parse_kernel(asm_text, kernel)
    if workload and conflicts:
        workload = workload.with_conflicts(conflicts)
    body = path(read, main_loop(read)).body
    waves = workload.waves if workload else max(1, read.metadata.workgroup_size // gfx942.LANES)
    return Report(
        kernel=kernel,
        target="gfx942",
        registers=Registers(vgpr=read.metadata.vgpr, agpr=read.metadata.agpr, sgpr=read.metadata.sgpr),
        spills=read.metadata.spills,
        scratch_bytes=read.metadata.scratch_bytes,
        lds_bytes=read.metadata.lds_bytes,
        occupancy_waves=occupancy_waves(read.metadata, waves),
        main_loop=count(body, mfma_per_tile),
        estimate=estimate(read, workload) if workload else None,
        lint=(*_lint_launch(read, waves), *lint(read, in_flight=in_flight)),
    )


def _lint_launch(read: AsmKernel, waves: int) -> tuple[str, ...]:
    allowed, launched = read.metadata.workgroup_size, waves * gfx942.LANES
    if allowed == launched:
        return ()
    what = "cannot be launched so" if allowed < launched else "had its registers budgeted for more waves than run"
    return (f"the code object allows {allowed} threads a block and the kernel launches {launched}: it {what}",)
