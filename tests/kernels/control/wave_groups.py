@kernel(target="gfx942", waves=2)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 32), cdiv(N, 64))
    As, Bs = shared(bf16, 2, 32, 32), shared(bf16, 2, 64, 32)
    acc = mma_acc("32x32x8", 32, 64, grid=(1, 2))
    with role("fill", waves=2, groups=2) as g:
        if g == 0:
            copy_async(As[0], A.tile(32, 32)[bm, 0], via="dma")
            commit()
        copy_async(Bs[0].rows(32 * g, 32), B.tile(32, 32)[2 * bn + g, 0], via="dma")
        commit()
    for kt in range(cdiv(K, 32)):
        with role("fill", waves=2, groups=2) as g:
            if g == 0:
                copy_async(As[(kt + 1) % 2], A.tile(32, 32)[bm, kt + 1], via="dma")
                commit()
            copy_async(Bs[(kt + 1) % 2].rows(32 * g, 32), B.tile(32, 32)[2 * bn + g, kt + 1], via="dma")
            commit()
            if g == 0:
                wait(2)
            if g == 1:
                wait(1)
        barrier()
        for ks in unroll(4):
            acc += mma(As[kt % 2].operand("a", acc, ks), Bs[kt % 2].operand("b", acc, ks))
        barrier()
    wait(0)
    store(C.tile(32, 64)[bm, bn], acc)
