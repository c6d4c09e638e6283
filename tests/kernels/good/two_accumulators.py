@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 128), cdiv(N, 64))
    As, Bs = shared(bf16, 2, 64, 32), shared(bf16, 64, 32)
    top, low = mma_acc("32x32x8", 64, 64, grid=(2, 2)), mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        store(As[0], load(A.tile(64, 32)[2 * bm, kt], map=linear(8)))
        store(As[1], load(A.tile(64, 32)[2 * bm + 1, kt], map=linear(8)))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(4):
            y = Bs.operand("b", top, ks)
            top += mma(As[0].operand("a", top, ks), y)
            low += mma(As[1].operand("a", low, ks), y)
        barrier()
    store(C.tile(64, 64)[2 * bm, bn], top)
    store(C.tile(64, 64)[2 * bm + 1, bn], low)
