"""Bugs planted in kernel text, as a lowering might make them. What the checker calls them is not written here."""

from __future__ import annotations

from dataclasses import dataclass

from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named

PROBLEM = make_problem(task_named("gemm"))

_SCHEDULES = {
    "single": GemmSchedule(),
    "prefetch": GemmSchedule(tile=(128, 64, 32), prefetch=True),
    "registers": GemmSchedule(tile=(128, 128, 64), stages=2, pack=2, swizzle="xor(8, unit=8, rows=1)"),
    "copies": GemmSchedule(tile=(128, 128, 32), atom="16x16x16", staging="dma", stages=2),
    "ring": GemmSchedule(tile=(128, 64, 32), staging="dma", stages=3, wait="count"),
    "swapped": GemmSchedule(tile=(64, 128, 32), staging="dma", stages=2, swap=True),
}


@dataclass(frozen=True, slots=True)
class Bug:
    """`old` becomes `new` in a right kernel: at its `which`-th place, or everywhere."""

    name: str
    kernel: str
    old: str
    new: str
    which: int | None = 0

    @property
    def text(self) -> str:
        right = clean(self.kernel)
        assert self.old in right, f"{self.name}: {self.old!r} is not in\n{right}"
        if self.which is None:
            return right.replace(self.old, self.new)
        parts = right.split(self.old)
        at = self.which + 1
        return self.old.join(parts[:at]) + self.new + self.old.join(parts[at:])


def clean(name: str) -> str:
    """The kernel without a bug."""
    return families()["gemm"].text(_SCHEDULES[name], PROBLEM)


_DRAIN = "        wait(0)\n        barrier()\n"
_EARLY = "        barrier()\n        wait(0)\n"
_LETTERS = 'x, y = As.operand("a", acc, ks), Bs.operand("b", acc, ks)'
_CROSSED = 'x, y = As.operand("b", acc, ks), Bs.operand("a", acc, ks)'
_STEP, _STUCK = 'Bs[kt % 2].operand("b", acc, ks,', 'Bs[kt % 2].operand("b", acc, 0,'

BUGS = [
    Bug("the stage is overwritten while it is read", "single", "        barrier()\n", "", 1),
    Bug("the stage is read before it is written", "single", "        barrier()\n", "", 0),
    Bug("no barrier between stages", "registers", "        barrier()\n", ""),
    Bug("no barrier after the wait", "copies", "        barrier()\n", ""),
    Bug("the wait leaves the newest group", "copies", "wait(0)", "wait(1)"),
    Bug("the first group is not closed", "copies", "    commit()\n", ""),
    Bug("the wait comes after the barrier", "copies", _DRAIN, _EARLY),
    Bug("one fill too many ahead", "ring", "unroll(2)", "unroll(3)"),
    Bug("the stage that is read is written", "registers", "(kt + 1) % 2", "kt % 2", None),
    Bug("one operand from the other stage", "copies", "Bs[kt % 2].operand", "Bs[(kt + 1) % 2].operand"),
    Bug("one operand a tile ahead", "swapped", "A.tile(64, 32)[bm, kt + 1]", "A.tile(64, 32)[bm, kt + 2]"),
    Bug("the first tile twice", "prefetch", "kt + 1", "kt", None),
    Bug("operands exchanged in the product", "single", "mma(x, y)", "mma(y, x)"),
    Bug("operands on each other's side", "single", _LETTERS, _CROSSED),
    Bug("the result stored over its diagonal", "single", "[bm, bn], acc)", "[bm, bn].T, acc)"),
    Bug("rows of A by the column block", "copies", "A.tile(128, 32)[bm,", "A.tile(128, 32)[bn,", None),
    Bug("a k-step left out", "single", "unroll(4)", "unroll(3)"),
    Bug("the first k-tile left out", "single", "range(cdiv(K, 32))", "range(1, cdiv(K, 32))"),
    Bug("one operand stays at its first k-step", "registers", _STEP, _STUCK),
    Bug("a tail without blocks", "single", "cdiv(M, 64)", "M // 64"),
]  # fmt: skip
