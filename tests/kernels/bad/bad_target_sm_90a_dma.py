# expect: bad-target 7
@kernel(target="sm_90a", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    As = shared(bf16, 64, 64)
    copy_async(As, A.tile(64, 64)[0, 0], via="dma")
