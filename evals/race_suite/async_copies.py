"""Copies that complete later: waits, groups, and who may read what has landed."""

from __future__ import annotations

from argus.evals.race_suite.case import Base, Case, product, same

WAIT, GROUPS, STAGES, EXIT = (
    "async wait",
    "async wait count",
    "stage copied into while read",
    "copies in flight at exit",
)

DIRECT = Base(
    "direct copy",
    """
@kernel(target="gfx942", waves=2)
def f(A: f32[m:M, n:64], B: f32[m:M, n:64]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    copy_async(s, A.tile(16, 64)[bm, 0], via="dma")
    commit()
    wait(0)
    barrier()
    store(B.tile(16, 64)[bm, 0], load(s, map=linear(4)))
""",
    same,
)
# Two groups in flight; the first is needed first.
PAIR = Base(
    "two groups",
    """
@kernel(target="gfx942", waves=2)
def f(A: f32[m:M, n:128], B: f32[m:M, n:128]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 2, 16, 64)
    copy_async(s[0], A.tile(16, 64)[bm, 0], via="dma")
    commit()
    copy_async(s[1], A.tile(16, 64)[bm, 1], via="dma")
    commit()
    wait(1)
    barrier()
    store(B.tile(16, 64)[bm, 0], load(s[0], map=linear(4)))
    wait(0)
    barrier()
    store(B.tile(16, 64)[bm, 1], load(s[1], map=linear(4)))
""",
    same,
)
# The next tile is copied while this one is used.
AHEAD = Base(
    "one tile ahead",
    """
@kernel(target="gfx942", waves=2)
def f(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 32), cdiv(N, 64))
    As, Bs = shared(bf16, 2, 32, 32), shared(bf16, 2, 64, 32)
    acc = mma_acc("32x32x8", 32, 64, grid=(1, 2))
    copy_async(As[0], A.tile(32, 32)[bm, 0], via="dma")
    copy_async(Bs[0], B.tile(64, 32)[bn, 0], via="dma")
    commit()
    for t in range(cdiv(K, 32)):
        wait(0)
        barrier()
        copy_async(As[(t + 1) % 2], A.tile(32, 32)[bm, t + 1], via="dma")
        copy_async(Bs[(t + 1) % 2], B.tile(64, 32)[bn, t + 1], via="dma")
        commit()
        for ks in unroll(4):
            acc += mma(As[t % 2].operand("a", acc, ks), Bs[t % 2].operand("b", acc, ks))
    wait(0)
    store(C.tile(32, 64)[bm, bn], acc)
""",
    product,
)
OVER = Base(
    "copy over a store",
    """
@kernel(target="gfx942", waves=1)
def f(A: f32[m:M, n:64], B: f32[m:M, n:64]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    store(s, load(A.tile(16, 64)[bm + 1, 0]))
    barrier()
    copy_async(s, A.tile(16, 64)[bm, 0], via="dma")
    commit()
    wait(0)
    barrier()
    store(B.tile(16, 64)[bm, 0], load(s))
""",
    same,
)
CP = Base(
    "cp.async",
    """
@kernel(target="sm_90a", waves=4)
def f(A: f32[m:M, n:64], B: f32[m:M, n:64]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    copy_async(s, A.tile(16, 64)[bm, 0], via="cp")
    commit()
    wait(0)
    barrier()
    store(B.tile(16, 64)[bm, 0], load(s, map=linear(1)))
""",
    same,
)
LATER = "    wait(0)\n    barrier()\n"

