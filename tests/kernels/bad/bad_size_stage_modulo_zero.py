# expect: bad-size 8
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    As = shared(bf16, 2, 64, 64)
    for kt in range(cdiv(K, 64)):
        store(As[kt % 0], load(A.tile(64, 64)[0, kt]))
