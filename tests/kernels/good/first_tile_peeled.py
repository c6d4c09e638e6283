@kernel(target="gfx942", waves=1)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bn, bm = block(cdiv(N, 32), cdiv(M, 32))
    As, Bs = shared(bf16, 32, 16), shared(bf16, 32, 16)
    acc = mma_acc("32x32x8", 32, 32)
    store(As, load(A.tile(32, 16)[bm, 0], map=linear(8)))
    store(Bs, load(B.tile(32, 16)[bn, 0], map=linear(8)))
    barrier()
    for ks in unroll(2):
        acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
    for kt in range(1, cdiv(K, 16)):
        barrier()
        store(As, load(A.tile(32, 16)[bm, kt], map=linear(8)))
        store(Bs, load(B.tile(32, 16)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(2):
            x, y = As.operand("a", acc, ks), Bs.operand("b", acc, ks)
            assert_match(x.k, y.k)
            acc += mma(x, y)
    store(C.tile(32, 32)[bm, bn], acc)
