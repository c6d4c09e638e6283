# expect: contract 3
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M:2]):
    barrier()
