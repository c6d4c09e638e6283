# expect: bad-size 5
@kernel(target="sm_90a", waves=4)
def gemm(X: bf16[m:M, k:K]):
    As = shared(bf16, 64, 64)
    copy_async(As, X.tile(64, 64)[0, 0], via="tma")
