# expect: limit 3
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[a:M, b:M, c:M, d:M, e:M, g:M]):
    barrier()
