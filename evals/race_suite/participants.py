"""Who comes to a barrier: divergence, roles, named barriers, ping-pong."""

from __future__ import annotations

from argus.evals.race_suite.case import Base, Case, product, same

DIVERGENCE, NAMED, SHIFT = "barrier divergence", "named barriers", "ping-pong shift"

# One role writes a tile, the other reads it.
ROLES = Base(
    "two roles",
    """
@kernel(target="gfx942", waves=4)
def f(A: f32[m:M, n:N], B: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    with role("put", waves=2):
        for t in range(cdiv(N, 64)):
            store(s, load(A.tile(16, 64)[bm, t]))
            barrier()
            barrier()
    with role("take", waves=2):
        for t in range(cdiv(N, 64)):
            barrier()
            store(B.tile(16, 64)[bm, t], load(s))
            barrier()
""",
    same,
)
CONDITION = Base(
    "uniform condition",
    """
@kernel(target="gfx942", waves=2)
def f(A: f32[m:M, n:64], B: f32[m:M, n:64]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    store(s, load(A.tile(16, 64)[bm, 0], map=linear(4)))
    if bm > 0:
        barrier()
    if bm == 0:
        barrier()
    store(B.tile(16, 64)[bm, 0], load(s, map=linear(1)))
""",
    same,
)
HOPPER_ROLES = Base(
    "named barrier",
    """
@kernel(target="sm_90a", waves=8)
def f(A: f32[m:M, n:64], B: f32[m:M, n:64]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 32))
    s = shared(f32, 2, 16, 64)
    with role("both", waves=8, groups=2) as g:
        store(s[g], load(A.tile(16, 64)[2 * bm + g, 0], map=linear(4)))
        barrier(waves=4)
        store(B.tile(16, 64)[2 * bm + g, 0], load(s[g], map=linear(1)))
""",
    same,
)
# Half of the waves run a phase ahead; two stages keep them apart.
PING_PONG = Base(
    "ping-pong",
    """
@kernel(target="gfx942", waves=4)
def f(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(bf16, 2, 64, 16), shared(bf16, 2, 64, 16)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    store(As[0], load(A.tile(64, 16)[bm, 0], map=linear(4)))
    store(Bs[0], load(B.tile(64, 16)[bn, 0], map=linear(4)))
    barrier()
    shift(2)
    for t in range(cdiv(K, 16)):
        a = load(A.tile(64, 16)[bm, t + 1], map=linear(4))
        b = load(B.tile(64, 16)[bn, t + 1], map=linear(4))
        barrier()
        for ks in unroll(2):
            acc += mma(As[t % 2].operand("a", acc, ks), Bs[t % 2].operand("b", acc, ks))
        barrier()
        store(As[(t + 1) % 2], a)
        store(Bs[(t + 1) % 2], b)
        barrier()
    store(C.tile(64, 64)[bm, bn], acc)
""",
    product,
)

CASES: tuple[Case, ...] = (
    ROLES.right("as it should be", DIVERGENCE),
    ROLES.wrong(
        "one barrier fewer in a role",
        DIVERGENCE,
        "deadlock,divergence,race",
        (
            "            store(B.tile(16, 64)[bm, t], load(s))\n            barrier()\n",
            "            store(B.tile(16, 64)[bm, t], load(s))\n",
        ),
    ),
    ROLES.wrong(
        "one trip fewer in a role",
        DIVERGENCE,
        "deadlock,divergence,coverage",
        (
            '    with role("take", waves=2):\n        for t in range(cdiv(N, 64)):',
            '    with role("take", waves=2):\n        for t in range(cdiv(N, 64) - 1):',
        ),
    ),
    ROLES.wrong(
        "read before the barrier",
        DIVERGENCE,
        "race,init",
        (
            "            barrier()\n            store(B.tile(16, 64)[bm, t], load(s))\n",
            "            store(B.tile(16, 64)[bm, t], load(s))\n            barrier()\n",
        ),
    ),
    ROLES.right(
        "one barrier a trip and two stages",
        DIVERGENCE,
        ("shared(f32, 16, 64)", "shared(f32, 2, 16, 64)"),
        ("store(s, ", "store(s[t % 2], "),
        ("            barrier()\n            barrier()\n", "            barrier()\n"),
        ("load(s))\n            barrier()\n", "load(s[t % 2]))\n"),
    ),
    CONDITION.right("as it should be", DIVERGENCE),
    CONDITION.right("conditions overlap", DIVERGENCE, ("bm > 0", "bm >= 0")),
    CONDITION.wrong("blocks without a barrier", DIVERGENCE, "race", ("bm > 0", "bm > 1")),
    HOPPER_ROLES.right("as it should be", NAMED),
    HOPPER_ROLES.right("all waves meet", NAMED, ("barrier(waves=4)", "barrier(waves=8)")),
    HOPPER_ROLES.wrong("no barrier", NAMED, "race", ("        barrier(waves=4)\n", "")),
    HOPPER_ROLES.wrong("a group reads the other's stage", NAMED, "race,epilogue", ("load(s[g]", "load(s[1 - g]")),
    HOPPER_ROLES.wrong(
        "both groups use one stage", NAMED, "race", ("store(s[g]", "store(s[0]"), ("load(s[g]", "load(s[0]")
    ),
    HOPPER_ROLES.right(
        "the other's stage after all waves met",
        NAMED,
        ("load(s[g]", "load(s[1 - g]"),
        ("barrier(waves=4)", "barrier(waves=8)"),
        ("store(B.tile(16, 64)[2 * bm + g, 0]", "store(B.tile(16, 64)[2 * bm + 1 - g, 0]"),
    ),
    PING_PONG.right("as it should be", SHIFT),
    PING_PONG.right("without the shift", SHIFT, ("    shift(2)\n", "")),
    PING_PONG.wrong(
        "one barrier fewer",
        SHIFT,
        "race,divergence,deadlock",
        ("        store(Bs[(t + 1) % 2], b)\n        barrier()\n", "        store(Bs[(t + 1) % 2], b)\n"),
    ),
)
