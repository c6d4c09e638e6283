# expect: bad-dtype 5
@kernel(target="gfx942", waves=4)
def gemm(X: i8[m:M, k:K]):
    x = load(X.tile(64, 64)[0, 0])
    atomic_add(X.tile(64, 64)[0, 0], x)
