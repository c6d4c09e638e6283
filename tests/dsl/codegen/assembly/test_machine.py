"""The event model on hand-written loops whose times are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import ClassVar, Protocol

import pytest

from argus.dsl.codegen.asm import parse_kernel
from argus.dsl.codegen.machine import Residency, run_once, run_steady
from argus.dsl.codegen.mainloop import main_loop, path
from argus.dsl.codegen.program import translate
from argus.dsl.codegen.steps import Slot, Units, Vector, Wave
from argus.dsl.codegen.workload import Access, Conflicts
from argus.dsl.targets import gfx942

LATENCY = 500.0
MEMORY = Access(load_levels=((1.0, LATENCY),), l2_clk=1 / 43, fabric_clk=0.0, hbm_clk=0.0, store_fabric_clk=0.1)
NO_CONFLICTS = Conflicts()


class Trip(Protocol):
    """Clk of one trip around the lines."""

    def __call__(
        self, lines: Sequence[str], *, blocks: int = 1, waves: int = 4, conflicts: Conflicts = NO_CONFLICTS
    ) -> float: ...


@pytest.fixture
def trip(asm: Callable[..., str]) -> Trip:
    def clk(lines: Sequence[str], *, blocks: int = 1, waves: int = 4, conflicts: Conflicts = NO_CONFLICTS) -> float:
        kernel = parse_kernel(asm("\n".join([".L1:", *lines, "s_cbranch_scc1 .L1"])))
        body = translate(path(kernel, main_loop(kernel)).body, MEMORY, conflicts, repeats=True)
        phases = 4 if blocks > 1 else 1
        return run_steady(body, Residency(blocks, waves), warm=4, measured=12, phases=phases)

    return clk


def mfma(acc: int, a: int = 64, b: int = 68) -> str:
    """A 32x32x8 MFMA on accumulator `acc` of four."""
    d = f"v[{16 * acc}:{16 * acc + 15}]"
    return f"v_mfma_f32_32x32x8_f16 {d}, v[{a}:{a + 1}], v[{b}:{b + 1}], {d}"


def read(to: int, offset: int = 0) -> str:
    return f"ds_read_b128 v[{to}:{to + 3}], v100 offset:{offset}"


MFMAS = [mfma(i % 4) for i in range(16)]
VALU = "v_add_u32_e32 v101, 1, v101"
LOAD = "global_load_dwordx4 v[96:99], v[102:103], off"
READS = [read(64 + 4 * i, 16 * i) for i in range(8)]
CLUSTERED = [*READS, "s_waitcnt lgkmcnt(0)", *(mfma(i % 4, 64 + 4 * (i % 8), 64) for i in range(16))]


@pytest.mark.parametrize(("waves", "per_simd"), [(1, 1), (4, 1), (8, 2), (16, 4)])
def test_mfmas_alone_reach_their_bound(trip: Trip, waves: int, per_simd: int) -> None:
    assert isclose(trip(MFMAS, waves=waves), 16 * 32 * per_simd, rel_tol=0.03)


def test_a_chain_on_one_accumulator_runs_at_full_rate(trip: Trip) -> None:
    assert isclose(trip([mfma(0)] * 16), 16 * 32, rel_tol=0.03)


def test_a_result_used_as_operand_waits_for_it(trip: Trip) -> None:
    chain = [mfma(1, a=0), mfma(0, a=16)] * 8
    assert isclose(trip(chain), 16 * gfx942.MFMA["v_mfma_f32_32x32x8_f16"].result_clk, rel_tol=0.03)


def test_result_read_by_a_store_waits_for_it(trip: Trip) -> None:
    late = trip([mfma(0), "ds_write_b128 v100, v[0:3]", *[VALU] * 30])
    soon = trip([mfma(0), "ds_write_b128 v100, v[16:19]", *[VALU] * 30])
    assert isclose(late - soon, 48 - 4, abs_tol=4)


def test_vector_alu_runs_beside_16_bit_mfmas(trip: Trip) -> None:
    shadowed = [x for line in MFMAS for x in (line, *[VALU] * 6)]
    assert isclose(trip(shadowed), 16 * 32, rel_tol=0.05)
    assert isclose(trip([x for line in MFMAS for x in (line, *[VALU] * 12)]), 16 * 13 * 4, rel_tol=0.05)


def test_vector_alu_waits_for_32_bit_mfmas(trip: Trip) -> None:
    line = "v_mfma_f32_32x32x2_f32 v[0:15], v64, v65, v[0:15]"
    assert isclose(trip([line, *[VALU] * 6] * 8), 8 * (64 + 6 * 4), rel_tol=0.05)


def test_transcendentals_take_four_times_as_long(trip: Trip) -> None:
    slow, fast = trip(["v_exp_f32_e32 v101, v101"] * 64), trip([VALU] * 64)
    assert isclose(slow, 64 * 16, rel_tol=0.03)
    assert isclose(fast, 64 * 4, rel_tol=0.1)


def test_no_ops_pass_time(trip: Trip) -> None:
    assert trip(["s_nop 7"] * 8) - trip([]) == 8 * 8 * 4


def test_load_wait_compute_shows_the_latency(trip: Trip) -> None:
    serial = trip([LOAD, "s_waitcnt vmcnt(0)", *MFMAS], waves=1)
    assert LATENCY + 16 * 32 <= serial <= LATENCY + 16 * 32 + 100
    ahead = trip([LOAD, *MFMAS, *MFMAS[:4], "s_waitcnt vmcnt(0)"], waves=1)
    assert isclose(ahead, 20 * 32, rel_tol=0.05)


def test_counted_waits_keep_loads_in_flight(trip: Trip) -> None:
    some = MFMAS[:4]
    drained = trip([LOAD, "s_waitcnt vmcnt(0)", *some], waves=1)
    one_ahead = trip([LOAD, "s_waitcnt vmcnt(1)", *some], waves=1)
    five_ahead = trip([LOAD, "s_waitcnt vmcnt(5)", *some], waves=1)
    assert drained > LATENCY
    assert isclose(one_ahead, drained / 2, rel_tol=0.1)
    assert isclose(five_ahead, 4 * 32, rel_tol=0.2)


def test_loads_come_from_several_levels(asm: Callable[..., str]) -> None:
    """Of a lone wave's trips, a quarter waits 1000 clk and the others 200."""
    mix = replace(MEMORY, load_levels=((0.75, 200.0), (1.0, 1000.0)))
    kernel = parse_kernel(asm(f".L1:\n{LOAD}\ns_waitcnt vmcnt(0)\ns_cbranch_scc1 .L1"))
    body = translate(path(kernel, main_loop(kernel)).body, mix, NO_CONFLICTS, repeats=True)
    clk = run_steady(body, Residency(1, 1), warm=4, measured=40)
    assert isclose(clk, 0.75 * 200 + 0.25 * 1000 + 48, rel_tol=0.05)


