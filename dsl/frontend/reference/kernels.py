"""Kernels that several entries of the language reference share."""

from __future__ import annotations

from collections.abc import Mapping

GEMM = """
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(bf16, 64, 32), shared(bf16, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        store(As, load(A.tile(64, 32)[bm, kt], map=linear(8)))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(4):
            x, y = As.operand("a", acc, ks), Bs.operand("b", acc, ks)
            assert_match(x.k, y.k)
            acc += mma(x, y)
        barrier()
    store(C.tile(64, 64)[bm, bn], acc)
"""

RING = """
@kernel(target="gfx942", waves=2)
def gemm(A: f16[m:M, k:K], B: f16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 32), cdiv(N, 64))
    r = ring(2, As=shared(f16, 32, 32, swizzle=xor(4, unit=8)), Bs=shared(f16, 64, 32, swizzle=xor(4, unit=8)))
    acc = mma_acc("32x32x8", 32, 64, grid=(1, 2))
    with r.fill() as st:
        copy_async(st.As, A.tile(32, 32)[bm, 0], via="dma")
        copy_async(st.Bs, B.tile(64, 32)[bn, 0], via="dma")
    for kt in range(cdiv(K, 32)):
        with r.use() as st:
            with r.fill() as nx:
                copy_async(nx.As, A.tile(32, 32)[bm, kt + 1], via="dma")
                copy_async(nx.Bs, B.tile(64, 32)[bn, kt + 1], via="dma")
            for ks in unroll(4):
                acc += mma(st.As.operand("a", acc, ks), st.Bs.operand("b", acc, ks))
    wait(0)
    store(C.tile(32, 64)[bm, bn], acc)
"""

MANUAL = """
@kernel(target="gfx942", waves=2)
def gemm(A: f16[m:M, k:K], B: f16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 32), cdiv(N, 64))
    As, Bs = shared(f16, 2, 32, 32, swizzle=xor(4, unit=8)), shared(f16, 2, 64, 32, swizzle=xor(4, unit=8))
    acc = mma_acc("32x32x8", 32, 64, grid=(1, 2))
    copy_async(As[0], A.tile(32, 32)[bm, 0], via="dma")
    copy_async(Bs[0], B.tile(64, 32)[bn, 0], via="dma")
    commit()
    for kt in range(cdiv(K, 32)):
        wait(0)
        barrier()
        copy_async(As[(kt + 1) % 2], A.tile(32, 32)[bm, kt + 1], via="dma")
        copy_async(Bs[(kt + 1) % 2], B.tile(64, 32)[bn, kt + 1], via="dma")
        commit()
        for ks in unroll(4):
            acc += mma(As[kt % 2].operand("a", acc, ks), Bs[kt % 2].operand("b", acc, ks))
    wait(0)
    store(C.tile(32, 64)[bm, bn], acc)
"""

HOPPER = """
@kernel(target="sm_90a", waves=8)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: bf16[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    r = ring(2, As=shared(bf16, 64, 64, swizzle=b128), Bs=shared(bf16, 64, 64, swizzle=b128))
    out = shared(bf16, 64, 64, swizzle=b128)
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    with role("load", waves=4, regs=40):
        for kt in range(cdiv(K, 64)):
            with r.fill() as st:
                copy_async(st.As, A.tile(64, 64)[bm, kt], via="tma")
                copy_async(st.Bs, B.tile(64, 64)[bn, kt], via="tma")
    with role("mma", waves=4, regs=232):
        acc = mma_acc("m64n64k16", 64, 64)
        for kt in range(cdiv(K, 64)):
            with r.use(keep=1) as st:
                for ks in unroll(4):
                    acc += mma(st.As.operand("a", acc, ks), st.Bs.operand("b", acc, ks))
        mma_wait(0)
        store(C.tile(64, 64)[bm, bn], acc.to(bf16), via="tma", stage=out)
"""

ROLES = """
@kernel(target="sm_90a", waves=8)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    As, Bs = shared(bf16, 2, 64, 64, swizzle=b128), shared(bf16, 2, 64, 64, swizzle=b128)
    full, empty = mbar(1, count=2), mbar(4, count=2)
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    with role("load", waves=4):
        for kt in range(cdiv(K, 64)):
            with elect():
                await_phase(empty[kt % 2], kt // 2 - 1)
                copy_async(As[kt % 2], A.tile(64, 64)[bm, kt], via="tma")
                copy_async(Bs[kt % 2], B.tile(64, 64)[bn, kt], via="tma")
                arrive(full[kt % 2], bytes=16384)
    with role("mma", waves=4):
        acc = mma_acc("m64n64k16", 64, 64)
        for kt in range(cdiv(K, 64)):
            await_phase(full[kt % 2], kt // 2)
            for ks in unroll(4):
                acc += mma(As[kt % 2].operand("a", acc, ks), Bs[kt % 2].operand("b", acc, ks))
            mma_wait(0)
            arrive(empty[kt % 2])
        store(C.tile(64, 64)[bm, bn], acc)
"""

SOFTMAX = """
@kernel(target="gfx942", waves=1)
def attention(Q: bf16[q:S, d:32], K: bf16[j:S, d:32], V: bf16[j:S, e:32], O: f32[q:S, e:32]):
    ensures(O[q, e], over(j, S), over(d, 32), uses=(Q, K, V))
    bq = block(cdiv(S, 32))
    o = mma_acc("32x32x8", 32, 32)
    mx, l = -inf, 0.0
    for jt in range(cdiv(S, 32)):
        s = mma_acc("32x32x8", 32, 32)
        for ks in unroll(4):
            s += mma(K.tile(32, 32)[jt, 0].operand("a", s, ks), Q.tile(32, 32)[bq, 0].operand("b", s, ks))
        s = mask(s, s.j < S, -inf)
        p, c, mx, l = online_softmax(s, mx, l, "j")
        o *= c
        for js in unroll(4):
            o += mma(V.tile(32, 32)[jt, 0].T.operand("a", o, js), p.to(bf16).as_operand("b", o, js))
    store(O.tile(32, 32)[bq, 0].T, o / l)
"""

SHARED: Mapping[str, str] = {
    "GEMM": GEMM,
    "RING": RING,
    "MANUAL": MANUAL,
    "HOPPER": HOPPER,
    "ROLES": ROLES,
    "SOFTMAX": SOFTMAX,
}
