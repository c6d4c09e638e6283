# expect: bad-call 12
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    r = ring(2, As=shared(bf16, 64, 64))
    with r.fill() as st:
        copy_async(st.As, A.tile(64, 64)[0, 0], via="dma")
    for kt in range(cdiv(K, 64)):
        with r.use() as us:
            x = load(us.As)
        if kt + 1 < cdiv(K, 64):
            with r.fill() as nx:
                copy_async(nx.As, A.tile(64, 64)[0, kt + 1], via="dma")
