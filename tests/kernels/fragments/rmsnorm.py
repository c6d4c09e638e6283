@kernel(target="gfx942", waves=4)
def rmsnorm(X: bf16[r:R, c:C], W: bf16[c:C], Y: bf16[r:R, c:C], eps: f32):
    ensures(Y[r, c], over(c, C), uses=(X, W))
    br = block(R)
    ss = 0.0
    for ct in range(cdiv(C, 512)):
        x = load(X.tile(1, 512)[br, ct], map=linear(2)).to(f32)
        ss += reduce("sum", x * x, "c", across="block")
    assert_complete(ss, c=range(C))
    f = rsqrt(ss / C + eps)
    for ct in range(cdiv(C, 512)):
        x = load(X.tile(1, 512)[br, ct], map=linear(2)).to(f32)
        w = load(W.tile(512)[ct], like=x).to(f32)
        assert_match(x.c, w.c)
        store(Y.tile(1, 512)[br, ct], (x * f * w).to(bf16))
