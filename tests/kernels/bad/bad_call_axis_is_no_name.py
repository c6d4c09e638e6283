# expect: bad-call 3
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m + 1:M]):
    barrier()
