# expect: bad-call 2
@kernel(target="gfx942", wave=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    barrier()
