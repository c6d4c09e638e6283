# expect: bad-target 9
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    r = ring(2, As=shared(bf16, 64, 64))
    with r.fill() as st:
        copy_async(st.As, A.tile(64, 64)[0, 0], via="dma")
    with r.use(keep=1) as us:
        x = load(us.As)
