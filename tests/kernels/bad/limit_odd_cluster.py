# expect: limit 3
@kernel(target="sm_90a", waves=4, cluster=3)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    barrier()
