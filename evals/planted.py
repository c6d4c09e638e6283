"""Bugs planted in right kernels: the slips that lowering agents make, each with the class of edit that mends it."""

from __future__ import annotations

from dataclasses import dataclass

from argus.dsl.diagnostics import FixClass
from argus.evals.subjects import Subject, family_kernels, hand_written


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """One replacement in a right kernel's text.

    Attributes:
        origin: Name of the right kernel (`argus.evals.subjects`).
        old, new: Text of the right kernel, and what stands there instead.
        fix_class: Of the edit that would mend it.
    """

    name: str
    origin: str
    old: str
    new: str
    fix_class: FixClass

    def plant(self, text: str) -> str:
        """The kernel with the bug.

        Raises:
            ValueError: If the kernel does not hold `old` exactly once.
        """
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.origin} holds {self.old!r} {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "tile read before it is complete", "single",
        "        store(Bs, b)\n        barrier()\n", "        store(Bs, b)\n", "missing barrier",
    ),
    PlantedBug(
        "next tile stored while this one is read", "swizzled",
        "            acc += mma(x, y)\n        barrier()\n", "            acc += mma(x, y)\n", "missing barrier",
    ),
    PlantedBug(
        "stage filled while it is read", "three-stages",
        "        store(Bs[(kt + 2) % 3], b)\n        barrier()\n", "        store(Bs[(kt + 2) % 3], b)\n",
        "missing barrier",
    ),
    PlantedBug(
        "first stage not published", "guarded_prefetch",
        "map=linear(8)))\n    barrier()\n", "map=linear(8)))\n", "missing barrier",
    ),
    PlantedBug(
        "copies read in flight", "drained",
        "        wait(0)\n        barrier()\n", "        barrier()\n", "missing wait",
    ),
    PlantedBug("one group too many left pending", "ring-expanded", "wait(1)", "wait(2)", "missing wait"),
    PlantedBug(
        "wait after the barrier that publishes", "mixed_staging",
        "        wait(0)\n        barrier()\n", "        barrier()\n        wait(0)\n", "missing wait",
    ),
    PlantedBug(
        "copies never closed into a group", "drained",
        "bn, kt + 1], via=\"dma\")\n        commit()\n", "bn, kt + 1], via=\"dma\")\n", "missing wait",
    ),
    PlantedBug("wrong stage read for one operand", "two-stages", "Bs[kt % 2].operand", "Bs[(kt + 1) % 2].operand",
               "stage off by n"),
    PlantedBug("tile stored into the wrong stage", "three-stages", "store(As[(kt + 2) % 3], a)",
               "store(As[(kt + 1) % 3], a)", "stage off by n"),
    PlantedBug("tile loaded for the wrong iteration", "late_store_three_stages", "B.tile(64, 32)[bn, kt + 2]",
               "B.tile(64, 32)[bn, kt + 1]", "stage off by n"),
    PlantedBug("half of a pair loaded twice", "two_k_tiles_a_trip", "B.tile(64, 32)[bn, 2 * kt + 1]",
               "B.tile(64, 32)[bn, 2 * kt]", "stage off by n"),
    PlantedBug("last k-step left out", "single", "unroll(4)", "unroll(3)", "k incomplete"),
    PlantedBug("tail of K left out", "b_operand_from_global", "range(cdiv(K, 64))", "range(K // 64)", "k incomplete"),
    PlantedBug("one operand stays at the first k-step", "swizzled", 'Bs.operand("b", acc, ks, pack=2)',
               'Bs.operand("b", acc, 0, pack=2)', "k incomplete"),
    PlantedBug("output not transposed with the operands", "swapped", "[bm, bn].T, acc)", "[bm, bn], acc)",
               "operand transposed"),
    PlantedBug("rows of B by A's block", "row_halves", "B.tile(64, 32)[bn, kt]", "B.tile(64, 32)[bm, kt]",
               "operand transposed"),
    PlantedBug("last rows have no block", "odd_tiles", "block(cdiv(M, 96),", "block(M // 96,", "bounds guard"),
    PlantedBug("half of the columns have no block", "two_accumulators", "cdiv(N, 64))\n    As", "cdiv(N, 128))\n    As",
               "bounds guard"),
    PlantedBug("contract narrowed to whole tiles", "one-wave", "where(K % 8 == 0, N % 4 == 0)",
               "where(K % 16 == 0, N % 32 == 0, M % 32 == 0)", "contract missing"),
)  # fmt: skip


def sources() -> dict[str, Subject]:
    """The right kernels by name."""
    return {s.name: s for s in (*family_kernels(), *hand_written())}
