# expect: bad-target 2
@kernel(target="gfx90a", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    barrier()
