"""What the lints find, and that they find nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from argus.dsl.codegen.asm import parse_kernel
from argus.dsl.codegen.lint import lint

Asm = Callable[..., str]
Golden = Callable[[str], str]

CLEAN = {"single_64": 0, "interleaved_128": 0, "eight_waves_256": 0, "counted_copies_128": 16}
LOAD = "global_load_dwordx4 v[4:7], v[0:1], off"
COPY = "buffer_load_dword v9, s[4:7], 0 offen lds"
STORE = "ds_write_b128 v0, v[4:7]"
READ = "ds_read_b128 v[4:7], v0"
SCALAR = "s_load_dword s8, s[0:1], 0x0"
USE = "v_add_f32_e32 v8, v4, v8"


@pytest.mark.parametrize(("name", "in_flight"), CLEAN.items())
def test_compiled_kernels_are_clean(golden: Golden, name: str, in_flight: int) -> None:
    assert lint(parse_kernel(golden(name)), in_flight=in_flight) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "in_flight"), CLEAN.items())
def test_every_wait_that_the_compiler_placed_is_needed(golden: Golden, name: str, in_flight: int) -> None:
    """LLVM places the weakest waits that suffice: without one, or with one more outstanding, each is missed."""
    lines = golden(name).splitlines()
    end = lines.index(".Lfunc_end0:")
    redundant = "\ts_waitcnt vmcnt(16) lgkmcnt(0)"  # written by hand; no LDS operation is outstanding there
    for i, line in enumerate(lines[:end]):
        if "s_waitcnt" not in line:
            continue
        weaker = [
            line[: count.start()] + str(int(count[0]) + 1) + line[count.end() :]
            for count in re.finditer(r"(?<=cnt\()\d+", line)
            if (line, count.start()) != (redundant, redundant.index("0)"))
        ]
        for other in ("\ts_nop 0", *weaker):
            mutant = "\n".join([*lines[:i], other, *lines[i + 1 :]])
            assert lint(parse_kernel(mutant), in_flight=in_flight), f"line {i + 1}: {line.strip()} → {other.strip()}"


def test_wait_after_the_barrier_comes_too_late(golden: Golden) -> None:
    text = golden("single_64")
    late = text.replace("\ts_waitcnt lgkmcnt(0)\n\ts_barrier", "\ts_barrier\n\ts_waitcnt lgkmcnt(0)")
    found = lint(parse_kernel(late))
    assert late != text
    assert all("barrier reached with up to 2 LDS writes outstanding" in x for x in found)
    assert len(found) == late.count("\ts_barrier\n\ts_waitcnt lgkmcnt(0)")


def test_llvm_counts_global_copies_to_lds_wrongly(golden: Golden) -> None:
    """LLVM 22 counts `global_load_lds` in lgkmcnt too, so some of its waits for LDS reads are too weak."""
    found = lint(parse_kernel(golden("global_load_lds_128")), in_flight=16)
    assert found[0] == (
        "line 263: `v_mfma_f32_32x32x8_f16` reads v82, v83 while a load into it may be outstanding (lgkmcnt)"
    )


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        (f"{LOAD}\n{USE}", "line 5: `v_add_f32_e32` reads v4 while a load into it may be outstanding (vmcnt)"),
        (f"{LOAD}\nv_mov_b32_e32 v5, 0", "line 5: `v_mov_b32_e32` overwrites v5 while"),
        (f"{LOAD}\n{LOAD}\ns_waitcnt vmcnt(1)\n{USE}", "line 7: `v_add_f32_e32` reads v4 while"),
        (f"{READ}\n{USE}", "reads v4 while a load into it may be outstanding (lgkmcnt)"),
        ("s_load_dword s8, s[0:1], 0x0\ns_load_dword s9, s[0:1], 0x4\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s3, s8", "s8"),
        (f"{READ}\ns_load_dword s8, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\n{USE}", "reads v4"),
        ("flat_load_dword v4, v[0:1]\ns_waitcnt vmcnt(0)\n" + USE, "(lgkmcnt)"),
        ("flat_load_dword v4, v[0:1]\ns_waitcnt lgkmcnt(0)\n" + USE, "(vmcnt)"),
        (f"{STORE}\ns_barrier", "line 5: barrier reached with up to 1 LDS writes outstanding; lgkmcnt(0) must come"),
        (f"{READ}\ns_barrier", "barrier reached with up to 1 LDS reads outstanding"),
        (f"{STORE}\ns_load_dword s8, s[0:1], 0x0\ns_waitcnt lgkmcnt(1)\ns_barrier", "up to 1 LDS writes"),
        (f"{COPY}\n{COPY}\n{COPY}\ns_barrier", "up to 3 copies to LDS outstanding, 1 may be; vmcnt(1) must come"),
        (f"{COPY}\n{COPY}\n{LOAD}\ns_waitcnt vmcnt(3)\ns_barrier", "up to 2 copies to LDS outstanding, 1 may be"),
        ("s_swappc_b64 s[30:31], s[4:5]", "line 4: calls a function"),
    ],
)
def test_finding(asm: Asm, body: str, finding: str) -> None:
    found = lint(parse_kernel(asm(body)), in_flight=1)
    assert len(found) == 1
    assert finding in found[0]


@pytest.mark.parametrize(
    "body",
    [
        f"{LOAD}\ns_waitcnt vmcnt(0)\n{USE}",
        f"{LOAD}\nglobal_store_dword v[0:1], v9, off\ns_waitcnt vmcnt(1)\n{USE}",  # stores count, in order
        f"{LOAD}\n{LOAD}\ns_waitcnt vmcnt(0)\n{USE}",  # loads land in order: the younger may overwrite
        f"{READ}\nds_read_b32 v9, v0\ns_waitcnt lgkmcnt(1)\n{USE}",
        f"s_load_dword s8, s[0:1], 0x0\n{READ}\ns_waitcnt lgkmcnt(0)\n{USE}\ns_mov_b32 s3, s8",
        f"{STORE}\ns_waitcnt lgkmcnt(0)\ns_barrier",
        f"{STORE}\nds_read_b32 v9, v1\ns_waitcnt lgkmcnt(0)\ns_barrier",
        f"{COPY}\n{COPY}\n{LOAD}\ns_waitcnt vmcnt(2)\ns_barrier",  # of the newest two, one is a copy
        f"{LOAD}\ns_barrier",  # a load into registers concerns its own wave alone
    ],
)
def test_no_finding(asm: Asm, body: str) -> None:
    assert lint(parse_kernel(asm(body)), in_flight=1) == ()


def test_back_edge(asm: Asm) -> None:
    """The loop's first barrier is reached with what its last instructions left outstanding."""
    found = lint(parse_kernel(asm(f".L1:\ns_waitcnt lgkmcnt(1)\ns_barrier\n{STORE}\n{STORE}\ns_cbranch_scc1 .L1")))
    assert found == ("line 6: barrier reached with up to 1 LDS writes outstanding; lgkmcnt(0) must come before it",)


