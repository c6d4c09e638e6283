# expect: bad-dtype 5
@kernel(target="gfx942", waves=4)
def gemm(B: bf16[n:N, k:K]):
    idx = load(B.tile(64, 64)[0, 0])
    x = load(B.gather(idx).tile(64, 64)[0, 0])
