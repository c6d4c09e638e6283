# expect: contract 3
@kernel(target="gfx942", waves=4)
def gemm(A):
    barrier()
