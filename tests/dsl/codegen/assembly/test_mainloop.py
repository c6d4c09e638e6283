"""Loops, the main one, and what is counted in it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from argus.dsl.codegen.asm import parse_kernel
from argus.dsl.codegen.mainloop import count, main_loop, natural_loops, path
from argus.dsl.codegen.report import MainLoop, Wait

Asm = Callable[..., str]
Golden = Callable[[str], str]

MFMA = "v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], v[0:15]"
NESTED = f"""
        s_mov_b32 s0, 0
    .Louter:
        s_mov_b32 s1, 0
    .Linit:
        v_mov_b32_e32 v0, 0
        v_mov_b32_e32 v1, 0
        v_mov_b32_e32 v2, 0
        s_cbranch_scc0 .Linit
    .Lmain:
        {MFMA}
        s_cbranch_vccz .Lskip
        s_nop 0
        s_nop 1
    .Lskip:
        s_cbranch_scc0 .Lmain
        s_cbranch_scc1 .Louter
        s_nop 5
"""


def test_natural_loops(asm: Asm) -> None:
    kernel = parse_kernel(asm(NESTED))
    label = {i: b.label for i, b in enumerate(kernel.blocks)}
    loops = {label[x.header]: {label[i] for i in x.blocks} for x in natural_loops(kernel)}
    assert loops[".Linit"] == {".Linit"}
    assert loops[".Lmain"] == {".Lmain", None, ".Lskip"}
    assert loops[".Louter"] == {".Louter", ".Linit", ".Lmain", ".Lskip", None}


def test_main_loop_is_the_innermost_with_mfma(asm: Asm) -> None:
    kernel = parse_kernel(asm(NESTED))
    loop = main_loop(kernel)
    assert loop is not None
    assert kernel.blocks[loop.header].label == ".Lmain"


def test_main_loop_without_mfma_is_the_deepest(asm: Asm) -> None:
    kernel = parse_kernel(asm(NESTED.replace(MFMA, "s_nop 7")))
    loop = main_loop(kernel)
    assert loop is not None
    # Both inner loops are as deep; the longer one is taken.
    assert kernel.blocks[loop.header].label == ".Lmain"


def test_of_two_loops_the_one_with_more_mfmas(asm: Asm) -> None:
    kernel = parse_kernel(
        asm(f".L1:\n{MFMA}\n{MFMA}\ns_cbranch_scc0 .L1\n.L2:\n{MFMA}\ns_nop 0\ns_nop 1\ns_cbranch_scc0 .L2")
    )
    loop = main_loop(kernel)
    assert loop is not None
    assert kernel.blocks[loop.header].label == ".L1"


def test_path_takes_the_long_way(asm: Asm) -> None:
    kernel = parse_kernel(asm(NESTED))
    way = path(kernel, main_loop(kernel))
    assert [x.text for x in way.body] == [MFMA, "s_cbranch_vccz .Lskip", "s_nop 0", "s_nop 1", "s_cbranch_scc0 .Lmain"]
    assert [x.text for x in way.prologue if x.kind == "valu"] == [f"v_mov_b32_e32 v{i}, 0" for i in range(3)]
    assert [x.text for x in way.epilogue] == ["s_cbranch_scc1 .Louter", "s_nop 5", "s_endpgm"]


def test_path_avoids_exits_before_the_loop(asm: Asm) -> None:
    """An early way out may be longer than the way to the loop."""
    kernel = parse_kernel(
        asm(f"s_cbranch_scc0 .L1\ns_nop 0\ns_nop 1\ns_nop 2\ns_branch .L2\n.L1:\n{MFMA}\ns_cbranch_scc1 .L1\n.L2:")
    )
    way = path(kernel, main_loop(kernel))
    assert [x.text for x in way.prologue] == ["s_cbranch_scc0 .L1"]
    assert [x.text for x in way.epilogue] == ["s_endpgm"]


def test_straight_line(asm: Asm) -> None:
    kernel = parse_kernel(asm(f"{MFMA}\n{MFMA}"))
    assert main_loop(kernel) is None
    way = path(kernel, None)
    assert (len(way.prologue), way.body, way.epilogue) == (3, (), ())
    assert count(way.body) == MainLoop()


@pytest.mark.parametrize(
    ("name", "mfma_per_tile", "tiles"),
    [("single_64", 4, 4), ("interleaved_128", 16, 1), ("eight_waves_256", 32, 1), ("counted_copies_128", 16, 3)],
)
def test_counts_of_compiled_kernels(golden: Golden, name: str, mfma_per_tile: int, tiles: int) -> None:
    text = golden(name)
    kernel = parse_kernel(text)
    got = count(path(kernel, main_loop(kernel)).body, mfma_per_tile)
    loop = text[text.index(".LBB0_1:") : text.index("s_cbranch_scc1")]

    def times(pattern: str) -> int:
        return len(re.findall(rf"^\t{pattern}", loop, re.MULTILINE))

    assert got.mfma == times("v_mfma")
    assert got.valu == times("v_(?!mfma)")
    assert got.salu == times("s_(?!waitcnt|barrier|nop|setprio|cbranch)")
    assert got.lds_read == times("ds_read")
    assert got.lds_write == times("ds_write")
    assert got.vmem_read == times("(global|buffer)_load")
    assert (got.vmem_write, got.trans) == (0, 0)
    assert got.barriers == times("s_barrier")
    assert len(got.waits) == times("s_waitcnt")
    assert got.tiles == tiles


def test_waits_are_listed_in_order(golden: Golden) -> None:
    kernel = parse_kernel(golden("counted_copies_128"))
    waits = count(path(kernel, main_loop(kernel)).body).waits
    assert waits[:2] == (Wait(vmcnt=16, lgkmcnt=0), Wait(lgkmcnt=2))
