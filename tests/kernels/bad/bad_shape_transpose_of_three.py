# expect: bad-shape 4
@kernel(target="gfx942", waves=4)
def gemm(X: bf16[a:P, b:Q, c:R]):
    x = load(X.T)
