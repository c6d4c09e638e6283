@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 128), cdiv(N, 64))
    As, Bs = shared(bf16, 128, 32, swizzle=xor(4, unit=8)), shared(bf16, 64, 32, swizzle=xor(4, unit=8))
    top, low = mma_acc("32x32x8", 64, 64, grid=(2, 2)), mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        store(As, load(A.tile(128, 32)[bm, kt], map=linear(8)))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(4)))
        barrier()
        for ks in unroll(2):
            y = Bs.operand("b", top, ks, pack=2)
            top += mma(As.rows(0, 64).operand("a", top, ks, pack=2), y)
            low += mma(As.rows(64, 64).operand("a", low, ks, pack=2), y)
        barrier()
    store(C.tile(128, 64)[bm, bn].rows(0, 64), top)
    store(C.tile(128, 64)[bm, bn].rows(64, 64), low)
