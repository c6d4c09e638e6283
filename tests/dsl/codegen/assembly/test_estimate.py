"""The estimate: what it may never do, and what it follows from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, isclose
from typing import TypedDict, Unpack

import pytest

from argus.dsl.codegen.asm import AsmKernel, Metadata, parse_kernel
from argus.dsl.codegen.estimate import MODEL_VERSION, estimate, lower_bound_us, occupancy_waves, resident_blocks
from argus.dsl.codegen.workload import Conflicts, Workload
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.targets import gfx942

Asm = Callable[..., str]
Golden = Callable[[str], str]

WORK = {
    "single_64": Workload(4096, 4096, 4096, 64, 64, 32, 4),
    "interleaved_128": Workload(4096, 4096, 4096, 128, 128, 32, 4),
    "counted_copies_128": Workload(4096, 4096, 4096, 128, 128, 32, 4),
    "eight_waves_256": Workload(4096, 4096, 4096, 256, 256, 32, 8),
}


class Budget(TypedDict, total=False):
    sgpr: int
    allocated_vgprs: int
    lds_bytes: int


def metadata(**budget: Unpack[Budget]) -> Metadata:
    empty = Metadata(
        vgpr=0, agpr=0, sgpr=16, allocated_vgprs=64, spills=0, lds_bytes=0, scratch_bytes=0, workgroup_size=256
    )
    return replace(empty, **budget)


def without(kernel: AsmKernel, block: int, index: int) -> AsmKernel:
    """The kernel less one instruction."""
    old = kernel.blocks[block]
    new = replace(old, instructions=old.instructions[:index] + old.instructions[index + 1 :])
    return replace(kernel, blocks=(*kernel.blocks[:block], new, *kernel.blocks[block + 1 :]))


# ---------------------------------------------------------------------------------------------- occupancy


@pytest.mark.parametrize(
    ("registers", "waves"),
    [(64, 8), (65, 7), (72, 7), (80, 6), (96, 5), (97, 4), (128, 4), (168, 3), (169, 2), (256, 2), (257, 1), (512, 1)],
)
def test_occupancy_by_registers(registers: int, waves: int) -> None:
    assert occupancy_waves(metadata(allocated_vgprs=registers), 4) == waves


@pytest.mark.parametrize(
    ("lds_bytes", "blocks"),
    [(8192, 8), (8193, 7), (13107, 4), (16384, 4), (21504, 3), (32768, 2), (32769, 1), (65536, 1)],
)
def test_occupancy_by_lds(lds_bytes: int, blocks: int) -> None:
    assert resident_blocks(metadata(lds_bytes=lds_bytes), 4) == blocks


def test_occupancy_by_scalar_registers_and_waves() -> None:
    assert resident_blocks(metadata(sgpr=96), 4) == 8
    assert resident_blocks(metadata(sgpr=102), 4) == 7
    assert [resident_blocks(metadata(), waves) for waves in (1, 4, 8, 16)] == [32, 8, 4, 2]
    assert resident_blocks(metadata(allocated_vgprs=168), 8) == 1  # three waves a SIMD hold one block of two
    assert occupancy_waves(metadata(allocated_vgprs=168), 8) == 2


def test_no_block_fits(asm: Asm) -> None:
    kernel = parse_kernel(asm("s_nop 0", vgpr=256, threads=1024))
    with pytest.raises(ToolchainError, match="no block of 16 waves fits on a CU: 256 registers"):
        estimate(kernel, Workload(256, 256, 256, 256, 256, 32, 16))


# ------------------------------------------------------------------------------------------------- floors


def test_lower_bound_of_a_large_gemm() -> None:
    assert isclose(lower_bound_us(WORK["interleaved_128"]), 105.1 + gfx942.LAUNCH_US, abs_tol=0.05)


def test_lower_bound_knows_no_schedule() -> None:
    assert len({lower_bound_us(x) for x in WORK.values()}) == 1


def test_lower_bound_of_a_thin_gemm_is_its_traffic() -> None:
    thin = Workload(16, 8192, 8192, 16, 128, 64, 4, out_bytes=2)
    assert isclose(lower_bound_us(thin), 134.7e6 / 5.3e6 + gfx942.LAUNCH_US, rel_tol=0.01)


@pytest.mark.parametrize("name", WORK)
def test_never_below_a_floor(golden: Golden, name: str) -> None:
    kernel, work = parse_kernel(golden(name)), WORK[name]
    got = estimate(kernel, work)
    assert got.time_us > got.lower_bound_us
    # The CU that has most blocks executes all their MFMAs.
    most = ceil(ceil(work.blocks / gfx942.XCDS) / gfx942.CUS_PER_XCD)
    quantised = most * work.flop_per_block / gfx942.FLOP_PER_CLK[2] / gfx942.CLOCK_MHZ
    assert got.time_us >= quantised + gfx942.LAUNCH_US
    assert isclose(got.resources_us["mfma"], quantised, rel_tol=0.001)


@pytest.mark.parametrize("name", WORK)
def test_resources_add_up(golden: Golden, name: str) -> None:
    got = estimate(parse_kernel(golden(name)), WORK[name])
    parts = dict(got.resources_us)
    launch, latency = parts.pop("launch"), parts.pop("latency")
    assert isclose(got.time_us, max(parts.values()) + latency + launch, rel_tol=1e-6)
    assert latency >= 0
    ranked = sorted((us, x) for x, us in (parts | {"latency": latency}).items())
    assert (got.bound, got.next_bound) == (ranked[-1][1], ranked[-2][1])
    assert (got.model_version, got.shape) == (MODEL_VERSION, {"m": 4096, "n": 4096, "k": 4096})


def test_mfmas_alone_reach_their_bound(asm: Asm) -> None:
    chain = "\n".join(f"v_mfma_f32_32x32x8_f16 v[{i}:{i + 15}], v[64:65], v[66:67], v[{i}:{i + 15}]" for i in (0, 16))
    kernel = parse_kernel(asm(f".L1:\n{chain}\ns_nop 0\n{chain}\n{chain}\n{chain}\ns_cbranch_scc1 .L1", vgpr=256))
    work = Workload(19 * 256, 16 * 256, 8192, 256, 256, 32, 4)  # one block for each of the 304 CUs
    got = estimate(kernel, work)
    assert isclose(got.time_us - gfx942.LAUNCH_US, got.resources_us["mfma"], rel_tol=0.03)
    assert got.bound == "mfma"


# --------------------------------------------------------------------------------- problem and schedule


def test_time_grows_with_the_problem(golden: Golden) -> None:
    kernel = parse_kernel(golden("interleaved_128"))
    times = [estimate(kernel, replace(WORK["interleaved_128"], k=k)).time_us for k in (1024, 2048, 4096, 8192)]
    assert times == sorted(times)
    assert isclose(times[3] - times[2], 2 * (times[2] - times[1]), rel_tol=0.05)


def test_rounds_are_quantised(golden: Golden) -> None:
    """304 blocks of one a CU take as long as 8; one more XCD-round starts with block 305."""
    kernel = parse_kernel(golden("interleaved_128"))

    def blocks(count: int) -> float:
        return estimate(kernel, Workload(128 * count, 128, 8192, 128, 128, 32, 4)).resources_us["mfma"]

    assert blocks(8) == blocks(304)
    assert blocks(305) == blocks(608)
    assert isclose(blocks(305), 2 * blocks(304), rel_tol=1e-6)


def test_tails_cost_whole_tiles(golden: Golden) -> None:
    kernel = parse_kernel(golden("interleaved_128"))
    whole, ragged = (Workload(128 * 17, 4096, k, 128, 128, 32, 4) for k in (2048, 2047))
    for tail in (ragged, replace(whole, m=128 * 16 + 1)):
        assert isclose(estimate(kernel, tail).time_us, estimate(kernel, whole).time_us, rel_tol=0.01)


def test_peeled_and_unrolled_iterations_count_once(golden: Golden) -> None:
    """`single_64` holds four k-tiles in a trip, `counted_copies_128` three, and both mean the same work."""
    for name in ("single_64", "counted_copies_128"):
        kernel = parse_kernel(golden(name))
        even, odd = (estimate(kernel, replace(WORK[name], k=k)).resources_us["mfma"] for k in (4096, 4096 + 96))
        assert isclose(odd / even, (4096 + 96) / 4096, rel_tol=0.001)


def test_mfmas_beside_the_loop_shorten_it(asm: Asm) -> None:
    """A last iteration peeled off the loop is work that the loop does not do."""
    tile = "\n".join(["v_mfma_f32_32x32x8_f16 v[0:15], v[64:65], v[66:67], v[0:15]"] * 16)
    work = Workload(128, 128, 4096, 128, 128, 32, 4)
    plain, peeled = (f".L1:\n{tile}\ns_cbranch_scc1 .L1\n{rest}" for rest in ("", tile))
    us = [estimate(parse_kernel(asm(x)), work) for x in (plain, peeled)]
    assert isclose(us[0].resources_us["mfma"], us[1].resources_us["mfma"], rel_tol=1e-9)
    assert isclose(us[0].time_us, us[1].time_us, rel_tol=0.01)


def test_split_k_fills_the_machine(golden: Golden) -> None:
    kernel = parse_kernel(golden("interleaved_128"))
    few = Workload(512, 512, 65536, 128, 128, 32, 4)
    assert estimate(kernel, replace(few, split_k=16)).time_us < 0.2 * estimate(kernel, few).time_us


def test_a_copy_is_bound_by_hbm(asm: Asm) -> None:
    loop = """
    .L1:
        global_load_dwordx4 v[4:7], v[0:1], off
        global_load_dwordx4 v[8:11], v[0:1], off
        s_waitcnt vmcnt(0)
        s_cbranch_scc1 .L1
    """
    kernel = parse_kernel(asm(loop, vgpr=32))
    # Two rows of 64 KB for each block, each byte once: a k-tile is what a block loads in a trip.
    work = Workload(2048, 1, 1 << 20, 1, 1, 4096, 4)
    got = estimate(kernel, work)
    assert got.bound == "hbm"
    assert got.time_us > got.lower_bound_us


# ------------------------------------------------------------------------------------------ sensitivities


@pytest.mark.parametrize("name", WORK)
@pytest.mark.slow
def test_more_conflicts_are_never_faster(golden: Golden, name: str) -> None:
    kernel = parse_kernel(golden(name))
    for conflicts in ([Conflicts(x, 1) for x in (1, 2, 4, 8)], [Conflicts(1, x) for x in (1, 2, 4, 8)]):
        times = [estimate(kernel, WORK[name].with_conflicts(x)).time_us for x in conflicts]
        assert times == sorted(times)


@pytest.mark.parametrize("name", ["interleaved_128", "counted_copies_128", "eight_waves_256"])
@pytest.mark.slow
def test_removing_a_wait_is_never_slower(golden: Golden, name: str) -> None:
    """Of one resident block; several fall into step or out of it, which moves the result by some percent."""
    kernel = parse_kernel(golden(name))
    before = estimate(kernel, WORK[name]).time_us
    for b, block in enumerate(kernel.blocks):
        for i, x in enumerate(block.instructions):
            if x.kind == "waitcnt":
                assert estimate(without(kernel, b, i), WORK[name]).time_us <= before * 1.0001, x


def test_spills_cost(golden: Golden, asm: Asm) -> None:
    text = golden("interleaved_128")
    spill = "\tscratch_store_dword off, v1, off\n\tscratch_load_dword v1, off, off\n\ts_waitcnt vmcnt(0)\n"
    spilled = text.replace("\ts_cbranch_scc1", spill * 4 + "\ts_cbranch_scc1", 1)
    work = WORK["interleaved_128"]
    assert estimate(parse_kernel(spilled), work).time_us > 1.05 * estimate(parse_kernel(text), work).time_us


def test_registers_cost_occupancy(golden: Golden) -> None:
    kernel = parse_kernel(golden("single_64"))
    fat = replace(kernel, metadata=replace(kernel.metadata, allocated_vgprs=512))
    assert estimate(fat, WORK["single_64"]).time_us > 1.5 * estimate(kernel, WORK["single_64"]).time_us


def test_the_kernel_ends_when_its_stores_have_drained(asm: Asm) -> None:
    """Blocks compute, then one for each CU writes 1 MB; its waves are through long before the fabric is."""
    lines = ["s_nop 15"] * 320 + ["global_store_dwordx4 v[0:1], v[4:7], off"] * 64
    work = Workload(304 * 512, 512, 8, 512, 512, 8, 16, out_bytes=1)
    got = estimate(parse_kernel(asm("\n".join(lines), threads=1024)), work)
    computed = 320 * 16 * 4 / gfx942.CLOCK_MHZ
    drained = 304 * 64 * 16 * 1024 / gfx942.FABRIC_BYTES_PER_US
    assert isclose(got.time_us, computed + drained + gfx942.LAUNCH_US, rel_tol=0.02)


def test_unknown_matrix_instruction(golden: Golden) -> None:
    text = golden("interleaved_128").replace("v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x99_f16")
    with pytest.raises(ToolchainError, match=r"assembly line \d+: no timing known for v_mfma_f32_32x32x99_f16"):
        estimate(parse_kernel(text), WORK["interleaved_128"])


def test_equal_input_gives_equal_time(golden: Golden) -> None:
    kernel = parse_kernel(golden("single_64"))
    assert estimate(kernel, WORK["single_64"]) == estimate(kernel, WORK["single_64"])
