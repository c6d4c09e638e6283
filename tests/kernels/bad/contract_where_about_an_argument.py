# expect: contract 4
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M], n: i32):
    where(n > 4)
