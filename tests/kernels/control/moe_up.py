@kernel(target="gfx942", waves=4)
def moe_up(
    X: bf16[t:T, k:K], Wg: bf16[e:E, n:N, k:K], Wu: bf16[e:E, n:N, k:K],
    slot: i32[s:P], expert: i32[b:P // 64], Y: bf16[s:P, n:N],
):
    where(P % 64 == 0, K % 8 == 0, N % 8 == 0)
    assume(-1 <= slot[s], slot[s] < T, 0 <= expert[b], expert[b] < E, expert[s // 64] == expert_of(s))
    ensures(Y[s, n], over(k, K), uses=(X, Wg, Wu))
    bs, bn = block(P // 64, cdiv(N, 64))
    x, e = X.gather(load(slot.tile(64)[bs])), expert[bs]
    r = ring(2, Xs=shared(bf16, 64, 64, swizzle=xor(8, unit=8)), Gs=shared(bf16, 64, 64, swizzle=xor(8, unit=8)), Us=shared(bf16, 64, 64, swizzle=xor(8, unit=8)))
    g, u = mma_acc("16x16x16", 64, 64, grid=(2, 2)), mma_acc("16x16x16", 64, 64, grid=(2, 2))
    with r.fill() as st:
        copy_async(st.Xs, x.tile(64, 64)[0, 0], via="dma")
        copy_async(st.Gs, Wg[e].tile(64, 64)[bn, 0], via="dma")
        copy_async(st.Us, Wu[e].tile(64, 64)[bn, 0], via="dma")
    for kt in range(cdiv(K, 64)):
        with r.use() as st:
            with r.fill() as nx:
                copy_async(nx.Xs, x.tile(64, 64)[0, kt + 1], via="dma")
                copy_async(nx.Gs, Wg[e].tile(64, 64)[bn, kt + 1], via="dma")
                copy_async(nx.Us, Wu[e].tile(64, 64)[bn, kt + 1], via="dma")
            for ks in unroll(4):
                a, bg, bu = st.Xs.operand("a", g, ks), st.Gs.operand("b", g, ks), st.Us.operand("b", u, ks)
                assert_match(expert_of(a.s), bg.e)
                assert_match(expert_of(a.s), bu.e)
                g += mma(a, bg)
                u += mma(a, bu)
    store(Y.tile(64, 64)[bs, bn], (silu(g) * u).to(bf16))
