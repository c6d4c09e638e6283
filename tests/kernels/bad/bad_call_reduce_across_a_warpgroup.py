# expect: bad-call 12
@kernel(target="sm_90a", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    As, Bs = shared(bf16, 64, 64, swizzle=b128), shared(bf16, 64, 64, swizzle=b128)
    acc = mma_acc("m64n64k16", 64, 64)
    store(As, load(A.tile(64, 64)[0, 0]))
    store(Bs, load(B.tile(64, 64)[0, 0]))
    barrier()
    acc += mma(As.operand("a", acc, 0), Bs.operand("b", acc, 0))
    y = reduce("sum", acc, "m")
    store(C.tile(64, 64)[0, 0], acc)
