# expect: bad-space 7
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    a, b = shared(bf16, 64, 64), shared(bf16, 64, 64)
    copy_async(a, b, via="dma")
