@kernel(target="gfx942", waves=2)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 32))
    As = shared(bf16, 64, 64, swizzle=xor(8, unit=8))
    acc = mma_acc("32x32x8", 64, 32, grid=(2, 1))
    for kt in range(cdiv(K, 64)):
        store(As, load(A.tile(64, 64)[bm, kt], map=linear(8)))
        barrier()
        for ks in unroll(4):
            x, y = As.operand("a", acc, ks, pack=2), B.tile(32, 64)[bn, kt].operand("b", acc, ks, pack=2)
            assert_match(x.k, y.k)
            acc += mma(x, y)
        barrier()
    store(C.tile(64, 32)[bm, bn], acc)
