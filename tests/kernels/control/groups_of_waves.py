@kernel(target="gfx942", waves=3)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 32), cdiv(N, 32))
    part = shared(f32, 3, 32, 32)
    with role("mma", waves=3, groups=3) as g:
        acc = mma_acc("32x32x8", 32, 32)
        for kt in range(cdiv(K, 144)):
            for ks in unroll(3):
                a = A.tile(32, 48)[bm, 3 * kt + g].operand("a", acc, ks, pack=2)
                b = B.tile(32, 48)[bn, 3 * kt + g].operand("b", acc, ks, pack=2)
                acc += mma(a, b)
        store(part[g], acc)
    barrier()
    store(C.tile(32, 32)[bm, bn], load(part[0]) + load(part[1]) + load(part[2]))
