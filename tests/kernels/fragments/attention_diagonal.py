@kernel(target="gfx942", waves=2)
def attention(Q: bf16[h:H, q:S, d:64], K: bf16[h:H, j:S, d:64], V: bf16[h:H, j:S, e:64], O: bf16[h:H, q:S, e:64], scale: f32):
    ensures(O[h, q, e], over(j, S, pred=j <= q), over(d, 64), uses=(Q, K, V))
    bq, bh = block(cdiv(S, 64), H)
    Ks, Vs = shared(bf16, 64, 64, swizzle=xor(8, unit=8)), shared(bf16, 64, 64, swizzle=xor(8, unit=8))
    o = mma_acc("32x32x8", 64, 64, grid=(1, 2))
    mx, l = -inf, 0.0
    for jt in range(bq):
        store(Ks, load(K[bh].tile(64, 64)[jt, 0]))
        store(Vs, load(V[bh].tile(64, 64)[jt, 0]))
        barrier()
        s = mma_acc("32x32x8", 64, 64, grid=(1, 2))
        for ks in unroll(8):
            s += mma(Ks.operand("a", s, ks), Q[bh].tile(64, 64)[bq, 0].operand("b", s, ks))
        p, c, mx, l = online_softmax(s * scale, mx, l, "j")
        o *= c
        for js in unroll(8):
            o += mma(Vs.T.operand("a", o, js), p.to(bf16).as_operand("b", o, js))
        barrier()
    store(Ks, load(K[bh].tile(64, 64)[bq, 0]))
    store(Vs, load(V[bh].tile(64, 64)[bq, 0]))
    barrier()
    z = mma_acc("32x32x8", 64, 64, grid=(1, 2))
    for ks in unroll(8):
        z += mma(Ks.operand("a", z, ks), Q[bh].tile(64, 64)[bq, 0].operand("b", z, ks))
    p, c, mx, l = online_softmax(mask(z * scale, z.j <= z.q, -inf), mx, l, "j")
    o *= c
    for js in unroll(8):
        o += mma(Vs.T.operand("a", o, js), p.to(bf16).as_operand("b", o, js))
    store(O[bh].tile(64, 64)[bq, 0].T, (o / l).to(bf16))
