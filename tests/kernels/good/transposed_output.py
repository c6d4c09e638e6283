@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[n:N, m:M]):
    where(K % 8 == 0, M % 4 == 0)
    ensures(C[n, m], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(bf16, 64, 32), shared(bf16, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        store(As, load(A.tile(64, 32)[bm, kt], map=linear(8)))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(4):
            acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
        barrier()
    store(C.tile(64, 64)[bn, bm].T, acc)