def test_two_blocks_overlap(trip: Trip) -> None:
    lines = [LOAD, "s_waitcnt vmcnt(0)", "s_barrier", *MFMAS]
    alone, shared = trip(lines), trip(lines, blocks=2)
    assert alone > LATENCY + 16 * 32
    assert max(alone, 2 * 16 * 32) * 0.98 <= shared < 1.4 * alone


def test_a_barrier_makes_waves_wait_for_the_slowest(trip: Trip) -> None:
    """Eight waves share the matrix units; without barriers, one wave's latency hides behind another's MFMAs."""
    lines = [LOAD, "s_waitcnt vmcnt(0)", *MFMAS]
    assert trip([*lines, "s_barrier"], waves=8) > trip(lines, waves=8) + 100


def test_lds_reads_between_mfmas_are_no_slower_than_before_them(trip: Trip) -> None:
    pairs = zip(READS, CLUSTERED[9::2], CLUSTERED[10::2], strict=True)
    # Each read is for the next trip; one trip's worth of registers ahead.
    interleaved = [x for lines in pairs for x in lines] + ["s_waitcnt lgkmcnt(0)"]
    assert trip(interleaved) < trip(CLUSTERED)
    assert isclose(trip(interleaved), 16 * 32, rel_tol=0.15)


def test_one_simd_pair_gets_half_the_lds_bandwidth(trip: Trip) -> None:
    lines = READS * 4 + ["s_waitcnt lgkmcnt(0)"]
    assert isclose(trip(lines, waves=2), 2 * 32 * 16, rel_tol=0.15)  # both on SIMDs 0 and 1: one port
    assert isclose(trip(lines, waves=4), 2 * 32 * 16, rel_tol=0.15)  # two ports at once


