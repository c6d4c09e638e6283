@kernel(target="gfx942", waves=1)
def attention(Q: f16[h:H, q:S, d:64], K: f16[h:H, j:T, d:64], V: f16[h:H, j:T, e:64], O: f16[h:H, q:S, e:64], scale: f32):
    ensures(O[h, q, e], over(j, T), over(d, 64), uses=(Q, K, V))
    bq, bh = block(cdiv(S, 32), H)
    kv = ring(2, Ks=shared(f16, 32, 64, swizzle=xor(8, unit=8)), Vs=shared(f16, 32, 64, swizzle=xor(8, unit=8)))
    o = mma_acc("32x32x8", 64, 32)
    mx, l = -inf, 0.0
    with kv.fill() as st:
        copy_async(st.Ks, K[bh].tile(32, 64)[0, 0], via="dma")
        copy_async(st.Vs, V[bh].tile(32, 64)[0, 0], via="dma")
    for jt in range(cdiv(T, 32)):
        with kv.use() as st:
            with kv.fill() as nx:
                copy_async(nx.Ks, K[bh].tile(32, 64)[jt + 1, 0], via="dma")
                copy_async(nx.Vs, V[bh].tile(32, 64)[jt + 1, 0], via="dma")
            s = mma_acc("32x32x8", 32, 32)
            for ks in unroll(8):
                s += mma(st.Ks.operand("a", s, ks), Q[bh].tile(32, 64)[bq, 0].operand("b", s, ks))
            s = mask(s * scale, s.j < T, -inf)
            m = max(mx, reduce("max", s, "j"))
            f, p = exp(mx - m), exp(s - m)
            l = l * f + reduce("sum", p, "j")
            mx = m
            o *= f
            for js in unroll(4):
                o += mma(st.Vs.T.operand("a", o, js), p.to(f16).as_operand("b", o, js))
    wait(0)
    store(O[bh].tile(32, 64)[bq, 0].T, (o / l).to(f16))
