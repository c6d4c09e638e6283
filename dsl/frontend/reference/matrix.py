"""Matrix instructions."""

from __future__ import annotations

from argus.dsl.frontend.reference.construct import Construct, Section

MATRIX = Section(
    "Matrix instructions",
    (
        Construct(
            words=("mma_acc",),
            form='acc = mma_acc(atom, m, n, grid=(wm, wn), regs="vgpr" | "agpr")',
            brief=(
                "zero accumulator; atom 32x32x8, 16x16x16 (16-bit), 32x32x16, 16x16x32 (8-bit); sm_90a: m64nNk16, "
                "m64nNk32 (8-bit), m16n8k16"
            ),
            meaning=(
                "A zero fragment of m × n, tiled by a grid of waves (of warpgroups for wgmma), each of which owns"
                " a rectangle of whole atoms. Accumulators are f32 (i32 for i8). gfx942 can keep them in `agpr`s."
            ),
            obligations="Register budget.",
            example="GEMM",
        ),
        Construct(
            words=("operand",),
            form='x = V.operand("a" | "b", acc, ks, pack=1)',
            brief=(
                "what an MMA reads at k-step ks of V: (rows of the side) x (k); pack merges k-steps into wide reads"
            ),
            meaning=(
                "Reads k-step `ks` of a view (or of a named fragment) whose rows are the rows of `acc` for side a"
                " and its columns for side b, and whose second axis is k. `pack` (gfx942) merges so many k-steps "
                "into wider reads, on both sides alike. wgmma takes b from shared memory only."
            ),
            obligations="`bounds`, `init`, `race`, `wait`.",
            example="""
@kernel(target="gfx942", waves=1)
def from_global(A: f16[m:M, k:K], B: f16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 16), cdiv(N, 16))
    acc = mma_acc("16x16x16", 16, 16)
    for kt in range(cdiv(K, 32)):
        x = A.tile(16, 32)[bm, kt].operand("a", acc, 0, pack=2)
        y = B.tile(16, 32)[bn, kt].operand("b", acc, 0, pack=2)
        acc += mma(x, y)
    store(C.tile(16, 16)[bm, bn], acc)
""",
        ),
        Construct(
            words=("mma",),
            form="acc += mma(x, y)",
            brief="x is operand a, y operand b; with wgmma pending until mma_wait",
            meaning=(
                "Multiplies and adds. Complete at once on gfx942 and with m16n8k16; with wgmma pending until "
                "`mma_wait`."
            ),
            obligations=(
                "`conformity`: k tags are equal in each slot, rows and columns do not change from step to step; "
                "`completeness` counts the k that were summed."
            ),
            example="GEMM",
        ),
        Construct(
            words=("mma_wait",),
            form="mma_wait(n)",
            brief="at most n batches of wgmma pending",
            meaning=(
                "Waits until at most n batches of wgmma are pending; 0 makes accumulators readable and frees what"
                " they read."
            ),
            obligations="`register`: pending registers are not touched.",
            target="sm_90a",
            example="ROLES",
        ),
        Construct(
            words=("as_operand",),
            form='x.as_operand("a" | "b", acc, ks)',
            brief="registers of x read as an operand, without a move",
            meaning=(
                "Takes the registers of a fragment, mostly of an accumulator, as an operand of another product. "
                "Nothing moves: the two register maps have to agree."
            ),
            obligations="The maps agree, element by element.",
            example="""
@kernel(target="gfx942", waves=1)
def chain(A: bf16[m:M, k:16], B: bf16[n:32, k:16], V: bf16[e:32, n:32], O: f32[m:M, e:32]):
    ensures(O[m, e], over(n, 32), over(k, 16), uses=(A, B, V))
    bm = block(cdiv(M, 32))
    s, o = mma_acc("32x32x8", 32, 32), mma_acc("32x32x8", 32, 32)
    for ks in unroll(2):
        s += mma(B.tile(32, 16)[0, 0].operand("a", s, ks), A.tile(32, 16)[bm, 0].operand("b", s, ks))
    p = s.to(bf16)
    for js in unroll(4):
        o += mma(V.tile(32, 32)[0, 0].operand("a", o, js), p.as_operand("b", o, js))
    store(O.tile(32, 32)[bm, 0].T, o)
""",
        ),
    ),
)
