"""Basic blocks and metadata."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from argus.dsl.codegen.asm import Metadata, parse_kernel
from argus.dsl.diagnostics import ToolchainError

Asm = Callable[..., str]
Golden = Callable[[str], str]


def test_blocks_and_branches(asm: Asm) -> None:
    kernel = parse_kernel(
        asm("""
            s_mov_b32 s0, 0
            s_cbranch_scc1 .L2       ; leave
        .L1:
            s_add_i32 s0, s0, 1
            s_cbranch_scc0 .L1
            s_branch .L3
        .L2:
            s_nop 0
        .L3:
        """)
    )
    assert [(b.label, len(b.instructions), b.successors) for b in kernel.blocks] == [
        (None, 2, (1, 3)),
        (".L1", 2, (2, 1)),
        (None, 1, (4,)),
        (".L2", 1, (4,)),
        (".L3", 1, ()),
    ]


def test_lines_are_those_of_the_file(golden: Golden) -> None:
    text = golden("single_64")
    lines = text.splitlines()
    instructions = [x for b in parse_kernel(text).blocks for x in b.instructions]
    assert all(x.mnemonic == lines[x.line - 1].split()[0] for x in instructions)
    # Helpers that the file holds as well are left out.
    own = text[text.index("gemm_kernel:") : text.index(".Lfunc_end0")]
    assert len(instructions) == len(re.findall(r"^\t[sv]_|^\tds_|^\tglobal_", own, re.MULTILINE))
    assert "s_setpc_b64" in text


def test_metadata(golden: Golden) -> None:
    assert parse_kernel(golden("counted_copies_128")).metadata == Metadata(
        vgpr=110,
        agpr=0,
        sgpr=24,
        allocated_vgprs=257,  # LDS admits one wave a SIMD, so LLVM takes the registers that this leaves
        spills=0,
        lds_bytes=49152,
        scratch_bytes=0,
        workgroup_size=256,
    )


def test_metadata_of_both_register_classes(asm: Asm) -> None:
    told = parse_kernel(asm("s_nop 0", vgpr=100, agpr=64, lds=512, scratch=16, spills=3, threads=512)).metadata
    assert (told.vgpr, told.agpr, told.allocated_vgprs, told.spills) == (100, 64, 164, 3)
    assert (told.lds_bytes, told.scratch_bytes, told.workgroup_size) == (512, 16, 512)


def test_which_kernel(asm: Asm) -> None:
    two = asm("s_nop 0", name="a_kernel") + asm("s_nop 1\ns_nop 2", name="b")
    assert len(parse_kernel(two, "a").blocks[0].instructions) == 2
    assert len(parse_kernel(two, "b").blocks[0].instructions) == 3
    assert parse_kernel(asm("s_nop 0", name="a"), "called_otherwise").name == "a"
    for name in (None, "c"):
        with pytest.raises(ToolchainError, match=r"holds kernels \['a_kernel', 'b'\]"):
            parse_kernel(two, name)


def test_no_kernel() -> None:
    with pytest.raises(ToolchainError, match="holds kernels"):
        parse_kernel("\t.text\n")


def test_branch_to_nowhere(asm: Asm) -> None:
    with pytest.raises(ToolchainError, match=r"line 4 branches to '\.L9'"):
        parse_kernel(asm("s_branch .L9"))
