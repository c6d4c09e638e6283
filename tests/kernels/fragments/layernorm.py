@kernel(target="gfx942", waves=1)
def layernorm(X: bf16[r:R, c:C], W: bf16[c:C], B: bf16[c:C], Y: bf16[r:R, c:C], eps: f32):
    ensures(Y[r, c], over(c, C), uses=(X, W, B))
    br = block(cdiv(R, 4))
    sx, ss = 0.0, 0.0
    for ct in range(cdiv(C, 128)):
        x = load(X.tile(4, 128)[br, ct]).to(f32)
        sx += reduce("sum", x, "c")
    assert_complete(sx, c=range(C))
    mean = sx / C
    for ct in range(cdiv(C, 128)):
        x = load(X.tile(4, 128)[br, ct]).to(f32)
        d = mask(x - mean, x.c < C, 0.0)
        ss += reduce("sum", d * d, "c")
    assert_complete(ss, c=range(C))
    f = rsqrt(ss / C + eps)
    for ct in range(cdiv(C, 128)):
        x = load(X.tile(4, 128)[br, ct]).to(f32)
        w, b = load(W.tile(128)[ct], like=x).to(f32), load(B.tile(128)[ct], like=x).to(f32)
        store(Y.tile(4, 128)[br, ct], ((x - mean) * f * w + b).to(bf16))
