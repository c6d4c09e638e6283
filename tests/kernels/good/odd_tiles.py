@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 96), cdiv(N, 160))
    As, Bs = shared(bf16, 96, 48, pad=16), shared(bf16, 160, 48, pad=8)
    acc = mma_acc("16x16x16", 96, 160, grid=(2, 2))
    for kt in range(cdiv(K, 48)):
        a, b = load(A.tile(96, 48)[bm, kt], map=linear(8)), load(B.tile(160, 48)[bn, kt], map=linear(8))
        store(As, a)
        store(Bs, b)
        barrier()
        for ks in unroll(3):
            acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
        barrier()
    store(C.tile(96, 160)[bm, bn], acc)
