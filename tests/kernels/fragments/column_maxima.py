@kernel(target="gfx942", waves=2)
def column_maxima(X: f32[r:R, c:C], Y: f32[c:C]):
    ensures(Y[c], over(r, R), uses=X)
    bc = block(cdiv(C, 64))
    y = -inf
    for rt in range(cdiv(R, 8)):
        x = load(X.tile(8, 64, pad=-inf)[rt, bc], map=linear(4))
        y = max(y, reduce("max", x, "r", across="block"))
    store(Y.tile(64)[bc], y)
