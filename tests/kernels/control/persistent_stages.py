@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    As, Bs = shared(bf16, 2, 64, 32), shared(bf16, 2, 64, 32)
    for bm, bn in tiles(cdiv(M, 64), cdiv(N, 64), order=group_m(4)):
        acc = mma_acc("16x16x16", 64, 64, grid=(2, 2))
        copy_async(As[0], A.tile(64, 32)[bm, 0], via="dma")
        copy_async(Bs[0], B.tile(64, 32)[bn, 0], via="dma")
        commit()
        for kt in range(cdiv(K, 32)):
            wait(0)
            barrier()
            copy_async(As[(kt + 1) % 2], A.tile(64, 32)[bm, kt + 1], via="dma")
            copy_async(Bs[(kt + 1) % 2], B.tile(64, 32)[bn, kt + 1], via="dma")
            commit()
            for ks in unroll(2):
                acc += mma(As[kt % 2].operand("a", acc, ks), Bs[kt % 2].operand("b", acc, ks))
        wait(0)
        barrier()
        store(C.tile(64, 64)[bm, bn], acc)
