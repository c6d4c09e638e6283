@kernel(target="gfx942", waves=4)
def softmax(X: f16[r:R, c:C], Y: f16[r:R, c:C]):
    ensures(Y[r, c], over(c, C), uses=X)
    br = block(R)
    mx, l = -inf, 0.0
    for ct in range(cdiv(C, 512)):
        x = load(X.tile(1, 512, pad=-inf)[br, ct], map=linear(2)).to(f32)
        m = max(mx, reduce("max", x, "c", across="block"))
        l = l * exp(mx - m) + reduce("sum", exp(x - m), "c", across="block")
        mx = m
    assert_complete(l, c=range(C))
    for ct in range(cdiv(C, 512)):
        x = load(X.tile(1, 512, pad=-inf)[br, ct], map=linear(2)).to(f32)
        store(Y.tile(1, 512)[br, ct], (exp(x - mx) / l).to(f16))
