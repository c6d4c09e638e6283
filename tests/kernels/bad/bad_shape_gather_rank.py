# expect: bad-shape 5
@kernel(target="gfx942", waves=4)
def gemm(X: bf16[a:P], t: i32[s:Q]):
    idx = load(t.tile(64)[0])
    x = load(X[0].gather(idx))
