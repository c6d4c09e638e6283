# expect: contract 5
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    ensures(C[m, n], over(k, K))
    ensures(C[m, n], over(k, K))
