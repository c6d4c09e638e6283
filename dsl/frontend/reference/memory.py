"""Buffers, views, and what moves between memory and registers."""

from __future__ import annotations

from argus.dsl.frontend.reference.construct import Construct, Section

MEMORY = Section(
    "Memory and views",
    (
        Construct(
            words=("shared",),
            form="As = shared(f16, [stages,] rows, width, swizzle=, pad=0)",
            brief="uninitialised buffer in LDS or smem; leading axes hold stages",
            meaning=(
                "A buffer of the block. The last axis is the row; `pad` elements follow each row; a leading axis "
                "holds stages, `As[i]` is one of them."
            ),
            obligations=(
                "`init`: no element is read before it is written; `race`: accesses of different waves are ordered."
            ),
            example="""
@kernel(target="gfx942", waves=2)
def through_lds(X: f32[r:R, c:64], Y: f32[r:R, c:64]):
    ensures(Y[r, c], uses=(X,))
    br = block(cdiv(R, 16))
    T = shared(f32, 16, 64, pad=4)
    store(T, load(X.tile(16, 64)[br, 0]))
    barrier()
    store(Y.tile(16, 64)[br, 0], load(T, map=linear(2)))
""",
        ),
        Construct(
            words=("xor", "b32", "b64", "b128"),
            form="swizzle=xor(chunks, unit=, rows=) | b32 | b64 | b128",
            brief="gfx942: chunk c of row r lies at c ^ (r // rows % chunks); sm_90a: b32 to b128",
            meaning="Permutes chunks of `unit` elements within each row: chunk c of row r lies in place "
            "`c ^ (r // rows % chunks)`. `unit` is 16 bytes unless given; `rows`, how many rows share a permutation, "
            "defaults to what 128 bytes hold. "
            "sm_90a knows the three swizzles of TMA and wgmma: 16-byte chunks in rows of 32, 64 or 128 bytes.",
            obligations="None: a bijection of each row. Bank conflicts are reported beside the verdicts.",
            example="MANUAL",
        ),
        Construct(
            words=("tile",),
            form="A.tile(64, 32, pad=0)[i, j]",
            brief="tile (i, j); reads outside any axis give pad, writes there vanish",
            meaning=(
                "Tile (i, j) of the grid of such tiles that covers a view: one extent and one index for each "
                "axis. Fix leading axes first: `X[b].tile(64, 32)[i, j]`."
            ),
            obligations="What lies outside counts as padding, which sums take only where it is zero and absorbed.",
            example="""
@kernel(target="gfx942", waves=1)
def pad_with_ones(X: f32[r:R, c:C], P: f32[r:R, c:C]):
    ensures(P[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    store(P.tile(8, 64)[br, bc], load(X.tile(8, 64, pad=1.0)[br, bc]))
""",
        ),
        Construct(
            words=("rows", "cols", "T"),
            form="V.rows(start, count), V.cols(start, count), V.T, V[i]",
            brief="sub-views, transpose, leading index fixed",
            meaning=(
                "Views of views: rows `start` to `start + count - 1`, columns likewise, the two axes swapped, the"
                " leading index fixed. Nothing moves."
            ),
            obligations="`bounds`: a sub-view lies inside its view.",
            example="""
@kernel(target="gfx942", waves=1)
def transpose(X: f32[r:R, c:C], Y: f32[c:C, r:R]):
    ensures(Y[c, r], uses=(X,))
    br, bc = block(cdiv(R, 16), cdiv(C, 16))
    store(Y.tile(16, 16)[bc, br].T, load(X.tile(16, 16)[br, bc]))
""",
        ),
        Construct(
            words=("gather", "scatter"),
            form="X.gather(idx), Y.scatter(idx)",
            brief="rows by an i32 fragment; -1 is a padding row",
            meaning=(
                "A view whose rows are picked by an i32 fragment of one axis, for reading or for writing; row -1 "
                "is padding. The picked rows carry the axis of `idx`."
            ),
            obligations="Indices are in range by `assume`; a scatter is injective or atomic.",
            example="""
@kernel(target="gfx942", waves=1)
def put_back(X: f32[s:P, c:64], slot: i32[s:P], Y: f32[t:T, c:64]):
    where(P % 8 == 0)
    assume(slot[s] >= -1, slot[s] < T)
    bs = block(P // 8)
    store(Y.scatter(load(slot.tile(8)[bs])).tile(8, 64)[0, 0], load(X.tile(8, 64)[bs, 0]))
""",
        ),
        Construct(
            words=("load", "linear"),
            form="x = load(view, map=linear(v)) | load(view, like=x)",
            brief="memory to registers; linear(v): v consecutive elements a lane; like: into the lanes of x",
            meaning=(
                "Reads a view of constant shape. `linear(v)` deals chunks of v consecutive elements to the "
                "threads in turn; without a map a lane takes 16 bytes where rows allow. `like=x` puts the view "
                "into the lanes of fragment x along its axes of the same names, so that it broadcasts against x. "
                "A loaded i32 scalar (`e = load(expert[b])`) serves as an integer."
            ),
            obligations="`bounds`, `init`, `race`, `wait`.",
            example="""
@kernel(target="gfx942", waves=4)
def scaled_gemm(A: bf16[m:M, k:64], B: bf16[n:N, k:64], s: f32[m:M], C: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(C[m, n], over(k, 64), uses=(A, B, s))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for ks in unroll(8):
        acc += mma(A.tile(64, 64)[bm, 0].operand("a", acc, ks), B.tile(64, 64)[bn, 0].operand("b", acc, ks))
    store(C.tile(64, 64)[bm, bn], acc * load(s.tile(64)[bm], like=acc))
""",
        ),
        Construct(
            words=("store",),
            form="store(view, x)",
            brief="registers to memory; shapes and dtypes equal",
            meaning="Writes a fragment to a view of the same shape and dtype; what lies outside the tensor vanishes. "
            "Convert before: `x.to(bf16)`.",
            obligations="`bounds`, `race`; on an output `epilogue` and `coverage`.",
            example="""
@kernel(target="gfx942", waves=1)
def to_bf16(X: f32[r:R, c:C], Y: bf16[r:R, c:C]):
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    store(Y.tile(8, 64)[br, bc], load(X.tile(8, 64)[br, bc]).to(bf16))
""",
        ),
        Construct(
            words=("copy",),
            form="copy(dst, src)",
            brief="load and store",
            meaning="Copies a view to another of the same shape and dtype through registers.",
            sugar=True,
            example="""
@kernel(target="gfx942", waves=2)
def staged_copy(X: f32[r:R, c:64], Y: f32[r:R, c:64]):
    ensures(Y[r, c], uses=(X,))
    br = block(cdiv(R, 16))
    T = shared(f32, 16, 64)
    copy(T, X.tile(16, 64)[br, 0])
    barrier()
    copy(Y.tile(16, 64)[br, 0], T)
""",
        ),
        Construct(
            words=("copy_async",),
            form='copy_async(dst, src, via="cp" | "tma")',
            brief='global to shared, later; "dma" on gfx942, "tma" and "cp" on sm_90a',
            meaning=(
                "Starts a copy and goes on. `via` says how, and need not on gfx942: `dma` fills 256 contiguous "
                "bytes of LDS a wave instruction; "
                "`cp` and `tma` (sm_90a) are cp.async and the tensor memory accelerator, which also copies shared"
                " to global. Copies of `dma` and `cp` join the wave's open group; `tma` copies complete on an "
                'mbar. With `across="cluster"` the blocks of a pair make the copy together: each reads half of it '
                "from memory, and to each it is the whole copy; the front end refuses it unless both ask for the same."
            ),
            obligations="`wait`: nothing touches the cells before the copy has arrived; sizes and alignment.",
            example="""
@kernel(target="gfx942", waves=1)
def dma_copy(X: f32[r:R, c:64], Y: f32[r:R, c:64]):
    ensures(Y[r, c], uses=(X,))
    br = block(cdiv(R, 16))
    T = shared(f32, 16, 64)
    copy_async(T, X.tile(16, 64)[br, 0], via="dma")
    commit()
    wait(0)
    barrier()
    store(Y.tile(16, 64)[br, 0], load(T))
""",
        ),
        Construct(
            words=("atomic_add",),
            form="atomic_add(view, x)",
            brief="adds to memory that other blocks add to",
            meaning="Adds each element of x (f32 or i32) to memory; the order between blocks is open.",
            obligations="Partial sums of all blocks are disjoint and complete.",
            example="""
@kernel(target="gfx942", waves=1)
def sum_of_rows(X: f32[r:R, c:C], S: f32[c:C]):
    ensures(S[c], over(r, R), uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    atomic_add(S.tile(64)[bc], reduce("sum", load(X.tile(8, 64)[br, bc]), "r"))
""",
        ),
        Construct(
            words=("ring", "fill", "use"),
            form="r = ring(S, As=shared(…), Bs=shared(…)); with r.fill() as st: … with r.use(keep=0) as st: …",
            brief="S stages; the i-th fill and the i-th use share stage i % S; waits and barriers are derived",
            meaning=(
                "Staged buffers. The i-th fill takes stage i mod S once it is free, the i-th use waits for the "
                "i-th fill; `st.As` is the stage's buffer. On gfx942 a fill is one group of copies and a use "
                "begins with a wait and a barrier; on sm_90a fills and uses of roles meet on mbars, and `keep` "
                "batches of MMAs may stay pending when a use ends. Fills may run ahead of uses."
            ),
            obligations=(
                "Uses that nothing fills are refuted; waits and barriers that it derives are checked like written ones."
            ),
            sugar=True,
            example="RING",
        ),
        Construct(
            words=(),
            form='store(view, x, via="tma", stage=buf)',
            brief="store through shared buffer buf by TMA",
            meaning=(
                "Writes x to `buf`, makes it visible, and has TMA copy it to the tensor; waits until `buf` may be"
                " reused. `buf` has the shape of the tile or is cut into it."
            ),
            obligations="`proxy`, reuse of `buf`, copies drained before the block ends.",
            target="sm_90a",
            sugar=True,
            example="HOPPER",
        ),
    ),
)
