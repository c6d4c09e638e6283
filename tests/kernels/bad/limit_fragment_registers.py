# expect: limit 6
@kernel(target="gfx942", waves=1)
def copy(A: f32[m:M, n:N], B: f32[m:M, n:N]):
    ensures(B[m, n], uses=(A,))
    bm, bn = block(cdiv(M, 65536), cdiv(N, 65536))
    x = load(A.tile(65536, 65536)[bm, bn])
    store(B.tile(65536, 65536)[bm, bn], x)