def test_lds_writes_send_their_addresses_too(trip: Trip) -> None:
    lines = ["ds_write_b128 v100, v[64:67]"] * 32 + ["s_waitcnt lgkmcnt(0)"]
    assert isclose(trip(lines), 2 * 32 * 20, rel_tol=0.15)


@pytest.mark.parametrize("lines", [CLUSTERED, [*READS, "s_waitcnt lgkmcnt(0)", "ds_write_b128 v100, v[64:67]"]])
@pytest.mark.parametrize("waves", [1, 4, 8])
def test_more_conflicts_are_never_faster(trip: Trip, lines: list[str], waves: int) -> None:
    reads = [trip(lines, waves=waves, conflicts=Conflicts(read_way=way)) for way in (1, 2, 4, 8, 16)]
    writes = [trip(lines, waves=waves, conflicts=Conflicts(write_way=way)) for way in (1, 2, 4, 8, 16)]
    assert reads == sorted(reads)
    assert writes == sorted(writes)
    assert reads[-1] > 2 * reads[0]


@pytest.mark.parametrize(
    "lines",
    [
        [LOAD, *READS, "s_waitcnt lgkmcnt(4)", *MFMAS, "s_waitcnt vmcnt(0)", "ds_write_b128 v100, v[96:99]"],
        [LOAD, "s_waitcnt vmcnt(0)", *CLUSTERED, "s_waitcnt lgkmcnt(0)", "s_barrier"],
    ],
)
def test_removing_a_wait_is_never_slower(trip: Trip, lines: list[str]) -> None:
    for i, line in enumerate(lines):
        if line.startswith("s_waitcnt"):
            assert trip(lines[:i] + lines[i + 1 :]) <= trip(lines)


def test_double_buffering_beats_a_single_buffer(trip: Trip) -> None:
    loads = [LOAD] * 4
    store = ["s_waitcnt vmcnt(0)", *["ds_write_b128 v100, v[96:99]"] * 4, "s_waitcnt lgkmcnt(0)", "s_barrier"]
    single = [*loads, *store, *CLUSTERED, "s_barrier"]
    double = [*loads, *CLUSTERED, *store]
    assert trip(double) < 0.8 * trip(single)


def test_spills_cost(trip: Trip) -> None:
    spill = ["scratch_store_dword off, v101, off", "scratch_load_dword v101, off, off", "s_waitcnt vmcnt(0)"]
    assert trip([*MFMAS[:8], *spill, *MFMAS[8:]]) > trip(MFMAS) + gfx942.L2_HIT_CLK - 100


def test_priority_decides_who_goes_first() -> None:
    """Where two waves of a SIMD could issue at once: the higher priority, else the one that waited longer."""

    @dataclass(frozen=True, slots=True)
    class Raise(Slot):
        """Raises the second block's priority."""

        level: int = 0

        def issue(self, units: Units, wave: Wave, t: float) -> float:
            wave.priority = self.level * wave.block
            return t

    @dataclass(frozen=True, slots=True)
    class Probe(Vector):
        order: ClassVar[list[int]] = []

        def issue(self, units: Units, wave: Wave, t: float) -> float:
            if wave.simd == 0:
                self.order.append(wave.block)
            return Vector.issue(self, units, wave, t)

    orders: list[list[int]] = []
    for level in (0, 1):
        Probe.order.clear()
        run_once((Raise(level=level), *[Probe(8)] * 3), Residency(blocks=2, waves=4))
        orders.append(Probe.order.copy())
    assert orders[0] == [0, 0, 1, 0, 1, 1]  # both last issued at 0 when the second 0 goes: the older one first
    assert orders[1] == [0, 1, 1, 1, 0, 0]  # the first 0 went before the other wave had raised its priority


def test_stores_drain_behind_the_waves(asm: Callable[..., str]) -> None:
    kernel = parse_kernel(asm("\n".join(["global_store_dwordx4 v[0:1], v[4:7], off"] * 32)))
    steps = translate(path(kernel, None).prologue, MEMORY, Conflicts(), repeats=False)
    end, drained = run_once(steps, Residency(1, 4))
    assert isclose(drained, 4 * 32 * 1024 * MEMORY.store_fabric_clk, rel_tol=0.01)
    assert end < 0.5 * drained


def test_a_wave_cannot_outrun_its_counter(trip: Trip) -> None:
    """With 63 loads outstanding the next one waits, however many the code issues."""
    lines = ["global_load_dword v96, v[102:103], off"] * 200
    assert trip(lines, waves=1) > 2 * LATENCY
