@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    A0, B0 = shared(bf16, 64, 32), shared(bf16, 64, 32)
    A1, B1 = shared(bf16, 64, 32), shared(bf16, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 64)):
        store(A0, load(A.tile(64, 32)[bm, 2 * kt], map=linear(4)))
        store(B0, load(B.tile(64, 32)[bn, 2 * kt], map=linear(4)))
        store(A1, load(A.tile(64, 32)[bm, 2 * kt + 1], map=linear(4)))
        store(B1, load(B.tile(64, 32)[bn, 2 * kt + 1], map=linear(4)))
        barrier()
        for ks in unroll(4):
            acc += mma(A0.operand("a", acc, ks), B0.operand("b", acc, ks))
        for ks in unroll(4):
            acc += mma(A1.operand("a", acc, ks), B1.operand("b", acc, ks))
        barrier()
    store(C.tile(64, 64)[bm, bn], acc)
