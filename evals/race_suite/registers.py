"""Registers of asynchronous products (sm_90a), and registers read as operands."""

from __future__ import annotations

from argus.evals.race_suite.case import Base, Case, product

PENDING, MOVED = "register use before mma_wait", "register reinterpretation"

TWO = Base(
    "two products",
    """
@kernel(target="sm_90a", waves=4)
def f(A: bf16[m:64, k:64], B: bf16[n:128, k:64], C: f32[m:64, n:128]):
    ensures(C[m, n], over(k, 64), uses=(A, B))
    As, Bs = shared(bf16, 64, 64, swizzle=b128), shared(bf16, 128, 64, swizzle=b128)
    store(As, load(A.tile(64, 64)[0, 0]))
    store(Bs, load(B.tile(128, 64)[0, 0]))
    fence("async")
    barrier()
    left = mma_acc("m64n64k16", 64, 64)
    right = mma_acc("m64n64k16", 64, 64)
    for ks in unroll(4):
        left += mma(As.operand("a", left, ks), Bs.rows(0, 64).operand("b", left, ks))
    mma_wait(0)
    for ks in unroll(4):
        right += mma(As.operand("a", right, ks), Bs.rows(64, 64).operand("b", right, ks))
    store(C.tile(64, 64)[0, 0], left)
    mma_wait(0)
    store(C.tile(64, 64)[0, 1], right)
""",
    product,
    ({},),
)

CASES: tuple[Case, ...] = (
    TWO.right("as it should be", PENDING),
    TWO.right(
        "waited for once more", PENDING, ("left)\n    mma_wait(0)\n", "left)\n    mma_wait(0)\n    mma_wait(0)\n")
    ),
    TWO.right(
        "both in flight, both waited for",
        PENDING,
        ("left, ks))\n    mma_wait(0)\n", "left, ks))\n"),
        (
            "    store(C.tile(64, 64)[0, 0], left)\n    mma_wait(0)\n",
            "    mma_wait(0)\n    store(C.tile(64, 64)[0, 0], left)\n",
        ),
    ),
    TWO.wrong("no wait at the end", PENDING, "register", ("left)\n    mma_wait(0)\n", "left)\n")),
    TWO.wrong(
        "one batch left in flight", PENDING, "register", ("left)\n    mma_wait(0)\n", "left)\n    mma_wait(1)\n")
    ),
    TWO.right(
        "both in flight, the older waited for",
        PENDING,
        ("left, ks))\n    mma_wait(0)\n", "left, ks))\n    mma_wait(1)\n"),
        (
            "    store(C.tile(64, 64)[0, 0], left)\n    mma_wait(0)\n",
            "    mma_wait(0)\n    store(C.tile(64, 64)[0, 0], left)\n",
        ),
    ),
    TWO.wrong(
        "first stored while in flight",
        PENDING,
        "register",
        ("left, ks))\n    mma_wait(0)\n", "left, ks))\n    mma_wait(1)\n"),
    ),
    TWO.wrong(
        "shared memory written while it is multiplied",
        PENDING,
        "race,register,wait",
        (
            "    store(C.tile(64, 64)[0, 0], left)\n",
            "    store(As, load(A.tile(64, 64)[0, 0]))\n    store(C.tile(64, 64)[0, 0], left)\n",
        ),
    ),
)
