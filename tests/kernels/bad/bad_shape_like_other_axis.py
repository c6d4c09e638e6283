# expect: bad-shape 7
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], W: bf16[n:N], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    x = load(A.tile(64, 64)[0, 0])
    w = load(W.tile(64)[0], like=x)
    store(C.tile(64, 64)[0, 0], (x * w).to(f32))
