@kernel(target="gfx942", waves=4)
def copy(A: f32[m:M, n:N], C: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(C[m, n], uses=(A,))
    bn = block(cdiv(N, 64))
    begin, end = split(cdiv(M, 64), 5)
    for mt in range(begin, end):
        store(C.tile(64, 64)[mt, bn], load(A.tile(64, 64)[mt, bn], map=linear(4)))
