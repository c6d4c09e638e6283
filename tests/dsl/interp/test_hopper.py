"""sm_90a: TMA, mbarriers, asynchronous MMAs, proxies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from argus.dsl.interp import POLICIES, Outcome, run, trip_sizes, wrong
from argus.dsl.ir import Kernel

Core = Callable[[str], Kernel]
NONE: set[str] = set()
Text = Callable[[str], str]
Execute = Callable[..., Outcome]
Reference = Callable[[Mapping[str, Any], Mapping[str, int]], Mapping[str, Any]]
SIZES = [{"M": 130, "N": 40, "K": 328}]


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def kinds(kernel: Kernel, reference: Reference, sizes: list[dict[str, int]]) -> set[str]:
    found: set[str] = set()
    for policy in (*POLICIES[:3], POLICIES[6], POLICIES[-1]):
        result = wrong(kernel, reference, sizes_list=sizes, policies=[policy])
        if result is not None:
            found.add("value" if result.fault is None else result.fault.kind)
    # Whoever reads too early stores poison before the write comes.
    return found - {"poison"} or found


@pytest.mark.slow
def test_persistent_gemm_is_right_under_every_schedule(text: Text, core: Core, gemm: Reference) -> None:
    kernel = core(text("gemm_sm90a"))
    assert wrong(kernel, gemm, sizes_list=trip_sizes(kernel)) is None


def test_persistent_gemm_is_right(text: Text, core: Core, gemm: Reference) -> None:
    assert wrong(core(text("gemm_sm90a")), gemm, sizes_list=SIZES, policies=POLICIES[::5]) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        # The accumulator is read while MMAs are in flight.
        ([("            mma_wait(0)\n", "")], {"pending"}),
        # A stage is handed back while an MMA of its batch may still read it.
        ([("r.use(keep=1)", "r.use(keep=2)")], {"deadlock", "pending"}),
        ([("acc, ks), st.Bs", "acc, ks % 3), st.Bs")], {"value"}),
        ([("rows(g * 64, 64)", "rows(0, 64)")], {"value"}),
        ([("[2 * bm + g, bn]", "[2 * bm, bn]")], {"write-set", "race", "pending"}),
        ([("stage=out[g]", "stage=out[0]")], {"race", "pending"}),
    ],
)
def test_planted_mistakes(
    edits: list[tuple[str, str]], expected: set[str], text: Text, core: Core, gemm: Reference
) -> None:
    found = kinds(core(edited(text("gemm_sm90a"), *edits)), gemm, SIZES)
    assert found
    assert found <= expected


# One warpgroup: TMA in, one MMA, results out.
ONE = """
@kernel(target="sm_90a", waves=4)
def f(A: bf16[m:64, k:64], B: bf16[n:64, k:64], C: f32[m:64, n:64]):
    ensures(C[m, n], over(k, 64), uses=(A, B))
    As, Bs = shared(bf16, 64, 64, swizzle=b128), shared(bf16, 64, 64, swizzle=b128)
    full = mbar({arrivals})
    with elect():
        copy_async(As, A, via="tma")
        copy_async(Bs, B, via="tma")
        arrive(full, bytes={size})
    await_phase(full, {completion})
    acc = mma_acc("m64n64k16", 64, 64)
    for ks in unroll(4):
        acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
    mma_wait(0)
    store(C, acc)
"""


BYTES = 2 * 64 * 64 * 2


@pytest.mark.parametrize(
    ("mbarrier", "expected"),
    [
        ((1, BYTES, 0), NONE),
        ((1, BYTES // 2, 0), {"pending"}),  # completes after one of the two copies
        ((1, BYTES + 2, 0), {"deadlock"}),  # waits for bytes that never come
        ((2, BYTES, 0), {"deadlock"}),  # waits for an arrival that never comes
        ((1, BYTES, 1), {"deadlock"}),
        ((1, BYTES, -1), {"pending"}),
    ],
)
def test_mbarriers_count_arrivals_and_bytes(
    mbarrier: tuple[int, int, int], expected: set[str], core: Core, gemm: Reference
) -> None:
    arrivals, size, completion = mbarrier
    kernel = core(ONE.format(arrivals=arrivals, size=size, completion=completion))
    assert kinds(kernel, gemm, [{}]) == expected


def test_arrivals_beyond_the_count(execute: Execute) -> None:
    """The phase is still waiting for its bytes when one arrival too many comes."""
    text = ONE.format(arrivals=1, size=BYTES, completion=0)
    text = edited(text, (f"arrive(full, bytes={BYTES})\n", f"arrive(full, bytes={BYTES})\n        arrive(full)\n"))
    faults = execute(text, A=np.ones((64, 64)), B=np.ones((64, 64))).faults
    assert any(f.kind == "deadlock" and "counts 1 arrivals a phase" in f.message for f in faults)


STAGED = """
@kernel(target="sm_90a", waves=4)
def f(A: bf16[m:64, k:64], B: bf16[n:64, k:64], C: f32[m:64, n:64]):
    ensures(C[m, n], over(k, 64), uses=(A, B))
    As, Bs = shared(bf16, 64, 64, swizzle=b128), shared(bf16, 64, 64, swizzle=b128)
    store(As, load(A))
    store(Bs, load(B))
    {fence}
    barrier()
    acc = mma_acc("m64n64k16", 64, 64)
    for ks in unroll(4):
        acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
    {after}
    mma_wait(0)
    store(C, acc)
