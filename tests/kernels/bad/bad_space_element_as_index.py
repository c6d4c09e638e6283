# expect: bad-space 4
@kernel(target="gfx942", waves=4)
def gemm(B: bf16[n:N, k:K], t: i32[s:P]):
    x = load(B.tile(64, 64)[t[0], 0])
