"""Barriers in shared memory (sm_90a): phases, arrivals, bytes, and the proxies between ordinary and async accesses."""

from __future__ import annotations

from argus.evals.race_suite.case import Base, Case, product, same

PHASES, BYTES, ARRIVALS, PROXY, STORES = (
    "mbarrier phases",
    "mbarrier bytes",
    "mbarrier arrivals",
    "proxy fence",
    "TMA stores",
)

ONE = Base(
    "one tile by TMA",
    """
@kernel(target="sm_90a", waves=4)
def f(A: bf16[m:64, k:64], B: bf16[n:64, k:64], C: f32[m:64, n:64]):
    ensures(C[m, n], over(k, 64), uses=(A, B))
    As, Bs = shared(bf16, 64, 64, swizzle=b128), shared(bf16, 64, 64, swizzle=b128)
    full = mbar(1)
    with elect():
        copy_async(As, A.tile(64, 64)[0, 0], via="tma")
        copy_async(Bs, B.tile(64, 64)[0, 0], via="tma")
        arrive(full, bytes=16384)
    await_phase(full, 0)
    acc = mma_acc("m64n64k16", 64, 64)
    for ks in unroll(4):
        acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
    mma_wait(0)
    store(C.tile(64, 64)[0, 0], acc)
""",
    product,
    ({},),
)
# The ring written out: full[s] says that stage s has landed, empty[s] that it may be filled again.
RING = Base(
    "ring by hand",
    """
@kernel(target="sm_90a", waves=8)
def f(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(bf16, 2, 64, 64, swizzle=b128), shared(bf16, 2, 64, 64, swizzle=b128)
    full, empty = mbar(1, count=2), mbar(4, count=2)
    with role("load", waves=4):
        for t in range(cdiv(K, 64)):
            with elect():
                await_phase(empty[t % 2], t // 2 - 1)
                copy_async(As[t % 2], A.tile(64, 64)[bm, t], via="tma")
                copy_async(Bs[t % 2], B.tile(64, 64)[bn, t], via="tma")
                arrive(full[t % 2], bytes=16384)
    with role("multiply", waves=4):
        acc = mma_acc("m64n64k16", 64, 64)
        for t in range(cdiv(K, 64)):
            await_phase(full[t % 2], t // 2)
            for ks in unroll(4):
                acc += mma(As[t % 2].operand("a", acc, ks), Bs[t % 2].operand("b", acc, ks))
            mma_wait(0)
            arrive(empty[t % 2])
        store(C.tile(64, 64)[bm, bn], acc)
""",
    product,
    ({"M": 40, "N": 72, "K": 24}, {"M": 20, "N": 24, "K": 128}, {"M": 20, "N": 24, "K": 328}),
)
# Ordinary stores feed the tensor cores: they read through another proxy.
STAGED = Base(
    "stores before wgmma",
    """
@kernel(target="sm_90a", waves=4)
def f(A: bf16[m:64, k:64], B: bf16[n:64, k:64], C: f32[m:64, n:64]):
    ensures(C[m, n], over(k, 64), uses=(A, B))
    As, Bs = shared(bf16, 64, 64, swizzle=b128), shared(bf16, 64, 64, swizzle=b128)
    store(As, load(A.tile(64, 64)[0, 0]))
    store(Bs, load(B.tile(64, 64)[0, 0]))
    fence("async")
    barrier()
    acc = mma_acc("m64n64k16", 64, 64)
    for ks in unroll(4):
        acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
    mma_wait(0)
    store(C.tile(64, 64)[0, 0], acc)
""",
    product,
    ({},),
)
# Results leave by TMA through one buffer that the next column tile uses again.
LEAVE = Base(
    "out by TMA",
    """
@kernel(target="sm_90a", waves=4)
def f(A: f32[m:M, n:N], B: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(B[m, n], uses=(A,))
    bm = block(cdiv(M, 16))
    s = shared(f32, 16, 32)
    for t in range(cdiv(N, 32)):
        x = load(A.tile(16, 32)[bm, t])
        wait(0)
        barrier()
        store(s, x)
        fence("async")
        barrier()
        with elect():
            copy_async(B.tile(16, 32)[bm, t], s, via="tma")
            commit()
    wait(0)
""",
    same,
)

