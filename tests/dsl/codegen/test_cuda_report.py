"""Lints of CUDA kernels: what slows a kernel down is found, with the line of the kernel text that it comes from."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from argus.dsl.codegen.cuda_report import Listings, read_report
from argus.dsl.codegen.listing import read_ptx, read_sass, without_lines
from argus.dsl.codegen.nvcc import build_cuda
from argus.dsl.frontend import parse
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.dsl.lower import CudaKernel, lower
from argus.dsl.transform import to_core

GOOD = "Used 90 registers, 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
PTX = """\
.visible .entry gemm()
{
	.loc	1 100 3
	fence.acq_rel.gpu;
$L__BB0_2:
	.loc	1 40 5, function_name $L__info_string1, inlined_at 1 104 7
	.loc	2 9 5, function_name $L__info_string2, inlined_at 1 40 5
	wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1}, %rd1, %rd2, p, 1, 1, 0, 0;
	.loc	1 106 7
	fence.acq_rel.cluster;
	@%p1 bra 	$L__BB0_2;
	ret;
}
	.file	1 "/somewhere/kernel.cu"
	.section	.debug_str
	{
	}
"""
SASS = """\
	//## File "/somewhere/kernel.cu", line 102
        /*0000*/                   STL [R1], R2 ;
.L_x_1:
	//## File "/x/include/cuda_bf16.hpp", line 12 inlined at "/somewhere/kernel.cu", line 40
	//## File "/somewhere/kernel.cu", line 40 inlined at "/somewhere/kernel.cu", line 106
	//## File "/somewhere/kernel.cu", line 106
        /*0010*/                   LDL R2, [R1] ;
        /*0020*/                   CCTL.IVALL ;
        /*0030*/               @P0 BRA `(.L_x_1) ;
        /*0040*/                   EXIT ;
.L_x_2:
        /*0050*/                   BRA `(.L_x_2);
"""
# CUDA line 100 + i comes from line 10 + i of the kernel text.
LINES = (0,) * 99 + tuple(range(10, 20))
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")


def lint(found: Listings) -> tuple[str, ...]:
    return read_report("gemm", found, shared_bytes=0, threads=128).lint


def test_an_inlined_instruction_is_the_caller_s() -> None:
    found = {i.text.split()[0].rstrip(";"): (i.line, i.in_loop) for i in read_ptx(PTX)}
    assert found["wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"] == (104, True)
    assert found["fence.acq_rel.gpu"] == (100, False)
    assert found["fence.acq_rel.cluster"] == (106, True)


def test_sass_knows_lines_and_loops() -> None:
    found = [(i.text.split()[0], i.line, i.in_loop) for i in read_sass(SASS)]
    assert found[:3] == [("STL", 102, False), ("LDL", 106, True), ("CCTL.IVALL", 106, True)]
    assert found[-1] == ("BRA", 106, False)  # the idle branch after the end


def test_a_wide_fence_counts_in_a_loop_alone() -> None:
    assert lint(Listings(GOOD, PTX, lines=LINES)) == (
        "line 16: `fence.acq_rel.cluster` reaches beyond the block, in a loop",
    )


def test_a_warning_of_ptxas_names_the_matrix_instructions() -> None:
    said = "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized"
    (first, *_) = lint(Listings(f"{GOOD}\n{said}", PTX, lines=LINES))
    assert first.startswith("line 14: C7510: wgmma instructions are serialised")


def test_spills_and_invalidations_are_found_in_sass() -> None:
    spilled = "Used 90 registers, 8 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads"
    found = lint(Listings(spilled, "", SASS, LINES))
    assert found == (
        "line 16: 16 bytes are spilled to local memory, in a loop",
        "line 16: `CCTL.IVALL` reaches beyond the block, in a loop",
    )
    local = lint(Listings(spilled.replace(" 8 bytes spill", " 0 bytes spill"), "", "", LINES))
    assert local == ("8 bytes of local memory: an array is indexed by a variable",)


def test_the_stored_ptx_knows_no_path() -> None:
    stored = without_lines(PTX)
    assert "somewhere" not in stored
    assert ".loc" not in stored
    assert stored.rstrip().endswith("}")


WGMMA = HopperGemmSchedule(tile=(64, 64, 64), consumers=1)
MMA_SYNC = HopperGemmSchedule(engine="mma", tile=(128, 128, 32), leave="direct")


def lowered(schedule: HopperGemmSchedule) -> tuple[str, CudaKernel]:
    problem = make_problem(task_named("gemm"), target="sm_90a")
    text = hopper_gemm.text(schedule, problem)
    made = lower(to_core(parse(text)))
    assert isinstance(made, CudaKernel)
    return text, made


@needs_nvcc
@pytest.mark.slow
def test_a_fence_in_the_main_loop_names_its_line(tmp_path: Path) -> None:
    text, made = lowered(WGMMA)
    assert build_cuda(made, "", tmp_path / "good").report.lint == ()
    old = "wgmma_commit();"
    fenced = replace(made, source=made.source.replace(old, f"{old} __threadfence();"))
    found = build_cuda(fenced, "", tmp_path / "fenced").report.lint
    assert found
    number = int(found[0].split(":")[0].split()[-1].split(",")[0])
    assert "with r.use(" in text.splitlines()[number - 1]


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize("tile", [(128, 256, 64), (256, 128, 64)])
def test_consumers_in_turn_compile_without_complaint(tile: tuple[int, int, int], tmp_path: Path) -> None:
    _, made = lowered(HopperGemmSchedule(tile=tile, stages=2, consumers_take="tiles"))
    report = build_cuda(made, "", tmp_path).report
    assert (report.lint, report.spills) == ((), 0)


@needs_nvcc
@pytest.mark.slow
def test_too_few_registers_are_told(tmp_path: Path) -> None:
    _, made = lowered(MMA_SYNC)
    tight = replace(made, source=made.source.replace("__launch_bounds__(256, 1)", "__launch_bounds__(256, 4)"))
    found = build_cuda(tight, "", tmp_path).report
    assert found.spills > 0
    assert any("spilled to local memory" in text for text in found.lint)


@needs_nvcc
@pytest.mark.slow
def test_the_portable_form_compiles_for_older_and_newer_gpus(tmp_path: Path) -> None:
    _, made = lowered(MMA_SYNC)
    source = tmp_path / "kernel.cu"
    source.write_text(made.source, "utf-8")
    for arch in ("sm_80", "sm_100"):
        command = ["nvcc", f"-arch={arch}", "-std=c++17", "-cubin", str(source), "-o", str(tmp_path / "out")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
        assert done.returncode == 0, done.stderr