"""


def test_ordinary_writes_need_a_fence_before_wgmma(core: Core, gemm: Reference) -> None:
    assert kinds(core(STAGED.format(fence='fence("async")', after="")), gemm, [{}]) == set()
    assert kinds(core(STAGED.format(fence="priority(0)", after="")), gemm, [{}]) == {"proxy"}


def test_a_fence_after_the_barrier_is_too_late_for_other_waves_writes(core: Core, gemm: Reference) -> None:
    """The fence of a reader that has synchronised with the writers covers what they wrote."""
    text = STAGED.format(fence="priority(0)", after="").replace(
        "    barrier()\n", '    barrier()\n    fence("async")\n'
    )
    assert kinds(core(text), gemm, [{}]) == set()


def test_shared_memory_belongs_to_mmas_in_flight(core: Core, gemm: Reference) -> None:
    text = STAGED.format(fence='fence("async")', after="barrier()\n    store(As, load(B))")
    assert kinds(core(text), gemm, [{}]) == {"pending"}
    late = text.replace("    mma_wait(0)\n", "").replace(
        "    barrier()\n    store(As", "    mma_wait(0)\n    barrier()\n    store(As"
    )
    assert kinds(core(late), gemm, [{}]) == set()


def test_mmas_read_shared_memory_early_or_late(core: Core) -> None:
    """Overwritten operands show in the values exactly when the MMAs are late."""
    kernel = core(STAGED.format(fence='fence("async")', after="barrier()\n    store(As, load(B))"))
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((64, 64)), rng.standard_normal((64, 64))
    early, late = (run(kernel, {}, {"A": a, "B": b}, policy=p).outputs["C"] for p in POLICIES[:2])
    assert np.allclose(early, a @ b.T)
    assert not np.allclose(late, a @ b.T)


STORED = """
@kernel(target="sm_90a", waves=4)
def f(X: f32[r:64, c:32], Y: f32[r:64, c:32]):
    ensures(Y[r, c], uses=(X,))
    s = shared(f32, 64, 32, swizzle=b128)
    store(s, load(X, map=linear(4)))
    fence("async")
    barrier()
    with elect():
        copy_async(Y, s, via="tma")
        commit()
    {drain}
"""


def copied(inputs: Mapping[str, Any], _: Mapping[str, int]) -> dict[str, Any]:
    return {"Y": inputs["X"]}


@pytest.mark.parametrize(
    ("drain", "expected"),
    [
        ("wait(0)", NONE),
        ("priority(0)", {"pending"}),  # the block may not end before its memory was read
        ("barrier()\n    store(s, load(X, map=linear(4)))\n    wait(0)", {"pending"}),
        ("wait(0)\n    barrier()\n    store(s, load(X, map=linear(4)))", NONE),
    ],
)
def test_tma_stores_are_drained(drain: str, expected: set[str], core: Core) -> None:
    assert kinds(core(STORED.format(drain=drain)), copied, [{}]) == expected


def test_ring_fills_wait_in_the_issuing_lane_alone(text: Text, core: Core, gemm: Reference) -> None:
    """Waves that await `empty` without issuing copies may lag two phases behind, where parities repeat."""
    core_text = """
@kernel(target="sm_90a", waves=8)
def f(A: bf16[m:64, k:K], B: bf16[n:64, k:K], C: f32[m:64, n:64]):
    ensures(C[m, n], over(k, K), uses=(A, B))
    As, Bs = shared(bf16, 64, 64, swizzle=b128), shared(bf16, 64, 64, swizzle=b128)
    full, empty = mbar(1), mbar(4)
    with role("load", waves=4):
        for kt in range(cdiv(K, 64)):
            {outside}
            with elect():
                {inside}
                copy_async(As, A.tile(64, 64)[0, kt], via="tma")
                copy_async(Bs, B.tile(64, 64)[0, kt], via="tma")
                arrive(full, bytes=16384)
    with role("mma", waves=4):
        acc = mma_acc("m64n64k16", 64, 64)
        for kt in range(cdiv(K, 64)):
            await_phase(full, kt)
            for ks in unroll(4):
                acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
            mma_wait(0)
            arrive(empty)
        store(C, acc)
"""
    wait = "await_phase(empty, kt - 1)"
    sizes = [{"K": 320}]
    assert kinds(core(core_text.format(outside="priority(0)", inside=wait)), gemm, sizes) == set()
    assert kinds(core(core_text.format(outside=wait, inside="priority(0)")), gemm, sizes) == {"deadlock"}
    assert kinds(core(core_text.format(outside="priority(0)", inside="priority(0)")), gemm, sizes) == {"pending"}
