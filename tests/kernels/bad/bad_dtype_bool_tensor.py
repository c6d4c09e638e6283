# expect: bad-dtype 3
@kernel(target="gfx942", waves=4)
def gemm(A: bool[m:M]):
    barrier()
