# expect: bad-space 8
@kernel(target="sm_90a", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    acc = mma_acc("m64n64k16", 64, 64)
    x = mma_acc("m64n64k16", 64, 64).to(bf16)
    b = x.as_operand("b", acc, 0)
