@kernel(target="gfx942", waves=2)
def gated(A: f16[r:R, c:C], B: f16[r:R, c:C], V: f32[c:C], Y: f16[r:R, c:C]):
    ensures(Y[r, c], uses=(A, B, V))
    br = block(cdiv(R, 4))
    for ct in range(cdiv(C, 64)):
        a, b = load(A.tile(4, 64)[br, ct]).to(f32), load(B.tile(4, 64)[br, ct]).to(f32)
        store(Y.tile(4, 64)[br, ct], (silu(a) * b + load(V.tile(64)[ct], like=a)).to(f16))
