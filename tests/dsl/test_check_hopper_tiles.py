"""What blocks carry from tile to tile on Hopper: a buffer beside the ring, loaded by TMA and read by the consumer."""

from __future__ import annotations

import pytest

from argus.dsl.check import check, check_kernel
from argus.dsl.diagnostics import CheckReport
from argus.evals.subjects import read

KERNEL = """\
@kernel(target="sm_90a", waves=8)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    r·As = shared(bf16, 3, 64, 64, swizzle=b128)
    r·Bs = shared(bf16, 3, 64, 64, swizzle=b128)
    r·full = mbar(1, count=3)
    r·empty = mbar(4, count=3)
    X = shared(bf16, 64, 64, swizzle=b128)
    come, gone = mbar(1), mbar(4)
    for bm, bn in tiles(cdiv(M, 64), cdiv(N, 64)):
        with role("load", waves=4):
            with elect():
                await_phase(gone, bm·n - 1)
                copy_async(X, A.tile(64, 64)[bm, 0], via="tma")
                arrive(come, bytes=8192)
            for kt in range(cdiv(K, 64)):
                with elect():
                    await_phase(r·empty[(bm·n * cdiv(K, 64) + kt) % 3], (bm·n * cdiv(K, 64) + kt) // 3 - 1)
                    copy_async(r·As[(bm·n * cdiv(K, 64) + kt) % 3], A.tile(64, 64)[bm, kt], via="tma")
                    copy_async(r·Bs[(bm·n * cdiv(K, 64) + kt) % 3], B.tile(64, 64)[bn, kt], via="tma")
                    arrive(r·full[(bm·n * cdiv(K, 64) + kt) % 3], bytes=16384)
        with role("mma", waves=4):
            acc = mma_acc("m64n64k16", 64, 64)
            await_phase(come, bm·n)
            z = load(X)
            arrive(gone)
            for kt in range(cdiv(K, 64)):
                await_phase(r·full[(bm·n * cdiv(K, 64) + kt) % 3], (bm·n * cdiv(K, 64) + kt) // 3)
                for ks in unroll(4):
                    a = r·As[(bm·n * cdiv(K, 64) + kt) % 3].operand("a", acc, ks)
                    b = r·Bs[(bm·n * cdiv(K, 64) + kt) % 3].operand("b", acc, ks)
                    acc += mma(a, b)
                mma_wait(0)
                arrive(r·empty[(bm·n * cdiv(K, 64) + kt) % 3])
            store(C.tile(64, 64)[bm, bn], acc)
"""


CONSUMER = """\
        with role("mma{i}", waves=4, regs=232):
            acc{i} = mma_acc("m64n128k16", 64, 128)
            for kt in range(cdiv(K, 64)):
                with r{i}.use(keep=1) as st:
                    for ks in unroll(4):
                        a, b = st.As.operand("a", acc{i}, ks), st.Bs.operand("b", acc{i}, ks)
                        acc{i} += mma(a, b)
            mma_wait(0)
            store(C.tile(64, 128)[2 * bm + {i}, bn], acc{i})
"""
TWO_RINGS = (
    """\
@kernel(target="sm_90a", waves=12)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    r0 = ring(2, As=shared(bf16, 64, 64, swizzle=b128), Bs=shared(bf16, 128, 64, swizzle=b128))
    r1 = ring(2, As=shared(bf16, 64, 64, swizzle=b128), Bs=shared(bf16, 128, 64, swizzle=b128))
    for bm, bn in tiles(cdiv(M, 128), cdiv(N, 128), order=group_m(8)):
        with role("load", waves=4, regs=40):
            for kt in range(cdiv(K, 64)):
                with r0.fill() as st:
                    copy_async(st.As, A.tile(64, 64)[2 * bm, kt], via="tma")
                    copy_async(st.Bs, B.tile(128, 64)[bn, kt], via="tma")
            for kt in range(cdiv(K, 64)):
                with r1.fill() as st:
                    copy_async(st.As, A.tile(64, 64)[2 * bm + 1, kt], via="tma")
                    copy_async(st.Bs, B.tile(128, 64)[bn, kt], via="tma")
"""
    + CONSUMER.format(i=0)
    + CONSUMER.format(i=1)
)


def checked(*edits: tuple[str, str]) -> CheckReport:
    text = KERNEL
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return check_kernel(read(text), fixes=False)


def refuted(report: CheckReport) -> set[str]:
    return {o.kind for o in report.obligations if o.verdict == "refuted"}


def test_a_buffer_that_is_freed_before_the_next_tile_is_proved() -> None:
    report = checked()
    assert [o.reason for o in report.obligations if o.verdict != "proved"] == []


def test_freeing_it_after_the_loop_is_proved() -> None:
    assert checked(
        ("            arrive(gone)\n", ""), ("            store(C", "            arrive(gone)\n            store(C")
    ).ok


def test_consumers_with_rings_of_their_own_are_proved() -> None:
    """The loader's first loop runs beside the first consumer's, its second beside the other's."""
    assert check(TWO_RINGS).ok


@pytest.mark.slow
def test_the_ring_alone_does_not_free_it() -> None:
    """With more trips than stages the ring's waits would do, but K may be small."""
    report = checked(
        ("come, gone = mbar(1), mbar(4)", "come = mbar(1)"), ("                await_phase(gone, bm·n - 1)\n", ""),
        ("            arrive(gone)\n", ""),
    )  # fmt: skip
    assert {"race", "deadlock"} <= refuted(report)


@pytest.mark.slow
def test_waiting_for_the_tile_before_the_last_is_refuted() -> None:
    assert {"race", "deadlock"} <= refuted(checked(("bm·n - 1)", "bm·n - 2)")))