CASES: tuple[Case, ...] = (
    DIRECT.right("as it should be", WAIT),
    DIRECT.wrong("no wait", WAIT, "wait", ("    wait(0)\n", "")),
    DIRECT.wrong("no barrier", WAIT, "wait", ("    barrier()\n", "")),
    DIRECT.wrong("wait after the barrier", WAIT, "wait", (LATER, "    barrier()\n    wait(0)\n")),
    DIRECT.right("one wave needs no barrier", WAIT, ("waves=2", "waves=1"), ("    barrier()\n", "")),
    DIRECT.wrong("group never closed", GROUPS, "wait", ("    commit()\n", "")),
    DIRECT.wrong("waits for all but one", GROUPS, "wait", ("wait(0)", "wait(1)")),
    DIRECT.right(
        "an empty group younger", GROUPS, ("    commit()\n", "    commit()\n    commit()\n"), ("wait(0)", "wait(1)")
    ),
    DIRECT.wrong("nothing is copied", WAIT, "init", ('    copy_async(s, A.tile(16, 64)[bm, 0], via="dma")\n', "")),
    PAIR.right("as it should be", GROUPS),
    PAIR.right(
        "second group first",
        GROUPS,
        ("s[0], A.tile(16, 64)[bm, 0]", "s[1], A.tile(16, 64)[bm, 0]"),
        ("s[1], A.tile(16, 64)[bm, 1]", "s[0], A.tile(16, 64)[bm, 1]"),
        ("load(s[0]", "load(s[1]"),
        ("1], load(s[1]", "1], load(s[0]"),
    ),
    PAIR.wrong("first read while in flight", GROUPS, "wait", ("    wait(1)\n", "")),
    PAIR.wrong("second read while in flight", GROUPS, "wait", ("    wait(0)\n", "    wait(1)\n")),
    PAIR.wrong("both in one group", GROUPS, "wait", ('0], via="dma")\n    commit()\n', '0], via="dma")\n')),
    PAIR.right(
        "both waited for at first",
        GROUPS,
        ("    wait(1)\n", "    wait(0)\n    wait(0)\n"),
        ("    wait(0)\n    barrier()\n    store(B.tile(16, 64)[bm, 1]", "    store(B.tile(16, 64)[bm, 1]"),
    ),
    AHEAD.right("as it should be", STAGES),
    AHEAD.wrong(
        "copied into before the barrier",
        STAGES,
        "race,wait",
        (
            """        barrier()
        copy_async(As[(t + 1) % 2], A.tile(32, 32)[bm, t + 1], via="dma")
""",
            """        copy_async(As[(t + 1) % 2], A.tile(32, 32)[bm, t + 1], via="dma")
        barrier()
""",
        ),
    ),
    AHEAD.wrong(
        "copied into the stage in use", STAGES, "race,wait", ("copy_async(Bs[(t + 1) % 2]", "copy_async(Bs[t % 2]")
    ),
    AHEAD.wrong("copies land in the next trip", GROUPS, "wait", ("        wait(0)\n", "        wait(1)\n")),
    AHEAD.right(
        "three stages",
        STAGES,
        ("shared(bf16, 2, 32, 32), shared(bf16, 2, 64, 32)", "shared(bf16, 3, 32, 32), shared(bf16, 3, 64, 32)"),
        ("As[(t + 1) % 2]", "As[(t + 1) % 3]"),
        ("Bs[(t + 1) % 2]", "Bs[(t + 1) % 3]"),
        ("As[t % 2]", "As[t % 3]"),
        ("Bs[t % 2]", "Bs[t % 3]"),
    ),
    AHEAD.right(
        "every copy a group", GROUPS, ('[bm, t + 1], via="dma")\n', '[bm, t + 1], via="dma")\n        commit()\n')
    ),
    AHEAD.right("copies ahead that nobody uses", EXIT, ("    wait(0)\n    store(C", "    store(C")),
    OVER.right("as it should be", WAR := "copy over an ordinary access"),
    OVER.wrong("no barrier before the copy", WAR, "race", ("[bm + 1, 0]))\n    barrier()\n", "[bm + 1, 0]))\n")),
    CP.right("as it should be", WAIT),
    CP.right(
        "an empty group younger", GROUPS, ("    commit()\n", "    commit()\n    commit()\n"), ("wait(0)", "wait(1)")
    ),
    CP.wrong("wait after the barrier", WAIT, "wait", (LATER, "    barrier()\n    wait(0)\n")),
    CP.wrong("no wait", WAIT, "wait", ("    wait(0)\n", "")),
)
