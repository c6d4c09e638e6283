@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    begin, end = split(cdiv(K, 32), 4)
    r = ring(2, As=shared(bf16, 64, 32), Bs=shared(bf16, 64, 32))
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    with r.fill() as st:
        copy_async(st.As, A.tile(64, 32)[bm, begin], via="dma")
        copy_async(st.Bs, B.tile(64, 32)[bn, begin], via="dma")
    for kt in range(begin, end):
        with r.use() as st:
            with r.fill() as nx:
                copy_async(nx.As, A.tile(64, 32)[bm, kt + 1], via="dma")
                copy_async(nx.Bs, B.tile(64, 32)[bn, kt + 1], via="dma")
            for ks in unroll(4):
                a, b = st.As.operand("a", acc, ks), st.Bs.operand("b", acc, ks)
                assert_match(a.k, b.k)
                acc += mma(a, b)
    wait(0)
    atomic_add(C.tile(64, 64)[bm, bn], acc)
