# expect: bad-call 6
@kernel(target="sm_90a", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    ensures(C[m, n], over(k, K), uses=(A, B))
    As = shared(bf16, 64, 64)
    copy_async(As, A.tile(64, 64)[0, 0])
    store(C.tile(64, 64)[0, 0], load(As).to(f32))
