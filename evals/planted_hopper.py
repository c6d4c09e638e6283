"""Bugs planted in right Hopper kernels, with what a checker or an execution should say about each.

`RING` is a text of the library; `BY_HAND` is one tile of the same GEMM with its barriers written out, so that each
wait, arrival and count can be wrong by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from argus.dsl.diagnostics import FixClass
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.dsl.tags.obligations import Kind

Origin = Literal["ring", "by hand", "in turn"]

BY_HAND = """\
@kernel(target="sm_90a", waves=12)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: bf16[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    As = shared(bf16, 3, 128, 64, swizzle=b128)
    Bs = shared(bf16, 3, 64, 64, swizzle=b128)
    full = mbar(1, count=3)
    empty = mbar(8, count=3)
    out = shared(bf16, 2, 64, 64, swizzle=b128)
    bm, bn = block(cdiv(M, 128), cdiv(N, 64))
    with role("load", waves=4, regs=40):
        for kt in range(cdiv(K, 64)):
            with elect():
                await_phase(empty[kt % 3], kt // 3 - 1)
                copy_async(As[kt % 3], A.tile(128, 64)[bm, kt], via="tma")
                copy_async(Bs[kt % 3], B.tile(64, 64)[bn, kt], via="tma")
                arrive(full[kt % 3], bytes=24576)
    with role("mma", waves=8, regs=232, groups=2) as g:
        acc = mma_acc("m64n64k16", 64, 64)
        for kt in range(cdiv(K, 64)):
            await_phase(full[kt % 3], kt // 3)
            for ks in unroll(4):
                a, b = As[kt % 3].rows(g * 64, 64).operand("a", acc, ks), Bs[kt % 3].operand("b", acc, ks)
                assert_match(a.k, b.k)
                acc += mma(a, b)
            mma_wait(1)
            if kt >= 1:
                arrive(empty[(kt - 1) % 3])
        mma_wait(0)
        y = acc.to(bf16)
        for j in unroll(4):
            store(out[g].cols(16 * j, 16), y.as_operand("a", acc, j))
        fence("async")
        barrier(waves=4)
        with elect():
            copy_async(C.tile(64, 64)[2 * bm + g, bn], out[g], via="tma")
            commit()
        wait(0)
"""


@dataclass(frozen=True, slots=True)
class HopperBug:
    """One replacement in a right kernel's text.

    Attributes:
        old, new: Text of the right kernel, and what stands there instead.
        kinds: The first is the kind that the mistake has; a checker may find it by the others as well.
        consumer: A part of the source line, edited, where the mistake takes effect.
        other: The same of the line that it collides with or comes from; empty where there is none.
        fix_class: Of the edit that would mend it; None where no class fits.
        hangs: Whether a GPU waits for ever; otherwise results are wrong, always or by luck.
    """

    name: str
    origin: Origin
    old: str
    new: str
    kinds: tuple[Kind, ...]
    consumer: str
    other: str
    fix_class: FixClass | None
    hangs: bool = False

    @property
    def text(self) -> str:
        """The kernel with the bug.

        Raises:
            ValueError: If the right kernel does not hold `old` exactly once.
        """
        right = in_turn() if self.origin == "in turn" else sources()[self.origin]
        if right.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.origin} holds {self.old!r} {right.count(self.old)} times, not once")
        return right.replace(self.old, self.new)


@cache
def sources() -> Mapping[Origin, str]:
    """The right kernels of `BUGS`."""
    problem = make_problem(task_named("gemm"), dtype="bf16", target="sm_90a")
    ring = hopper_gemm.text(HopperGemmSchedule(tile=(128, 128, 64), stages=3), problem)
    return {"ring": ring, "by hand": BY_HAND}


@cache
def in_turn() -> str:
    """The right kernel of `TURN_BUGS`: consumers that take tiles in turn."""
    schedule = HopperGemmSchedule(tile=(128, 64, 64), stages=2, consumers_take="tiles")
    return hopper_gemm.text(schedule, make_problem(task_named("gemm"), dtype="bf16", target="sm_90a"))


BUGS: tuple[HopperBug, ...] = (
    HopperBug(
        "stage freed while MMAs read it", "by hand", "mma_wait(1)", "mma_wait(2)",
        ("race", "wait"), "copy_async(As", "acc += mma", "missing wait",
    ),
    HopperBug(
        "stage freed one use too early", "by hand", "if kt >= 1:\n                arrive(empty[(kt - 1) % 3])",
        "if kt >= 0:\n                arrive(empty[kt % 3])",
        ("race", "wait"), "copy_async(As", "acc += mma", "missing wait",
    ),
    HopperBug(
        "fill waits for the completion before", "by hand", "kt // 3 - 1)", "kt // 3 - 2)",
        ("race", "wait", "deadlock"), "copy_async(As", "copy_async(As", "missing wait",
    ),
    HopperBug(
        "fill waits for no stage", "by hand", "await_phase(empty[kt % 3], kt // 3 - 1)", "await_phase(empty[0], -1)",
        ("race", "wait"), "copy_async(As", "copy_async(As", "missing wait",
    ),
    HopperBug(
        "all waves wait for what one lane fills", "by hand",
        "            with elect():\n                await_phase(empty[kt % 3], kt // 3 - 1)\n",
        "            await_phase(empty[kt % 3], kt // 3 - 1)\n            with elect():\n",
        ("deadlock",), "await_phase(empty", "arrive(empty", "phase aliasing", hangs=True,
    ),
    HopperBug(
        "use waits for the completion after", "by hand", "await_phase(full[kt % 3], kt // 3)",
        "await_phase(full[kt % 3], kt // 3 + 1)",
        ("deadlock",), "await_phase(full", "", "phase aliasing", hangs=True,
    ),
    HopperBug(
        "use waits for another stage", "by hand", "await_phase(full[kt % 3], kt // 3)",
        "await_phase(full[(kt + 1) % 3], (kt + 1) // 3)",
        ("deadlock", "wait"), "await_phase(full", "", "stage off by n", hangs=True,
    ),
    HopperBug(
        "operand from the next stage", "by hand", "As[kt % 3].rows(g * 64, 64)", "As[(kt + 1) % 3].rows(g * 64, 64)",
        ("wait", "conformity", "init", "race"), "a, b =", "copy_async(As", "stage off by n",
    ),
    HopperBug(
        "epilogue before the last MMAs are complete", "ring", "            mma_wait(0)\n", "",
        ("register",), "y = acc.to", "acc += mma", "missing wait",
    ),
    HopperBug(
        "no proxy fence before the TMA store", "ring", '                fence("async")\n', "",
        ("proxy",), "copy_async(C", "store(out", "missing fence",
    ),
    HopperBug(
        "proxy fence before the stores", "by hand",
        "        for j in unroll(4):\n            store(out[g].cols(16 * j, 16), y.as_operand(\"a\", acc, j))\n"
        "        fence(\"async\")\n",
        "        fence(\"async\")\n"
        "        for j in unroll(4):\n            store(out[g].cols(16 * j, 16), y.as_operand(\"a\", acc, j))\n",
        ("proxy",), "copy_async(C", "store(out", "missing fence",
    ),
    HopperBug(
        "k-steps of one operand reversed", "ring", 'st.Bs.operand("b", acc, ks)', 'st.Bs.operand("b", acc, 3 - ks)',
        ("conformity", "written"), "acc += mma", "copy_async(st.", "k incomplete",
    ),
    HopperBug(
        "last k-step left out", "ring", "for ks in unroll(4)", "for ks in unroll(3)",
        ("completeness",), "copy_async(C", "", "k incomplete",
    ),
    HopperBug(
        "next k-tile of one operand", "ring", "[bn, kt], via", "[bn, kt + 1], via",
        ("conformity", "written"), "acc += mma", "copy_async(st.Bs", "stage off by n",
    ),
    HopperBug(
        "fewer fills than uses", "ring", "for kt in range(cdiv(K, 64)):\n                with r.fill",
        "for kt in range(K // 64):\n                with r.fill",
        ("deadlock",), "with r.use", "", "trip counts differ", hangs=True,
    ),
    HopperBug(
        "fewer uses than fills", "ring", "for kt in range(cdiv(K, 64)):\n                with r.use",
        "for kt in range(K // 64):\n                with r.use",
        ("completeness",), "copy_async(C", "", "trip counts differ",
    ),
    HopperBug(
        "tail of K used but not filled", "by hand",
        "        for kt in range(cdiv(K, 64)):\n            with elect():",
        "        for kt in range(K // 64):\n            with elect():",
        ("deadlock",), "await_phase(full", "", "trip counts differ", hangs=True,
    ),
    HopperBug(
        "bytes of one copy announced", "by hand", "bytes=24576", "bytes=16384",
        ("deadlock", "wait"), "arrive(full", "", None, hangs=True,
    ),
    HopperBug(
        "more bytes announced than copied", "by hand", "bytes=24576", "bytes=32768",
        ("deadlock",), "arrive(full", "copy_async(Bs", None, hangs=True,
    ),
    HopperBug(
        "stage free after half of its users", "by hand", "empty = mbar(8, count=3)", "empty = mbar(4, count=3)",
        ("race", "wait", "deadlock"), "copy_async(As", "acc += mma", "missing wait",
    ),
    HopperBug(
        "stage waits for more users than there are", "by hand", "empty = mbar(8, count=3)", "empty = mbar(12, count=3)",
        ("deadlock",), "await_phase(empty", "await_phase(full", None, hangs=True,
    ),
    HopperBug(
        "epilogue buffer written while its store reads it", "ring",
        "                wait(1)\n", "                wait(2)\n",
        ("race", "wait"), "store(out", "copy_async(C", "missing wait",
    ),
    HopperBug(
        "epilogue buffer free for one wave only", "ring", "                wait(1)\n                barrier(waves=4)\n",
        "                wait(1)\n",
        ("race", "wait"), "store(out", "copy_async(C", "missing barrier",
    ),
    HopperBug(
        "block ends while its stores are in flight", "by hand", "            commit()\n        wait(0)\n",
        "            commit()\n",
        ("wait",), "copy_async(C", "", "missing wait",
    ),
    HopperBug(
        "TMA store before all waves have written", "by hand", '        fence("async")\n        barrier(waves=4)\n',
        '        fence("async")\n',
        ("race",), "copy_async(C", "store(out", "missing barrier",
    ),
    HopperBug(
        "both consumers take the first rows", "ring", "st.As.rows(g * 64, 64)", "st.As.rows(0, 64)",
        ("epilogue",), "copy_async(C", "acc += mma", "stage off by n",
    ),
    HopperBug(
        "consumers' rows overlap", "ring", "st.As.rows(g * 64, 64)", "st.As.rows(g * 32, 64)",
        ("epilogue",), "copy_async(C", "acc += mma", "stage off by n",
    ),
    HopperBug(
        "both consumers store the first rows", "ring", "[2 * bm + g, ", "[2 * bm, ",
        ("coverage", "epilogue"), "copy_async(C", "", None,
    ),
    HopperBug(
        "last columns have no tile", "ring", "cdiv(N, 128), order", "N // 128, order",
        ("coverage",), "copy_async(C", "", "bounds guard",
    ),
    HopperBug(
        "epilogue columns of the first chunk", "ring",
        'y.as_operand("a", acc, 4 * q + j)', 'y.as_operand("a", acc, j)',
        ("epilogue",), "copy_async(C", "", "stage off by n",
    ),
)  # fmt: skip


def _fill(consumer: int, rows: str) -> str:
    """The loop that fills one consumer's ring in `in turn`."""
    return (
        f"            for kt in range(cdiv(K, 64)):\n                with r{consumer}.fill() as st:\n"
        f'                    copy_async(st.As, A.tile(64, 64)[{rows}, kt], via="tma")\n'
        '                    copy_async(st.Bs, B.tile(64, 64)[bn, kt], via="tma")\n'
    )


_FILLS = _fill(0, "2 * bm"), _fill(1, "2 * bm + 1")
_FIRST_TURN = 'role("pong", waves=4, regs=232):\n            barrier(waves=8)\n'
_PONG_WAITS = 'role("pong", waves=4, regs=232):\n'

# Bugs that no GPU has run.
TURN_BUGS: tuple[HopperBug, ...] = (
    HopperBug(
        "multiplies out of turn", "in turn", _FIRST_TURN, _PONG_WAITS,
        ("deadlock",), "barrier(waves=8)", "", "trip counts differ", hangs=True,
    ),
    HopperBug(
        "stores on without a turn", "in turn", "commit()\n            barrier(waves=8)\n", "commit()\n",
        ("deadlock",), "barrier(waves=8)", "", "trip counts differ", hangs=True,
    ),
    HopperBug(
        "turn of one consumer alone", "in turn", _FIRST_TURN, _PONG_WAITS + "            barrier(waves=4)\n",
        ("deadlock",), "barrier(waves=8)", "", "trip counts differ", hangs=True,
    ),
    HopperBug(
        "turn that the loading waves never take", "in turn", _FIRST_TURN,
        _PONG_WAITS + "            barrier(waves=12)\n",
        ("deadlock",), "barrier(waves=", "", "trip counts differ", hangs=True,
    ),
    HopperBug(
        "second consumer gets the first one's rows", "in turn",
        "A.tile(64, 64)[2 * bm + 1, kt]", "A.tile(64, 64)[2 * bm, kt]",
        ("epilogue",), "copy_async(C", "", "stage off by n",
    ),
    HopperBug(
        "second consumer stores over the first one's tile", "in turn",
        "C.tile(64, 64)[2 * bm + 1, bn]", "C.tile(64, 64)[2 * bm, bn]",
        ("coverage", "epilogue"), "copy_async(C", "", None,
    ),
    HopperBug(
        "second consumer stages where the first one's store reads", "in turn",
        "store(out[1].cols", "store(out[0].cols",
        ("race", "wait", "init"), "store(out[0]", "copy_async(C", "missing wait",
    ),
    HopperBug(
        "rings filled in the other order", "in turn", _FILLS[0] + _FILLS[1], _FILLS[1] + _FILLS[0],
        ("deadlock",), "with r", "", None, hangs=True,
    ),
)  # fmt: skip
