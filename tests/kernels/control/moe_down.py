@kernel(target="gfx942", waves=2)
def moe_down(H: bf16[s:P, k:K], W: bf16[e:E, n:N, k:K], slot: i32[s:P], expert: i32[b:P // 64], Y: f32[t:T, n:N]):
    where(K % 8 == 0, P % 64 == 0)
    assume(expert[s // 64] == expert_of(s), 0 <= expert[b] < E, -1 <= slot[s] < T)
    ensures(Y[t, n], over(s, P), over(k, K), uses=(H, W))
    bs, bn = block(P // 64, cdiv(N, 32))
    e = expert[bs]
    r = ring(2, Hs=shared(bf16, 64, 64, swizzle=xor(8, unit=8)), Ws=shared(bf16, 32, 64, swizzle=xor(8, unit=8)))
    acc = mma_acc("16x16x16", 64, 32, grid=(2, 1))
    with r.fill() as st:
        copy_async(st.Hs, H.tile(64, 64)[bs, 0], via="dma")
        copy_async(st.Ws, W[e].tile(32, 64)[bn, 0], via="dma")
    for kt in range(cdiv(K, 64)):
        with r.use() as st:
            with r.fill() as nx:
                copy_async(nx.Hs, H.tile(64, 64)[bs, kt + 1], via="dma")
                copy_async(nx.Ws, W[e].tile(32, 64)[bn, kt + 1], via="dma")
            for ks in unroll(4):
                acc += mma(st.Hs.operand("a", acc, ks), st.Ws.operand("b", acc, ks))
    wait(0)
    atomic_add(Y.scatter(load(slot.tile(64)[bs])).tile(64, 32)[0, bn], acc)
