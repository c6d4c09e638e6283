"""The kernel and its contract; the grid, loops and roles."""

from __future__ import annotations

from argus.dsl.frontend.reference.construct import Construct, Section

CONTRACT = Section(
    "Kernel and contract",
    (
        Construct(
            words=("kernel",),
            form='@kernel(target="gfx942" | "sm_90a", waves=W, cluster=1)',
            brief="W waves a block, of 64 lanes (sm_90a: 32)",
            meaning="Marks a kernel: a function whose text is read and never run. A block has W waves, at most 16 on "
            "gfx942 and 32 on sm_90a. `cluster` blocks run together (sm_90a).",
            obligations="Budgets: shared memory and registers fit.",
            example="""
@kernel(target="gfx942", waves=2)
def double(X: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    store(Y.tile(8, 64)[br, bc], load(X.tile(8, 64)[br, bc]) * 2.0)
""",
        ),
        Construct(
            words=("f16", "bf16", "f8", "f32", "i8", "i32"),
            form="A: f16[m:M, k:K], s: f32, n: i32",
            brief="tensor with named axes, row-major; scalars are f32 or i32; dtypes f16 bf16 f8 f32 i8 i32",
            meaning=(
                "A tensor parameter names its axes and their extents, at most five, the last one contiguous. Axes"
                " of one name are one space: their coordinates may meet. Extents are size symbols, constants or "
                "expressions of sizes. Scalars are `f32` (a fragment, equal in all lanes) or `i32` (an integer)."
            ),
            obligations="Element (m, k) of `A` carries the tag m, k and the origin `A`.",
            example="""
@kernel(target="gfx942", waves=1)
def axpy(X: f32[r:R, c:128], Y: f32[r:R, c:128], Z: f32[r:R, c:128], a: f32):
    ensures(Z[r, c], uses=(X, Y))
    br = block(cdiv(R, 4))
    x, y = load(X.tile(4, 128)[br, 0]), load(Y.tile(4, 128)[br, 0])
    store(Z.tile(4, 128)[br, 0], a * x + y)
""",
        ),
        Construct(
            words=("where",),
            form="where(K % 8 == 0, N >= 64)",
            brief="facts about sizes, tested at launch",
            meaning=(
                "Predicates over size symbols; a launch tests them. Proofs use them. Contradictory ones are an "
                "error: a vacuous proof is no proof."
            ),
            obligations="The preconditions can be satisfied.",
            example="""
@kernel(target="gfx942", waves=1)
def copy_rows(X: bf16[r:R, c:C], Y: bf16[r:R, c:C]):
    where(C % 64 == 0)
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), C // 64)
    store(Y.tile(8, 64)[br, bc], load(X.tile(8, 64)[br, bc]))
""",
        ),
        Construct(
            words=("assume",),
            form="assume(slot[s] < T)",
            brief="facts about data; verdicts become conditional",
            meaning=(
                "Predicates over the elements of i32 tensors; the validator tests them on each input. Every "
                "verdict of a kernel with `assume` is reported as conditional (`assumed`)."
            ),
            example="""
@kernel(target="gfx942", waves=1)
def pick(X: f32[t:T, c:64], slot: i32[s:P], Y: f32[s:P, c:64]):
    where(P % 8 == 0)
    assume(slot[s] >= -1, slot[s] < T)
    ensures(Y[s, c], uses=(X,))
    bs = block(P // 8)
    rows_of = X.gather(load(slot.tile(8)[bs]))
    store(Y.tile(8, 64)[bs, 0], load(rows_of.tile(8, 64)[0, 0]))
""",
        ),
        Construct(
            words=("ensures", "over"),
            form="ensures(C[m, n], over(k, K, pred=), uses=(A, B))",
            brief="each C[m, n] is written once and sums each k once, from A and B",
            meaning=(
                "States what an output holds: element (m, n) is written once, from the tensors of `uses`, and "
                "sums over each `over` axis exactly the coordinates below the extent for which `pred` holds. "
                "`pred` may speak of free axes: `over(j, S, pred=j <= q)`. Without `ensures` for a written tensor"
                " its verdict is unknown."
            ),
            obligations=(
                "`epilogue`: stored tags equal the indices; `completeness`: each set once; `coverage`: all of the"
                " output, each element once."
            ),
            example="""
@kernel(target="gfx942", waves=4)
def row_sums(X: f32[r:R, c:C], S: f32[r:R]):
    ensures(S[r], over(c, C), uses=(X,))
    br = block(R)
    total = 0.0
    for ct in range(cdiv(C, 1024)):
        total += reduce("sum", load(X.tile(1, 1024)[br, ct]), "c", across="block")
    store(S.tile(1)[br], total)
""",
        ),
    ),
)

