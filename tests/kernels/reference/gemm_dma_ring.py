@kernel(target="gfx942", waves=4)
def gemm(A: f16[m:M, k:K], B: f16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 128), cdiv(N, 128), order=group_m(8))
    r = ring(3, As=shared(f16, 128, 32, swizzle=xor(4, unit=8)), Bs=shared(f16, 128, 32, swizzle=xor(4, unit=8)))
    acc = mma_acc("16x16x16", 128, 128, grid=(2, 2))
    for kt in unroll(2):
        with r.fill() as st:
            copy_async(st.As, A.tile(128, 32)[bm, kt], via="dma")
            copy_async(st.Bs, B.tile(128, 32)[bn, kt], via="dma")
    for kt in range(cdiv(K, 32)):
        with r.use() as st:
            with r.fill() as nx:
                copy_async(nx.As, A.tile(128, 32)[bm, kt + 2], via="dma")
                copy_async(nx.Bs, B.tile(128, 32)[bn, kt + 2], via="dma")
            for ks in unroll(2):
                a, b = st.As.operand("a", acc, ks), st.Bs.operand("b", acc, ks)
                assert_match(a.k, b.k)
                acc += mma(a, b)
    wait(0)
    store(C.tile(128, 128)[bm, bn], acc)
