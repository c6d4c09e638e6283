"""The check of the lowering: silent on what the printer prints, loud on planted mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from argus.dsl.frontend import parse
from argus.dsl.ir import Kernel
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.dsl.lower import CudaKernel, lower
from argus.dsl.lower.sm_90a.audit import differences
from argus.dsl.transform import to_core

SCHEDULES = {
    "128x256": HopperGemmSchedule(tile=(128, 256, 64), stages=4),
    "256x128": HopperGemmSchedule(tile=(256, 128, 64), stages=3, group_m=1),
    "128x192": HopperGemmSchedule(tile=(128, 192, 64), stages=5, group_m=2),
    "128x64, nothing kept": HopperGemmSchedule(tile=(128, 64, 64), stages=3, keep=0),
    "64x256 in turn": HopperGemmSchedule(tile=(128, 256, 64), stages=2, consumers_take="tiles"),
}
SWAPPED = HopperGemmSchedule(tile=(32, 128, 64), stages=2, swap=True)
SMALL = HopperGemmSchedule(tile=(128, 128, 64), stages=2, group_m=2)
SIZES = {"M": 72, "N": 136, "K": 136}
Mistake = Callable[[CudaKernel], CudaKernel]


def lowered(schedule: HopperGemmSchedule) -> tuple[Kernel, CudaKernel]:
    problem = make_problem(task_named("gemm"), target="sm_90a")
    core = to_core(parse(hopper_gemm.text(schedule, problem)))
    made = lower(core)
    assert isinstance(made, CudaKernel)
    return core, made


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_printed_text_does_what_core_form_says(name: str) -> None:
    core, made = lowered(SCHEDULES[name])
    assert differences(core, made, {"M": 300, "N": 264, "K": 200}) == []


def test_the_printed_text_of_a_small_kernel_does_what_core_form_says() -> None:
    core, made = lowered(SMALL)
    assert differences(core, made, SIZES, blocks=1) == []


@pytest.mark.slow
def test_the_printed_text_of_swapped_operands_does_what_core_form_says() -> None:
    core, made = lowered(SWAPPED)
    assert differences(core, made, SIZES, blocks=1) == []


@pytest.mark.slow
def test_accumulators_that_are_zeroed_first_do_what_core_form_says() -> None:
    """A loop that may run no time leaves zeros; where it runs, its first MMA adds to them."""
    text = hopper_gemm.text(SMALL, make_problem(task_named("gemm"), target="sm_90a"))
    loop = "for kt in range(cdiv(K, 64)):"
    assert text.count(loop) == 2
    core = to_core(parse(text.replace(loop, "for kt in range(K // 64):")))
    made = lower(core)
    assert isinstance(made, CudaKernel)
    assert " zero(acc" in made.source
    assert differences(core, made, SIZES, blocks=1) == []
    late = made.source.replace("wgmma_wait<0>();", "wgmma_wait<0>();\nzero(acc[0]);")
    assert "zero" in differences(core, replace(made, source=late), SIZES, blocks=1)[0]


def edit(old: str, new: str) -> Mistake:
    def change(made: CudaKernel) -> CudaKernel:
        assert old in made.source, old
        return replace(made, source=made.source.replace(old, new))

    return change


def other_box(made: CudaKernel) -> CudaKernel:
    first, *others = made.maps
    return replace(made, maps=(replace(first, box=(64, 64)), *others))


def no_swizzle(made: CudaKernel) -> CudaKernel:
    return replace(made, maps=tuple(replace(m, swizzle="none") for m in made.maps))


MISTAKES: dict[str, tuple[Mistake, str]] = {
    "descriptor stride": (edit("(64ull << 32)", "(32ull << 32)"), "descriptor"),
    "descriptor layout": (edit("(1ull << 62)", "(2ull << 62)"), "descriptor"),
    "k step": (edit("r_As_rows + 4,", "r_As_rows + 2,"), "mma"),
    "operand rows": (edit("+ g * 64 * 128)", ")"), "mma"),
    "stage bytes": (edit("* 16384", "* 8192"), "r.As"),
    "parity of a full stage": (edit(">> 1) & 1);", ">> 1) + 1 & 1);"), "wait"),
    "parity of an empty stage": (edit(">> 1) - 1) & 1)", ">> 1)) & 1)"), "wait"),
    "byte count": (edit(", 32768);", ", 16384);"), "expect"),
    "arrival count": (edit("8 * i, 8);", "8 * i, 2);"), "initialised"),
    "box": (other_box, "load"),
    "swizzle of the maps": (no_swizzle, "load"),
    "first MMA adds": (edit("int acc_holds = 0;", "int acc_holds = 1;"), "mma"),
    "trip count": (edit("kt < cdiv(K, 64)", "kt < K / 64"), ""),
    "raster": (edit("int bn = quo(rem(", "int bn = rem(rem("), "load"),
    "epilogue swizzle": (edit("^ (lane % 8)", "^ (lane % 4)"), "stmatrix"),
    "epilogue rows": (edit("lane % 16) * 128", "lane % 8) * 128"), "stmatrix"),
    "epilogue columns": (edit("y[0] + 4)", "y[0] + 8)"), "stmatrix"),
    "epilogue pairs": (edit("acc[0][2 * i + 1]", "acc[0][2 * i]"), "stmatrix"),
    "store column": (edit("2 * bn * 64", "bn * 64"), "store"),
    "barrier of both groups": (edit("named_barrier(3 + g, 128)", "named_barrier(3, 128)"), "barrier"),
    "missing fence": (edit("    fence_async();\n", ""), "fence"),
    "stage freed before its MMAs": (edit("wgmma_wait<1>", "wgmma_wait<2>"), "batch wait"),
    "epilogue buffer reused": (edit("bulk_wait_read<1>", "bulk_wait_read<2>"), "wait groups"),
    "register budget": (edit("more_registers<232>", "more_registers<240>"), "registers"),
    "shared memory": (lambda made: replace(made, shared_bytes=made.shared_bytes - 1024), "shared memory"),
    "unknown statement": (edit("fence_async();", "goto end;"), "cannot read"),
}


QUICK = {"descriptor stride", "byte count", "parity of a full stage", "epilogue swizzle", "barrier of both groups"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in MISTAKES])
def test_a_mistake_of_the_lowering_is_found(name: str) -> None:
    core, made = lowered(SMALL)
    mistake, said = MISTAKES[name]
    found = differences(core, mistake(made), SIZES, blocks=1)
    assert any(said in text for text in found), found


SWAPPED_MISTAKES: dict[str, tuple[Mistake, str]] = {
    "not transposed": (edit("store_matrix_transposed(o", "store_matrix(o"), "stmatrix"),
    "rows of the matrices": (edit("(lane / 16 * 8 + lane % 8) * 128", "(lane % 16) * 128"), "stmatrix"),
    "chunks of the warps": (edit("(warp % 4 * 2 + lane / 8 % 2)", "(warp % 4 + lane / 8 % 2)"), "stmatrix"),
    "operands the wrong way round": (edit("r_Bs_rows + 2, r_As_rows + 2", "r_As_rows + 2, r_Bs_rows + 2"), "mma"),
    "second step of sixteen rows": (edit("g * 4096 + 2048", "g * 4096 + 1024"), "stmatrix"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [n if i == 0 else pytest.param(n, marks=pytest.mark.slow) for i, n in enumerate(SWAPPED_MISTAKES)]
)
def test_a_mistake_of_lowering_swapped_operands_is_found(name: str) -> None:
    core, made = lowered(SWAPPED)
    mistake, said = SWAPPED_MISTAKES[name]
    found = differences(core, mistake(made), SIZES, blocks=1)
    assert any(said in text for text in found), found


# ------------------------------------------------------------------------------------------- mma.sync

MMA = HopperGemmSchedule(engine="mma", tile=(32, 32, 32), stages=2, leave="direct", grid=(1, 2))
WARPS = {
    "copies in the background": (MMA, {"M": 40, "N": 36, "K": 72}),
    "loads and stores": (MMA.model_copy(update={"staging": "register"}), {"M": 37, "N": 35, "K": 41}),
    "direct stores of wgmma": (
        HopperGemmSchedule(tile=(64, 32, 64), consumers=1, stages=2, leave="direct"),
        {"M": 37, "N": 35, "K": 72},
    ),
}


def at_pitch(name: str) -> tuple[Kernel, CudaKernel, dict[str, int]]:
    schedule, sizes = WARPS[name]
    problem = make_problem(task_named("gemm"), shape={k.lower(): v for k, v in sizes.items()}, target="sm_90a")
    core = to_core(parse(hopper_gemm.text(schedule, problem)))
    made = lower(core)
    assert isinstance(made, CudaKernel)
    return core, made, sizes


@pytest.mark.slow
@pytest.mark.parametrize("name", WARPS)
def test_what_lanes_do_each_for_itself_is_what_core_form_says(name: str) -> None:
    core, made, sizes = at_pitch(name)
    assert differences(core, made, sizes, blocks=1) == []


COPIES, MOVES, DIRECT = WARPS
WARP_MISTAKES: dict[str, tuple[str, Mistake, str]] = {
    "swizzle of copies": (COPIES, edit("(column ^ (row / 2 % 4))", "(column ^ (row % 4))"), "chunk copy"),
    "bounds of copies": (COPIES, edit("+ column * 8, M, K)", "+ column * 8, N, K)"), "chunk copy"),
    "stage of copies": (COPIES, edit("((kt + 1) & 1)", "(kt & 1)"), "chunk copy"),
    "groups pending": (COPIES, edit("copy_wait<0>", "copy_wait<1>"), "wait groups"),
    "barrier": (COPIES, edit("      block_barrier();\n", ""), "barrier"),
    "swizzle of matrices": (COPIES, edit("^ (lane % 8 / 2 % 4)", "^ (lane % 4)"), "matrices"),
    "matrices of B": (COPIES, edit("(lane / 16 * 8 + lane % 8)", "(lane % 16)"), "matrices"),
    "k of A": (COPIES, edit("((0 + lane / 16)", "((1 + lane / 16)"), "matrices"),
    "columns of a warp": (COPIES, edit("warp % 2 * 16", "warp * 32"), ""),
    "registers of B": (COPIES, edit("b[j / 2] + j % 2 * 2", "b[j / 2] + j % 2"), "mma sync"),
    "zeros": (COPIES, edit("zero(acc[i]);", "hold(acc[i]);"), "zero"),
    "width of pieces": (MOVES, edit("load_chunk<1>", "load_chunk<2>"), "pieces of 2"),
    "store of chunks": (MOVES, edit("store_chunk(As + ((kt + 1) & 1)", "store_chunk(As + (kt & 1)"), "chunk store"),
    "width of pairs": (DIRECT, edit("store_pair<1>", "store_pair<2>"), "pieces of 2"),
    "rows of pairs": (DIRECT, edit("+ i % 2 * 8", "+ i % 2 * 4"), "pair"),
    "values of pairs": (DIRECT, edit("acc[0][2 * i + 1]", "acc[0][2 * i]"), "pair"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WARP_MISTAKES)
def test_a_mistake_of_what_lanes_do_is_found(name: str) -> None:
    kind, mistake, said = WARP_MISTAKES[name]
    core, made, sizes = at_pitch(kind)
    found = differences(core, mistake(made), sizes, blocks=1)
    assert any(said in text for text in found), found


# ------------------------------------------------------------------------------------------ in turn

IN_TURN = HopperGemmSchedule(tile=(128, 64, 64), stages=2, group_m=2, consumers_take="tiles")
TURN = "      named_barrier(4, 256);\n"
TURN_MISTAKES: dict[str, tuple[Mistake, str]] = {
    "turn of one consumer": (edit("named_barrier(4, 256)", "named_barrier(4, 128)"), "barrier"),
    "barrier of one role": (edit("named_barrier(4, 256)", "named_barrier(3, 256)"), "barrier"),
    "no turn": (edit(TURN, ""), "barrier"),
    "ring of the other": (edit("mbar_wait(r1_full", "mbar_wait(r0_full"), "wait"),
    "arrivals of both": (edit("mbar_init(r1_empty + 8 * i, 4)", "mbar_init(r1_empty + 8 * i, 8)"), "initialised"),
    "tile of the other": (edit("(2 * bm + 1) * 64", "2 * bm * 64"), "load"),
}


def test_the_printed_text_of_consumers_in_turn_does_what_core_form_says() -> None:
    core, made = lowered(IN_TURN)
    assert differences(core, made, SIZES, blocks=1) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TURN_MISTAKES)
def test_a_mistake_of_lowering_turns_is_found(name: str) -> None:
    core, made = lowered(IN_TURN)
    mistake, said = TURN_MISTAKES[name]
    found = differences(core, mistake(made), SIZES, blocks=1)
    assert any(said in text for text in found), found


# ------------------------------------------------------------------------------------------ clusters

PAIRED = HopperGemmSchedule(tile=(128, 64, 64), stages=2, cluster=2, group_m=2)
PAIRED_MISTAKES: dict[str, tuple[Mistake, str]] = {
    "part of the rows": (edit("+ rank * 32, r_full", "+ rank * 16, r_full"), "load to all"),
    "part of the stage": (edit("* 8192 + rank * 4096", "* 8192 + rank * 2048"), "load to all"),
    "one block alone": (edit("& 1), 3);", "& 1), 1);"), "load to all"),
    "arrivals of both blocks": (edit("8 * i, 16);", "8 * i, 8);"), "initialised"),
    "arrival in the other block": (edit("if (lane < 2) mbar_arrive_at", "if (lane < 1) mbar_arrive_at"), "arrive at"),
    "bytes of both parts": (edit(", 24576);", ", 20480);"), "expect"),
    "blocks wait for each other": (edit("  cluster_barrier();  //", "  //"), "cluster"),
}


@pytest.mark.slow
def test_the_printed_text_of_a_cluster_does_what_core_form_says() -> None:
    core, made = lowered(PAIRED)
    assert made.grid.startswith("min(sms // 2 * 2, ")
    assert differences(core, made, SIZES) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRED_MISTAKES)
def test_a_mistake_of_lowering_a_cluster_is_found(name: str) -> None:
    core, made = lowered(PAIRED)
    mistake, said = PAIRED_MISTAKES[name]
    found = differences(core, mistake(made), {"M": 72, "N": 72, "K": 136})
    assert any(said in text for text in found), found
