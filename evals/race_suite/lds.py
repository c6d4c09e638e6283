"""Ordinary accesses to shared memory: read after write, write after read, write after write, never written."""

from __future__ import annotations

from argus.evals.race_suite.case import Base, Case, row_sums, same, turned

RAW, WAR, WAW, INIT = "LDS read after write", "LDS write after read", "LDS write after write", "uninitialised LDS"

# Rows go in by four elements a lane and come out by one, so that waves read what others wrote.
HAND_OVER = Base(
    "hand-over",
    """
@kernel(target="gfx942", waves=2)
def f(A: f32[m:M, n:64], B: f32[m:M, n:64]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    store(s, load(A.tile(16, 64)[bm, 0], map=linear(4)))
    barrier()
    store(B.tile(16, 64)[bm, 0], load(s, map=linear(1)))
""",
    same,
)
# The same through a buffer that every trip of a loop uses again.
REUSE = Base(
    "reuse",
    """
@kernel(target="gfx942", waves=4)
def f(A: f32[m:M, n:N], B: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    for t in range(cdiv(N, 64)):
        store(s, load(A.tile(16, 64)[bm, t], map=linear(4)))
        barrier()
        store(B.tile(16, 64)[bm, t], load(s, map=linear(1)))
        barrier()
""",
    same,
)
# Two stages in turn: one barrier a trip is enough, since the next one guards the stage after.
TURNS = Base(
    "turns",
    """
@kernel(target="gfx942", waves=4)
def f(A: f32[m:M, n:N], B: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 2, 16, 64)
    for t in range(cdiv(N, 64)):
        store(s[t % 2], load(A.tile(16, 64)[bm, t], map=linear(4)))
        barrier()
        store(B.tile(16, 64)[bm, t], load(s[t % 2], map=linear(1)))
""",
    same,
)
TURN_ROUND = Base(
    "transpose",
    """
@kernel(target="gfx942", waves=4)
def f(A: f32[m:M, n:N], B: f32[n:N, m:M]):
    where(N % 4 == 0, M % 4 == 0)
    ensures(B[n, m], uses=(A,))
    bm, bn = block(cdiv(M, 32), cdiv(N, 32))
    s = shared(f32, 32, 32, pad=1)
    store(s, load(A.tile(32, 32)[bm, bn], map=linear(1)))
    barrier()
    store(B.tile(32, 32)[bn, bm], load(s.T, map=linear(1)))
""",
    turned,
)
# The lower half is written twice, the second time with what is wanted.
OVERWRITE = Base(
    "overwrite",
    """
@kernel(target="gfx942", waves=2)
def f(A: f32[m:M, n:64], B: f32[m:M, n:64]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    store(s, load(A.tile(16, 64)[bm + 1, 0], map=linear(4)))
    barrier()
    store(s, load(A.tile(16, 64)[bm, 0], map=linear(1)))
    barrier()
    store(B.tile(16, 64)[bm, 0], load(s, map=linear(4)))
""",
    same,
)
HALVES = Base(
    "halves",
    """
@kernel(target="gfx942", waves=2)
def f(A: f32[m:M, n:64], B: f32[m:M, n:64]):
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 64)
    store(s.rows(0, 8), load(A.tile(8, 64)[2 * bm, 0]))
    store(s.rows(8, 8), load(A.tile(8, 64)[2 * bm + 1, 0]))
    barrier()
    store(B.tile(16, 64)[bm, 0], load(s, map=linear(1)))
""",
    same,
)
SUMS = Base(
    "row sums",
    """
@kernel(target="gfx942", waves=4)
def f(A: f32[m:M, k:K], B: f32[m:M]):
    where(K % 4 == 0)
    ensures(B[m], over(k, K), uses=(A,))
    bm = block(cdiv(M, 16))
    total = 0.0
    s = shared(f32, 16, 64)
    for t in range(cdiv(K, 64)):
        store(s, load(A.tile(16, 64)[bm, t], map=linear(4)))
        barrier()
        total += reduce("sum", load(s, map=linear(1)), "k", across="block")
        barrier()
    store(B.tile(16)[bm], total)
""",
    row_sums,
)
BARRIER = "    barrier()\n"

