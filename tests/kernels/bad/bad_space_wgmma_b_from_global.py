# expect: bad-space 7
@kernel(target="sm_90a", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    acc = mma_acc("m64n64k16", 64, 64)
    b = B.tile(64, 64)[0, 0].operand("b", acc, 0)
