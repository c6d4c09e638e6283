"""Waiting: groups of copies, barriers, fences, barriers in memory."""

from __future__ import annotations

from argus.dsl.frontend.reference.construct import Construct, Section

WAITING = Section(
    "Waiting",
    (
        Construct(
            words=("commit", "wait"),
            form="commit(); wait(n)",
            brief="close this wave's group of copies; at most n of them pending",
            meaning=(
                "`commit()` closes the wave's open group; `wait(n)` waits until at most n of this wave's groups "
                "are pending. Other waves see the data only after a later `barrier()`. Nothing drains by itself."
            ),
            obligations="`wait`: a wait and then a barrier stand between copy and use.",
            example="MANUAL",
        ),
        Construct(
            words=("barrier",),
            form="barrier(waves=)",
            brief="all waves meet (sm_90a: or so many); completes ordinary accesses, not async copies",
            meaning=(
                "All waves of the block meet; ordinary shared accesses before it are complete after it, "
                "asynchronous copies are not. `waves=n` (sm_90a) is a named barrier of n waves: of a group, of a role, "
                "or, where n is more than the role has, of the roles that come to one."
            ),
            obligations="`divergence`: every wave reaches it; `deadlock`.",
            example="""
@kernel(target="gfx942", waves=2)
def reversed_halves(X: f32[r:16, c:64], Y: f32[r:16, c:64]):
    ensures(Y[r, c], uses=(X,))
    b = block(1)
    T = shared(f32, 16, 64)
    store(T, load(X.tile(16, 64)[b, 0], map=linear(4)))
    barrier()
    store(Y.tile(16, 64)[b, 0], load(T, map=linear(1)))
""",
        ),
        Construct(
            words=("shift",),
            form="shift(waves)",
            brief="one extra barrier arrival for the first waves: ping-pong",
            meaning=(
                "The first `waves` waves arrive at one more barrier and run one phase ahead of the others from "
                "then on; a second `shift` of the others brings them together again."
            ),
            obligations="Hazards are judged with the shifted phases.",
            target="gfx942",
            example="""
@kernel(target="gfx942", waves=2)
def shifted(X: f32[r:R, c:64], Y: f32[r:R, c:64]):
    ensures(Y[r, c], uses=(X,))
    br = block(cdiv(R, 4))
    shift(1)
    x = load(X.tile(4, 64)[br, 0])
    barrier()
    store(Y.tile(4, 64)[br, 0], x)
""",
        ),
        Construct(
            words=("fence",),
            form='fence("async")',
            brief="ordinary shared writes become visible to TMA and wgmma",
            meaning=(
                "Stands between ordinary writes of shared memory and a TMA copy or wgmma that reads them; a "
                "barrier follows where other waves read."
            ),
            obligations="`proxy`: without it the read is refuted.",
            target="sm_90a",
            example="""
@kernel(target="sm_90a", waves=4)
def store_by_tma(X: bf16[r:R, c:64], Y: bf16[r:R, c:64]):
    ensures(Y[r, c], uses=(X,))
    br = block(cdiv(R, 64))
    T = shared(bf16, 64, 64, swizzle=b128)
    store(T, load(X.tile(64, 64)[br, 0]))
    fence("async")
    barrier()
    with role("store", waves=4):
        with elect():
            copy_async(Y.tile(64, 64)[br, 0], T, via="tma")
            commit()
            wait(0)
""",
        ),
        Construct(
            words=("mbar", "arrive", "await_phase"),
            form="bar = mbar(arrivals, count=S); arrive(bar[slot], bytes=); await_phase(bar[slot], i)",
            brief="barriers in memory; i counts completions from 0, -1 waits for nothing; bytes= those of TMA copies",
            meaning=(
                "`count` barriers, each completed by `arrivals` arrivals. An arrival counts once for each wave "
                "that executes it; with `bytes=` the phase also waits for so many bytes of this wave's TMA "
                "copies. `await_phase(bar, i)` waits until the barrier has completed i + 1 times: completions, "
                "not parities."
            ),
            obligations="`deadlock`, arrival counts, byte counts, phase aliasing.",
            target="sm_90a",
            example="ROLES",
        ),
    ),
)
