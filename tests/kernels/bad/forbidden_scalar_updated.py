# expect: forbidden 4
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M], s: f32):
    s *= 2.0
