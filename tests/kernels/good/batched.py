@kernel(target="gfx942", waves=4)
def gemm(A: f16[b:Z, m:M, k:K], B: f16[b:Z, n:N, k:K], C: f32[b:Z, m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[b, m, n], over(k, K), uses=(A, B))
    bz, bm, bn = block(Z, cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(f16, 64, 32), shared(f16, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        store(As, load(A[bz].tile(64, 32)[bm, kt], map=linear(8)))
        store(Bs, load(B[bz].tile(64, 32)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(4):
            acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
        barrier()
    store(C[bz].tile(64, 64)[bm, bn], acc)
