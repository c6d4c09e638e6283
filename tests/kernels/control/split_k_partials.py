@kernel(target="gfx942", waves=2)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], W: f32[p:cdiv(K, 96), m:M, n:N]):
    where(K % 8 == 0)
    ensures(W[p, m, n], over(k, K, pred=k // 96 == p), uses=(A, B))
    bm, bn, bp = block(cdiv(M, 32), cdiv(N, 64), cdiv(K, 96))
    first = bp * 3
    r = ring(2, A=shared(bf16, 32, 32, swizzle=xor(4)), B=shared(bf16, 64, 32, swizzle=xor(4)))
    acc = mma_acc("32x32x8", 32, 64, grid=(1, 2))
    with r.fill() as st:
        copy_async(st.A, A.tile(32, 32)[bm, first])
        copy_async(st.B, B.tile(64, 32)[bn, first])
    for kt in range(min(3, cdiv(K, 32) - first)):
        with r.use() as st:
            with r.fill() as nx:
                copy_async(nx.A, A.tile(32, 32)[bm, first + kt + 1])
                copy_async(nx.B, B.tile(64, 32)[bn, first + kt + 1])
            for ks in unroll(4):
                a, b = st.A.operand("a", acc, ks), st.B.operand("b", acc, ks)
                assert_match(a.k, b.k)
                acc += mma(a, b)
    wait(0)
    store(W[bp].tile(32, 64)[bm, bn], acc)
