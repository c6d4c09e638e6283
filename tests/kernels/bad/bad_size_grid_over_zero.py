# expect: bad-size 6
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64 - 64), cdiv(N, 64))
    store(C.tile(64, 64)[bm, bn], load(A.tile(64, 64)[bm, bn]))