COPIED = (
    "    store(As, load(A.tile(64, 64)[0, 0]))\n    store(Bs, load(B.tile(64, 64)[0, 0]))\n",
    '    copy_async(As, A.tile(64, 64)[0, 0], via="cp")\n    copy_async(Bs, B.tile(64, 64)[0, 0], via="cp")\n'
    "    commit()\n    wait(0)\n",
)

CASES: tuple[Case, ...] = (
    STAGED.right("copied by cp.async", PROXY, COPIED),
    STAGED.wrong("copied by cp.async, no fence", PROXY, "proxy", COPIED, ('    fence("async")\n', "")),
    ONE.right("as it should be", BYTES),
    ONE.wrong("half of the bytes", BYTES, "wait,deadlock,race", ("bytes=16384", "bytes=8192")),
    ONE.wrong("bytes that never come", BYTES, "deadlock", ("bytes=16384", "bytes=32768")),
    ONE.wrong("no bytes", BYTES, "wait,deadlock,race", (", bytes=16384", "")),
    ONE.wrong("an arrival that never comes", ARRIVALS, "deadlock", ("mbar(1)", "mbar(2)")),
    ONE.wrong("the next phase awaited", PHASES, "deadlock", ("await_phase(full, 0)", "await_phase(full, 1)")),
    ONE.wrong("no phase awaited", PHASES, "wait,race,init", ("    await_phase(full, 0)\n", "")),
    ONE.right(
        "warps arrive as well",
        ARRIVALS,
        ("mbar(1)", "mbar(5)"),
        ("    await_phase(full, 0)\n", "    arrive(full)\n    await_phase(full, 0)\n"),
    ),
    ONE.right(
        "bytes in two arrivals",
        BYTES,
        ("mbar(1)", "mbar(2)"),
        ('A.tile(64, 64)[0, 0], via="tma")\n', 'A.tile(64, 64)[0, 0], via="tma")\n        arrive(full, bytes=8192)\n'),
        ("bytes=16384", "bytes=8192"),
    ),
    ONE.right(
        "a barrier for each tile",
        PHASES,
        ("full = mbar(1)", "full = mbar(1, count=2)"),
        (
            'A.tile(64, 64)[0, 0], via="tma")\n',
            'A.tile(64, 64)[0, 0], via="tma")\n        arrive(full[0], bytes=8192)\n',
        ),
        ("arrive(full, bytes=16384)", "arrive(full[1], bytes=8192)"),
        ("    await_phase(full, 0)\n", "    await_phase(full[0], 0)\n    await_phase(full[1], 0)\n"),
    ),
    ONE.right(
        "awaited twice", PHASES, ("    await_phase(full, 0)\n", "    await_phase(full, 0)\n    await_phase(full, 0)\n")
    ),
    RING.right("as it should be", PHASES),
    RING.right(
        "three stages",
        PHASES,
        (
            "shared(bf16, 2, 64, 64, swizzle=b128), shared(bf16, 2, 64, 64, swizzle=b128)",
            "shared(bf16, 3, 64, 64, swizzle=b128), shared(bf16, 3, 64, 64, swizzle=b128)",
        ),
        ("mbar(1, count=2), mbar(4, count=2)", "mbar(1, count=3), mbar(4, count=3)"),
        ("await_phase(empty[t % 2], t // 2 - 1)", "await_phase(empty[t % 3], t // 3 - 1)"),
        ("As[t % 2], A", "As[t % 3], A"),
        ("Bs[t % 2], B", "Bs[t % 3], B"),
        ("arrive(full[t % 2]", "arrive(full[t % 3]"),
        ("await_phase(full[t % 2], t // 2)", "await_phase(full[t % 3], t // 3)"),
        ("As[t % 2].op", "As[t % 3].op"),
        ("Bs[t % 2].op", "Bs[t % 3].op"),
        ("arrive(empty[t % 2])", "arrive(empty[t % 3])"),
    ),
    RING.right(
        "one lane frees the stage",
        ARRIVALS,
        ("mbar(4, count=2)", "mbar(1, count=2)"),
        (
            "            arrive(empty[t % 2])\n",
            "            barrier(waves=4)\n            with elect():\n                arrive(empty[t % 2])\n",
        ),
    ),
    RING.wrong(
        "one lane frees the stage of all",
        "stage freed early",
        "race,wait,deadlock,register",
        ("mbar(4, count=2)", "mbar(1, count=2)"),
        ("            arrive(empty[t % 2])\n", "            with elect():\n                arrive(empty[t % 2])\n"),
    ),
    RING.wrong(
        "stage filled before it is free",
        PHASES,
        "race,wait,deadlock",
        ("                await_phase(empty[t % 2], t // 2 - 1)\n", ""),
    ),
    RING.wrong("stage freed a phase late", PHASES, "deadlock", ("t // 2 - 1)", "t // 2)")),
    RING.wrong("stage filled a phase early", PHASES, "race,wait,deadlock", ("t // 2 - 1)", "t // 2 - 2)")),
    RING.wrong(
        "read before the phase",
        PHASES,
        "wait,race,init",
        ("await_phase(full[t % 2], t // 2)", "await_phase(full[t % 2], t // 2 - 1)"),
    ),
    RING.wrong(
        "the other slot awaited",
        PHASES,
        "wait,race,init,deadlock",
        ("await_phase(full[t % 2], t // 2)", "await_phase(full[(t + 1) % 2], t // 2)"),
    ),
    RING.wrong("more arrivals counted than warps", ARRIVALS, "deadlock", ("mbar(4, count=2)", "mbar(8, count=2)")),
    RING.wrong(
        "fewer arrivals counted than warps", ARRIVALS, "race,wait,deadlock", ("mbar(4, count=2)", "mbar(2, count=2)")
    ),
    RING.wrong(
        "freed before the products ended",
        "stage freed early",
        "race,register,wait",
        (
            "            mma_wait(0)\n            arrive(empty[t % 2])\n",
            "            arrive(empty[t % 2])\n            mma_wait(0)\n",
        ),
    ),
    RING.wrong(
        "one trip more filled than used",
        PHASES,
        "deadlock,wait",
        (
            '    with role("load", waves=4):\n        for t in range(cdiv(K, 64)):',
            '    with role("load", waves=4):\n        for t in range(cdiv(K, 64) + 3):',
        ),
    ),
    RING.wrong(
        "one trip fewer filled than used",
        PHASES,
        "deadlock",
        (
            '    with role("load", waves=4):\n        for t in range(cdiv(K, 64)):',
            '    with role("load", waves=4):\n        for t in range(cdiv(K, 64) - 1):',
        ),
    ),
    STAGED.right("as it should be", PROXY),
    STAGED.wrong("no fence", PROXY, "proxy", ('    fence("async")\n', "")),
    STAGED.right("fenced twice", PROXY, ('    fence("async")\n', '    fence("async")\n    fence("async")\n')),
    STAGED.right(
        "fenced by those who read",
        PROXY,
        ('    fence("async")\n    barrier()\n', '    barrier()\n    fence("async")\n'),
    ),
    STAGED.wrong(
        "no barrier",
        "LDS read after write",
        "race,proxy",
        ('    fence("async")\n    barrier()\n', '    fence("async")\n'),
    ),
    LEAVE.right("as it should be", STORES),
    LEAVE.right(
        "two buffers in turn",
        STORES,
        ("shared(f32, 16, 32)", "shared(f32, 2, 16, 32)"),
        ("        wait(0)\n        barrier()\n", "        wait(1)\n        barrier()\n"),
        ("store(s, x)", "store(s[t % 2], x)"),
        ("[bm, t], s, via", "[bm, t], s[t % 2], via"),
    ),
    LEAVE.wrong(
        "two buffers, and both in flight",
        STORES,
        "wait,race",
        ("shared(f32, 16, 32)", "shared(f32, 2, 16, 32)"),
        ("        wait(0)\n        barrier()\n", "        wait(2)\n        barrier()\n"),
        ("store(s, x)", "store(s[t % 2], x)"),
        ("[bm, t], s, via", "[bm, t], s[t % 2], via"),
    ),
    LEAVE.wrong("no fence", PROXY, "proxy", ('        fence("async")\n', "")),
    LEAVE.wrong(
        "buffer used again while it is read",
        STORES,
        "wait,race",
        ("        x = load(A.tile(16, 32)[bm, t])\n        wait(0)\n", "        x = load(A.tile(16, 32)[bm, t])\n"),
    ),
    LEAVE.wrong(
        "exit while the store reads",
        "copies in flight at exit",
        "wait",
        ("            commit()\n    wait(0)\n", "            commit()\n"),
    ),
    LEAVE.wrong(
        "only the wave itself knows",
        STORES,
        "wait,race",
        ("        wait(0)\n        barrier()\n", "        barrier()\n        wait(0)\n"),
    ),
)
