@kernel(target="gfx942", waves=2)
def conv2d(
    X: bf16[x:N * H * W, c:C], F: bf16[u:3, v:3, o:O, c:C],
    image: i32[m:M], row: i32[m:M], column: i32[m:M], Z: f32[m:M, o:O],
):
    where(C % 8 == 0, M % 32 == 0)
    assume(0 <= image[m], image[m] + H * W <= N * H * W)
    assume(-1 <= pixel(m, u, v) < N * H * W)
    assume(pixel(m, u, v) == (image[m] + (row[m] + u) * W + column[m] + v + 1) * (0 <= row[m] + u < H and 0 <= column[m] + v < W) - 1)
    ensures(Z[m, o], over(u, 3), over(v, 3), over(c, C), uses=(X, F))
    bm, bo = block(M // 32, cdiv(O, 32))
    i = load(image.tile(32)[bm])
    r = load(row.tile(32)[bm])
    k = load(column.tile(32)[bm])
    Xs, Fs = shared(bf16, 32, 16), shared(bf16, 32, 16)
    acc = mma_acc("16x16x16", 32, 32, grid=(2, 1))
    for du in unroll(3):
        for dv in unroll(3):
            y, x = r + du, k + dv
            at = select((y >= 0) & (y < H) & (x >= 0) & (x < W), i + y * W + x, -1)
            for ct in range(cdiv(C, 16)):
                store(Xs, load(X.gather(at).tile(32, 16)[0, ct]))
                store(Fs, load(F[du, dv].tile(32, 16)[bo, ct]))
                barrier()
                acc += mma(Xs.operand("a", acc, 0), Fs.operand("b", acc, 0))
                barrier()
    store(Z.tile(32, 32)[bm, bo], acc)
