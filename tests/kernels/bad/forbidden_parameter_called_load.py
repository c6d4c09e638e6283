# expect: forbidden 3
@kernel(target="gfx942", waves=4)
def gemm(load: bf16[m:M]):
    barrier()
