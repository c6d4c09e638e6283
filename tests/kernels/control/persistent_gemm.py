@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    As, Bs = shared(bf16, 64, 32), shared(bf16, 64, 32)
    for bm, bn in tiles(cdiv(M, 64), cdiv(N, 64), order=xcd(8)):
        acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
        for kt in range(cdiv(K, 32)):
            store(As, load(A.tile(64, 32)[bm, kt], map=linear(4)))
            store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(4)))
            barrier()
            for ks in unroll(4):
                x, y = As.operand("a", acc, ks), Bs.operand("b", acc, ks)
                assert_match(x.k, y.k)
                acc += mma(x, y)
            barrier()
        store(C.tile(64, 64)[bm, bn], acc)