CASES: tuple[Case, ...] = (
    HAND_OVER.right("as it should be", RAW),
    HAND_OVER.wrong("no barrier", RAW, "race", (BARRIER, "")),
    HAND_OVER.right(
        "every wave reads its own", RAW, (BARRIER, ""), ("load(s, map=linear(1))", "load(s, map=linear(4))")
    ),
    HAND_OVER.right("one wave needs none", RAW, ("waves=2", "waves=1"), (BARRIER, "")),
    HAND_OVER.wrong(
        "barrier before the store", RAW, "race", (BARRIER, ""), ("    store(s, ", "    barrier()\n    store(s, ")
    ),
    HAND_OVER.wrong(
        "nothing is written", INIT, "init", ("    store(s, load(A.tile(16, 64)[bm, 0], map=linear(4)))\n", "")
    ),
    HAND_OVER.right("rows with a pad", RAW, ("shared(f32, 16, 64)", "shared(f32, 16, 64, pad=4)")),
    REUSE.right("as it should be", WAR),
    REUSE.right(
        "two barriers instead of one",
        WAR,
        ("map=linear(4)))\n        barrier()\n", "map=linear(4)))\n        barrier()\n        barrier()\n"),
    ),
    REUSE.right(
        "loaded ahead of the barrier",
        WAR,
        (
            "        store(s, load(A.tile(16, 64)[bm, t], map=linear(4)))\n",
            "        x = load(A.tile(16, 64)[bm, t], map=linear(4))\n        store(s, x)\n",
        ),
    ),
    REUSE.right(
        "nobody reads what others wrote",
        WAR,
        ("map=linear(4)))\n        barrier()\n", "map=linear(1)))\n"),
        ("map=linear(1)))\n        barrier()\n", "map=linear(1)))\n"),
    ),
    REUSE.wrong(
        "no barrier before the next trip", WAR, "race", ("map=linear(1)))\n        barrier()\n", "map=linear(1)))\n")
    ),
    REUSE.wrong(
        "no barrier after the store", RAW, "race", ("map=linear(4)))\n        barrier()\n", "map=linear(4)))\n")
    ),
    REUSE.wrong(
        "barrier from the second trip on",
        RAW,
        "race",
        ("map=linear(4)))\n        barrier()\n", "map=linear(4)))\n        if t > 0:\n            barrier()\n"),
    ),
    REUSE.right(
        "no barrier after the last trip",
        WAR,
        (
            "map=linear(1)))\n        barrier()\n",
            "map=linear(1)))\n        if t + 1 < cdiv(N, 64):\n            barrier()\n",
        ),
    ),
    TURNS.right("as it should be", WAR),
    TURNS.right(
        "three stages",
        WAR,
        ("shared(f32, 2, 16, 64)", "shared(f32, 3, 16, 64)"),
        ("store(s[t % 2], l", "store(s[t % 3], l"),
        ("load(s[t % 2]", "load(s[t % 3]"),
    ),
    TURNS.right(
        "stages the other way round",
        WAR,
        ("store(s[t % 2], l", "store(s[(t + 1) % 2], l"),
        ("load(s[t % 2]", "load(s[(t + 1) % 2]"),
    ),
    TURNS.wrong(
        "one stage after all", WAR, "race", ("store(s[t % 2], l", "store(s[0], l"), ("load(s[t % 2]", "load(s[0]")
    ),
    TURNS.wrong("the other stage is read", INIT, "init,epilogue,race", ("load(s[t % 2]", "load(s[(t + 1) % 2]")),
    TURNS.wrong(
        "stages change every second trip",
        WAR,
        "race",
        ("store(s[t % 2], l", "store(s[t // 2 % 2], l"),
        ("load(s[t % 2]", "load(s[t // 2 % 2]"),
    ),
    TURN_ROUND.right("as it should be", RAW),
    TURN_ROUND.wrong("no barrier", RAW, "race", (BARRIER, "")),
    TURN_ROUND.right(
        "turned before",
        RAW,
        (
            "store(s, load(A.tile(32, 32)[bm, bn], map=linear(1)))",
            "store(s.T, load(A.tile(32, 32)[bm, bn], map=linear(1)))",
        ),
        ("load(s.T,", "load(s,"),
    ),
    TURN_ROUND.right("swizzled instead of padded", RAW, ("pad=1", "swizzle=xor(8, unit=4)")),
    OVERWRITE.right("as it should be", WAW),
    OVERWRITE.wrong(
        "no barrier between the stores",
        WAW,
        "race",
        ("map=linear(4)))\n    barrier()\n    store(s", "map=linear(4)))\n    store(s"),
    ),
    OVERWRITE.right(
        "every wave overwrites its own",
        WAW,
        ("map=linear(4)))\n    barrier()\n    store(s", "map=linear(4)))\n    store(s"),
        ("[bm, 0], map=linear(1)))", "[bm, 0], map=linear(4)))"),
    ),
    HALVES.right("as it should be", WAW),
    HALVES.right(
        "rows by an unrolled loop",
        WAW,
        (
            "    store(s.rows(0, 8), load(A.tile(8, 64)[2 * bm, 0]))\n"
            "    store(s.rows(8, 8), load(A.tile(8, 64)[2 * bm + 1, 0]))\n",
            "    for h in unroll(2):\n        store(s.rows(8 * h, 8), load(A.tile(8, 64)[2 * bm + h, 0]))\n",
        ),
    ),
    HALVES.wrong("halves overlap", WAW, "race", ("s.rows(8, 8)", "s.rows(4, 8)")),
    HALVES.wrong(
        "half is never written", INIT, "init", ("    store(s.rows(8, 8), load(A.tile(8, 64)[2 * bm + 1, 0]))\n", "")
    ),
    SUMS.right("as it should be", WAR),
    SUMS.right(
        "two stages in turn",
        WAR,
        ("shared(f32, 16, 64)", "shared(f32, 2, 16, 64)"),
        ("store(s, ", "store(s[t % 2], "),
        ("load(s, ", "load(s[t % 2], "),
        ('across="block")\n        barrier()\n', 'across="block")\n'),
    ),
    SUMS.wrong(
        "no barrier before the next trip", WAR, "race", ('across="block")\n        barrier()\n', 'across="block")\n')
    ),
)