def test_a_loop_that_never_waits(asm: Asm) -> None:
    """However many operations follow a load, it may still be outstanding."""
    found = lint(parse_kernel(asm(f"{LOAD}\n.L1:\ns_barrier\n{COPY}\ns_cbranch_scc1 .L1\n{USE}")))
    assert [x.partition(";")[0] for x in found] == [
        "line 6: barrier reached with 63 or more copies to LDS outstanding, 0 may be",
        "line 9: `v_add_f32_e32` reads v4 while a load into it may be outstanding (vmcnt)",
    ]


def test_copies_pile_up_over_trips(asm: Asm) -> None:
    found = lint(parse_kernel(asm(f".L1:\n{COPY}\ns_waitcnt vmcnt(5)\ns_barrier\ns_cbranch_scc1 .L1")), in_flight=4)
    assert [x.partition(";")[0] for x in found] == [
        "line 7: barrier reached with up to 5 copies to LDS outstanding, 4 may be"
    ]


def test_one_path_suffices(asm: Asm) -> None:
    """The way that skips the wait counts, wherever it comes from."""
    found = lint(parse_kernel(asm(f"{LOAD}\ns_cbranch_scc1 .L1\ns_waitcnt vmcnt(0)\n.L1:\n{USE}")))
    assert [x.partition(" ")[2].partition(":")[0] for x in found] == ["8"]


def test_the_path_with_fewest_younger_operations_counts(asm: Asm) -> None:
    """A count that suffices after another load does not suffice without it."""
    text = f"{LOAD}\ns_cbranch_scc1 .L1\nglobal_store_dword v[0:1], v9, off\n.L1:\ns_waitcnt vmcnt(1)\n{USE}"
    assert len(lint(parse_kernel(asm(text)))) == 1
    assert lint(parse_kernel(asm(text.replace("vmcnt(1)", "vmcnt(0)")))) == ()


@pytest.mark.parametrize("arms", [("s_nop 0", SCALAR), (SCALAR, "s_nop 0")])
def test_a_scalar_load_on_one_path_spoils_the_count(asm: Asm, arms: tuple[str, str]) -> None:
    before = f"{READ}\ns_cbranch_scc1 .L1\n{arms[0]}\ns_branch .L2\n.L1:\n{arms[1]}\n.L2:"
    text = f"{before}\nds_read_b32 v9, v0\ns_waitcnt lgkmcnt(1)\n{USE}"
    assert len(lint(parse_kernel(asm(text)))) == 1
    assert lint(parse_kernel(asm(text.replace(SCALAR, "s_nop 0")))) == ()


def test_every_path_waits(asm: Asm) -> None:
    both = f"{LOAD}\ns_cbranch_scc1 .L1\ns_waitcnt vmcnt(0)\ns_branch .L2\n.L1:\ns_waitcnt vmcnt(0)\n.L2:\n{USE}"
    assert lint(parse_kernel(asm(both))) == ()


def test_unreachable_code_is_not_linted(asm: Asm) -> None:
    assert lint(parse_kernel(asm(f"s_branch .L1\n{LOAD}\n{USE}\n.L1:"))) == ()


def test_what_costs_in_the_main_loop(asm: Asm) -> None:
    loop = f"""
    .L1:
        scratch_load_dword v10, off, off offset:4
        s_waitcnt vmcnt(0)
        v_accvgpr_read_b32 v11, a3
        scratch_store_dword off, v10, off offset:4
        v_accvgpr_write_b32 a4, v11
        {COPY}
        s_cbranch_scc1 .L1
        s_waitcnt vmcnt(0)
        v_accvgpr_read_b32 v11, a3
    """
    assert lint(parse_kernel(asm(loop)), in_flight=2) == (
        "line 5: the main loop spills: 2 scratch accesses a trip, the first here",
        "line 6: vmcnt(0) in the main loop drains the 2 copies that were to stay in flight",
        "line 7: the main loop moves 2 values between AGPRs and VGPRs a trip, the first here",
    )
    assert len(lint(parse_kernel(asm(loop)), in_flight=0)) == 2
