@kernel(target="gfx942", waves=1)
def scores(Q: bf16[q:S, d:32], K: bf16[j:T, d:32], L: f32[q:S]):
    ensures(L[q], over(j, T), over(d, 32), uses=(Q, K))
    bq = block(cdiv(S, 32))
    mx, l = -inf, 0.0
    for jt in range(cdiv(T, 32)):
        s = mma_acc("32x32x8", 32, 32)
        for ks in unroll(4):
            s += mma(K.tile(32, 32)[jt, 0].operand("a", s, ks), Q.tile(32, 32)[bq, 0].operand("b", s, ks))
        s = mask(s * 1.4426950408889634, s.j < T, -inf)
        m = max(mx, reduce("max", s, "j"))
        l = l * exp2(mx - m) + reduce("sum", exp2(s - m), "j")
        mx = m
    store(L.tile(32)[bq], (mx + log2(l)) * 0.6931471805599453)
