@kernel(target="gfx942", waves=4)
def gemm(A: f16[m:M, k:K], B: f16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    r = ring(2, As=shared(f16, 64, 32), Bs=shared(f16, 64, 32))
    for bm, bn in tiles(cdiv(M, 64), cdiv(N, 64), order=xcd(8)):
        acc = mma_acc("16x16x16", 64, 64, grid=(2, 2))
        with r.fill() as st:
            copy_async(st.As, A.tile(64, 32)[bm, 0], via="dma"); copy_async(st.Bs, B.tile(64, 32)[bn, 0], via="dma")
        for kt in range(cdiv(K, 32) - 1):
            with r.use() as st:
                with r.fill() as nx:
                    copy_async(nx.As, A.tile(64, 32)[bm, kt + 1], via="dma"); copy_async(nx.Bs, B.tile(64, 32)[bn, kt + 1], via="dma")
                for ks in unroll(2):
                    acc += mma(st.As.operand("a", acc, ks), st.Bs.operand("b", acc, ks))
        with r.use() as st:
            for ks in unroll(2):
                acc += mma(st.As.operand("a", acc, ks), st.Bs.operand("b", acc, ks))
        store(C.tile(64, 64)[bm, bn], acc)
