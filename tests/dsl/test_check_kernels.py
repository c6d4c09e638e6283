"""Kernels of other shapes than the families print: proved as they are, refuted with one slip."""

from __future__ import annotations

import pytest

from argus.dsl.check import check

GEMM = """@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
"""
THROUGH_SHARED = (
    GEMM
    + """\
    As, Bs, Cs = shared(bf16, 64, 32), shared(bf16, 64, 32), shared(f32, 64, 64, pad=4)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        store(As, load(A.tile(64, 32)[bm, kt], map=linear(8)))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(4):
            acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
        barrier()
    store(Cs, acc)
    barrier()
    store(C.tile(64, 64)[bm, bn], load(Cs, map=linear(4)))
"""
)
PARTIAL_SUMS = (
    GEMM
    + """\
    As, Bs = shared(bf16, 64, 32), shared(bf16, 64, 32)
    acc, odd = mma_acc("32x32x8", 64, 64, grid=(2, 2)), mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        store(As, load(A.tile(64, 32)[bm, kt], map=linear(8)))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(4):
            if kt % 2 == 0:
                acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
            else:
                odd += mma(As.operand("a", odd, ks), Bs.operand("b", odd, ks))
        barrier()
    store(C.tile(64, 64)[bm, bn], acc + odd)
"""
)
TRANSPOSE = """@kernel(target="gfx942", waves=4)
def transpose(A: f32[m:M, n:N], C: f32[n:N, m:M]):
    where(N % 4 == 0, M % 4 == 0)
    ensures(C[n, m], uses=(A,))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    S = shared(f32, 64, 64, pad=4)
    store(S, load(A.tile(64, 64)[bm, bn], map=linear(4)))
    barrier()
    store(C.tile(64, 64)[bn, bm], load(S.T, map=linear(4)))
"""
COPY = """@kernel(target="gfx942", waves=4)
def copy(A: f32[m:M, n:N], C: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(C[m, n], uses=(A,))
    bm = block(cdiv(M, 64))
    for nt in range(cdiv(N, 64)):
        store(C.tile(64, 64)[bm, nt], load(A.tile(64, 64)[bm, nt], map=linear(4)))
"""

CASES: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "the result through shared memory": (
        THROUGH_SHARED,
        (
            ("    store(Cs, acc)\n    barrier()\n", "    store(Cs, acc)\n", "race"),
            ("load(Cs, map", "load(Cs.T, map", "epilogue"),
        ),
    ),
    "partial sums": (
        PARTIAL_SUMS,
        (
            ("acc + odd", "acc", "completeness"),
            ("acc + odd", "acc + acc", "completeness"),
            ("kt % 2 == 0", "kt % 3 == 0", ""),
            ('Bs.operand("b", odd, ks)', 'Bs.operand("b", odd, 0)', "conformity"),
        ),
    ),
    "a transposition": (
        TRANSPOSE,
        (
            ("S.T", "S", "epilogue"),
            ("    barrier()\n", "", "race"),
            ("A.tile(64, 64)[bm, bn]", "A.tile(64, 64)[bn, bm]", "epilogue"),
        ),
    ),
    "a copy": (
        COPY,
        (
            ("range(cdiv(N, 64))", "range(N // 64)", "coverage"),
            ("load(A.tile(64, 64)[bm, nt]", "load(A.tile(64, 64)[bm, 0]", "epilogue"),
        ),
    ),
}


@pytest.mark.parametrize("text", [text for text, _ in CASES.values()], ids=CASES)
def test_the_kernel_is_proved(text: str) -> None:
    report = check(text)
    assert report.ok, report.render(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "slip"), [(text, slip) for text, slips in CASES.values() for slip in slips], ids=lambda x: str(x[1])[:24]
)
def test_a_slip_is_refuted(text: str, slip: tuple[str, str, str]) -> None:
    old, new, kind = slip
    assert old in text
    report = check(text.replace(old, new, 1))
    refuted = {o.kind for o in report.obligations if o.verdict == "refuted"}
    # Without a kind, the edit is harmless: every third tile goes to one accumulator, the others to the other.
    assert (kind in refuted) if kind else report.ok
    assert not [o.reason for o in report.obligations if (o.reason or "").startswith("internal")]


@pytest.mark.slow
def test_nothing_is_added_to_sums_that_were_changed() -> None:
    clipped = check(PARTIAL_SUMS.replace("acc + odd", "relu(acc) + odd"))
    assert {o.kind for o in clipped.obligations if o.verdict == "unknown"} == {"completeness"}
    halved = PARTIAL_SUMS.replace(
        "        barrier()\n    store(C", "        barrier()\n        acc = acc * 0.5\n    store(C"
    )
    assert check(halved).count("unknown") > 0
    assert check(PARTIAL_SUMS.replace("acc + odd", "relu(acc + odd) * 2.0")).ok
