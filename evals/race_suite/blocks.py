"""Between blocks: who writes what, and where accesses end."""

from __future__ import annotations

from argus.evals.race_suite.case import Base, Case, product, same

COVER, BOUNDS, ATOMIC = "written twice or never", "out of bounds", "sums over blocks"

COPY = Base(
    "tiled copy",
    """
@kernel(target="gfx942", waves=1)
def f(A: f32[m:M, n:N], B: f32[m:M, n:N]):
    ensures(B[m, n], uses=(A,))
    bm, bn = block(cdiv(M, 16), cdiv(N, 64))
    store(B.tile(16, 64)[bm, bn], load(A.tile(16, 64)[bm, bn], map=linear(1)))
""",
    same,
)
PLANES = Base(
    "planes",
    """
@kernel(target="gfx942", waves=1)
def f(A: f32[z:Z, m:M, n:64], B: f32[z:Z, m:M, n:64]):
    where(Z >= 2)
    ensures(B[z, m, n], uses=(A,))
    bz, bm = block(Z, cdiv(M, 16))
    store(B[bz].tile(16, 64)[bm, 0], load(A[bz].tile(16, 64)[bm, 0]))
""",
    same,
)
SPLIT = Base(
    "split sum",
    """
@kernel(target="gfx942", waves=1)
def f(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 32), cdiv(N, 32))
    begin, end = split(cdiv(K, 16), 3)
    As, Bs = shared(bf16, 32, 16), shared(bf16, 32, 16)
    acc = mma_acc("32x32x8", 32, 32)
    for t in range(begin, end):
        store(As, load(A.tile(32, 16)[bm, t], map=linear(8)))
        store(Bs, load(B.tile(32, 16)[bn, t], map=linear(8)))
        for ks in unroll(2):
            acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
    atomic_add(C.tile(32, 32)[bm, bn], acc)
""",
    product,
)
PERSISTENT = Base(
    "persistent",
    """
@kernel(target="gfx942", waves=2)
def f(A: f32[m:M, n:N], B: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(B[m, n], uses=(A,))
    s = shared(f32, 16, 64)
    for bm, bn in tiles(cdiv(M, 16), cdiv(N, 64)):
        store(s, load(A.tile(16, 64)[bm, bn], map=linear(4)))
        barrier()
        store(B.tile(16, 64)[bm, bn], load(s, map=linear(1)))
        barrier()
""",
    same,
    ({"M": 5, "N": 20}, {"M": 40, "N": 132}, {"M": 300, "N": 1500}),
)

CASES: tuple[Case, ...] = (
    COPY.right("as it should be", COVER),
    COPY.wrong("tail without a block", COVER, "coverage", ("cdiv(N, 64))", "N // 64)")),
    COPY.wrong(
        "every column by every block",
        COVER,
        "coverage,epilogue",
        ("store(B.tile(16, 64)[bm, bn]", "store(B.tile(16, 64)[bm, 0]"),
        ("load(A.tile(16, 64)[bm, bn]", "load(A.tile(16, 64)[bm, 0]"),
    ),
    COPY.right(
        "narrow tiles",
        COVER,
        ("cdiv(N, 64))", "cdiv(N, 32))"),
        ("B.tile(16, 64)", "B.tile(16, 32)"),
        ("A.tile(16, 64)", "A.tile(16, 32)"),
    ),
    COPY.right(
        "last block first",
        COVER,
        ("load(A.tile(16, 64)[bm, bn]", "load(A.tile(16, 64)[cdiv(M, 16) - 1 - bm, bn]"),
        ("store(B.tile(16, 64)[bm, bn]", "store(B.tile(16, 64)[cdiv(M, 16) - 1 - bm, bn]"),
    ),
    COPY.right("a block too many", COVER, ("cdiv(N, 64))", "cdiv(N, 64) + 1)")),
    COPY.right("blocks in another order", COVER, ("cdiv(N, 64))", "cdiv(N, 64), order=xcd(8))")),
    PLANES.right("as it should be", BOUNDS),
    PLANES.right(
        "planes exchanged", BOUNDS, ("load(A[bz]", "load(A[Z - 1 - bz]"), ("store(B[bz]", "store(B[Z - 1 - bz]")
    ),
    PLANES.wrong("the plane after the last", BOUNDS, "bounds", ("load(A[bz]", "load(A[bz + 1]")),
    PLANES.wrong("the first plane for all", BOUNDS, "epilogue", ("load(A[bz]", "load(A[0]")),
    PLANES.wrong(
        "one plane for all", COVER, "coverage,epilogue", ("load(A[bz]", "load(A[0]"), ("store(B[bz]", "store(B[0]")
    ),
    SPLIT.right("as it should be", ATOMIC),
    SPLIT.right("more parts than there may be work", ATOMIC, ("cdiv(K, 16), 3", "cdiv(K, 16), 7")),
    SPLIT.wrong("stored, not added", ATOMIC, "coverage,completeness", ("atomic_add(", "store(")),
    SPLIT.wrong("parts overlap", ATOMIC, "completeness", ("range(begin, end)", "range(begin, end + 1)")),
    SPLIT.wrong("every part sums all", ATOMIC, "completeness", ("range(begin, end)", "range(0, cdiv(K, 16))")),
    PERSISTENT.right("as it should be", COVER),
    PERSISTENT.right("tiles in another order", COVER, ("cdiv(N, 64)):", "cdiv(N, 64), order=group_m(4)):")),
    PERSISTENT.wrong(
        "no barrier before the next tile",
        "LDS write after read",
        "race",
        ("map=linear(1)))\n        barrier()\n", "map=linear(1)))\n"),
    ),
)
