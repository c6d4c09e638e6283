# expect: bad-call 6
@kernel(target="gfx942", waves=4)
def gemm(B: bf16[n:N, k:K], t: i32[s:P]):
    idx = load(t.tile(64)[0])
    x = load(B.tile(64, 64)[0, 0])
    store(B.gather(idx).tile(64, 64)[0, 0], x)
