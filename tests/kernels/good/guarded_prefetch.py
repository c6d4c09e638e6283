@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(bf16, 2, 64, 32, pad=8), shared(bf16, 2, 64, 32, pad=8)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    store(As[0], load(A.tile(64, 32)[bm, 0], map=linear(8)))
    store(Bs[0], load(B.tile(64, 32)[bn, 0], map=linear(8)))
    barrier()
    for kt in range(cdiv(K, 32)):
        if kt + 1 < cdiv(K, 32):
            store(As[(kt + 1) % 2], load(A.tile(64, 32)[bm, kt + 1], map=linear(8)))
            store(Bs[(kt + 1) % 2], load(B.tile(64, 32)[bn, kt + 1], map=linear(8)))
        for ks in unroll(4):
            acc += mma(As[kt % 2].operand("a", acc, ks), Bs[kt % 2].operand("b", acc, ks))
        barrier()
    store(C.tile(64, 64)[bm, bn], acc)