GRID = Section(
    "Grid, loops, roles",
    (
        Construct(
            words=("block", "cdiv"),
            form="bm, bn = block(cdiv(M, 128), cdiv(N, 128), order=rows)",
            brief="block indices; order: rows, columns, xcd(n), group_m(n), longest_first",
            meaning=(
                "One index for each count, of one to three counts. `order` maps the linear block number to "
                "indices: `rows` (the default), `columns`, `xcd(n)` (neighbours on one of n dies), `group_m(n)` "
                "(n rows of tiles together), `longest_first`. `cdiv(a, b)` is a / b rounded up."
            ),
            obligations="Every order is a bijection; blocks together write each element once (`coverage`).",
            example="""
@kernel(target="gfx942", waves=1)
def negate(X: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64), order=group_m(4))
    store(Y.tile(8, 64)[br, bc], -load(X.tile(8, 64)[br, bc]))
""",
        ),
        Construct(
            words=("tiles",),
            form="for bm, bn in tiles(cdiv(M, 128), cdiv(N, 128), order=):",
            brief="persistent grid: a block takes tile after tile",
            meaning=(
                "The outermost loop of a persistent kernel: as many blocks as the device holds, each takes every "
                "so many-th tile. Orders are those of `block`."
            ),
            obligations="Every tile is taken once; state that lives across tiles is followed through the loop.",
            example="""
@kernel(target="gfx942", waves=1)
def persistent_copy(X: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=(X,))
    for br, bc in tiles(cdiv(R, 8), cdiv(C, 64)):
        store(Y.tile(8, 64)[br, bc], load(X.tile(8, 64)[br, bc]))
""",
        ),
        Construct(
            words=("range", "unroll"),
            form="for kt in range(n): / range(a, b): / for ks in unroll(4):",
            brief="loop; unroll takes a constant",
            meaning=(
                "`range` takes any integer expression and may run no time; `unroll` takes a constant and is "
                "written out. There is no step, `break`, `continue` or `else`. Integers are assigned once; "
                "fragments may be updated."
            ),
            obligations="Proved by induction for every trip count; `unroll` by enumeration.",
            example="""
@kernel(target="gfx942", waves=1)
def column_sums(X: f32[r:R, c:C], S: f32[c:C]):
    ensures(S[c], over(r, R), uses=(X,))
    bc = block(cdiv(C, 64))
    total = 0.0
    for rt in range(cdiv(R, 8)):
        total += reduce("sum", load(X.tile(8, 64)[rt, bc]), "r")
    store(S.tile(64)[bc], total)
""",
        ),
        Construct(
            words=("split",),
            form="begin, end = split(n, parts)",
            brief="this block's part of range(n); adds a grid axis of parts",
            meaning=(
                "Cuts range(n) into `parts` runs, one for each block along a further grid axis. The parts meet in"
                " atomics or in a second kernel."
            ),
            obligations="Parts are disjoint and cover range(n).",
            example="""
@kernel(target="gfx942", waves=1)
def split_row_sums(X: f32[r:R, c:C], S: f32[r:R]):
    ensures(S[r], over(c, C), uses=(X,))
    br = block(R)
    begin, end = split(cdiv(C, 64), 4)
    total = 0.0
    for ct in range(begin, end):
        total += reduce("sum", load(X.tile(1, 64)[br, ct]), "c")
    atomic_add(S.tile(1)[br], total)
""",
        ),
        Construct(
            words=("if",),
            form="if kt + 1 < n:",
            brief="uniform branch; lanes differ by select, mask and pads",
            meaning=(
                "The condition compares integers and is equal in all waves of the block (or of the role). There "
                "is an `else`, but none around barriers, fills and uses."
            ),
            obligations="`divergence`: barriers are reached by all or none.",
            example="""
@kernel(target="gfx942", waves=1)
def first_rows(X: f32[r:R, c:64], Y: f32[r:R, c:64]):
    ensures(Y[r, c], uses=(X,))
    br = block(cdiv(R, 8))
    if br * 8 < R:
        store(Y.tile(8, 64)[br, 0], load(X.tile(8, 64)[br, 0]))
""",
        ),
        Construct(
            words=("role",),
            form='with role("load", waves=4, regs=40, groups=1) as g:',
            brief="these waves alone run the body; regs= on sm_90a only",
            meaning=(
                "Splits the waves of a block: roles stand side by side and their waves add up to the kernel's. "
                "`groups` equal groups of the role run the body with their number in `g`. On sm_90a a role is "
                "whole warpgroups of four waves and may have a register budget."
            ),
            obligations="Barriers count their participants; trip counts of roles that meet agree.",
            example="""
@kernel(target="gfx942", waves=2)
def halves(X: f32[r:R, c:128], Y: f32[r:R, c:128]):
    ensures(Y[r, c], uses=(X,))
    br = block(cdiv(R, 4))
    with role("both", waves=2, groups=2) as g:
        store(Y.tile(4, 64)[br, g], load(X.tile(4, 64)[br, g]))
""",
        ),
        Construct(
            words=("elect",),
            form="with elect():",
            brief="one lane of the role; copies, waits and arrivals only",
            meaning=(
                "One lane of the role's first wave runs the body, which may hold copies, waits, arrivals, loops "
                "and branches."
            ),
            obligations="`divergence`: no work of a whole wave inside.",
            example="ROLES",
        ),
    ),
)
