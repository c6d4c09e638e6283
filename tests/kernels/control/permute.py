@kernel(target="gfx942", waves=4)
def permute(A: f32[s:P, n:N], to: i32[s:P], C: f32[t:P, n:N]):
    where(N % 4 == 0, P % 64 == 0)
    assume(0 <= to[s] < P, origin(to[s]) == s, to[origin(t)] == t, 0 <= origin(t) < P)
    ensures(C[t, n], uses=(A,))
    bs, bn = block(P // 64, cdiv(N, 64))
    x = load(A.tile(64, 64)[bs, bn], map=linear(4))
    store(C.scatter(load(to.tile(64)[bs])).tile(64, 64)[0, bn], x)
