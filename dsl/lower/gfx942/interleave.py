"""The order that LLVM's scheduler is asked for between two barriers.

Left alone it sinks global loads to the stores that need them and bunches LDS reads before their MFMAs, which exposes
both latencies. So each region with MFMAs ends in a pipeline of `sched_group_barrier`s: the first k-step's reads, then
the MFMAs with, between them, global loads early, each next step's reads while the current one is computed, and LDS
writes last. A kernel's own `sched_group` sets the rates of the kinds it names against MFMAs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Literal

from argus.dsl.lower.gfx942.tir import Tir

Kind = Literal["ds_read", "ds_write", "vmem", "mfma"]

# Global loads are spread over this part of the MFMAs: early, since they take longest, but not at once.
LOADS_OVER = Fraction(1, 2)
LEAD_CLK = 192  # from an LDS read to the MFMA that needs it: 128 clk under load, and other waves' reads before it


@dataclass(slots=True)
class Region:
    """What was emitted since the last barrier.

    Attributes:
        reads: For each LDS read the number of the MFMA that first needs it.
        pending: By operand: the reads of each atom, emitted where first needed.
        delayed: Copies that are issued with the first MFMA.
        rates: MFMAs for each instruction of a kind, where the kernel says so.
    """

    mfmas: int = 0
    reads: list[int] = field(default_factory=list[int])
    loads: int = 0
    writes: int = 0
    mfma_clk: int = 16
    pending: dict[str, dict[int, list[Tir]]] = field(default_factory=dict[str, dict[int, list[Tir]]])
    delayed: list[Tir] = field(default_factory=list[Tir])
    rates: dict[str, Fraction] = field(default_factory=dict[str, Fraction])

    def record(self, kind: Kind) -> None:
        match kind:
            case "ds_read":
                self.reads.append(self.mfmas)
            case "mfma":
                self.mfmas += 1
            case "vmem":
                self.loads += 1
            case "ds_write":
                self.writes += bool(self.mfmas)  # before the first MFMA nothing can be interleaved

    def pipeline(self) -> list[tuple[Kind, int]]:
        """Groups of instructions in the order wanted; empty where nothing can be interleaved."""
        if not self.mfmas:
            return []
        # after[0]: before the first MFMA; after[i]: behind the i-th.
        after: list[list[Kind]] = [[] for _ in range(self.mfmas + 1)]
        for place in self._reads():
            after[max(0, place)].append("ds_read")
        spacing = self.rates.get("vmem", self.mfmas * LOADS_OVER / max(1, self.loads))
        for i in range(self.loads):
            after[min(self.mfmas, 1 + int(i * spacing))].append("vmem")
        spacing = self.rates.get("ds_write", min(Fraction(1), Fraction(self.mfmas, max(1, self.writes))))
        for i in range(self.writes):
            after[max(0, self.mfmas - int(i * spacing))].append("ds_write")
        stream: list[Kind] = list(after[0])
        for extra in after[1:]:
            stream.append("mfma")
            stream.extend(extra)
        return [(kind, len(list(run))) for kind, run in groupby(stream)]

    def _reads(self) -> list[int]:
        """Behind which MFMA each read goes: as late as its latency allows, and not two together."""
        lead = -(-LEAD_CLK // self.mfma_clk)
        spacing = self.rates.get("ds_read", Fraction(1))
        places: list[int] = []
        free = Fraction(self.mfmas)
        for need in reversed(self.reads):
            free = min(Fraction(need - lead), free)
            places.append(int(free))
            free -= spacing
        return places[::-1]


def rates(counts: Sequence[tuple[str, int]]) -> Mapping[str, Fraction]:
    """MFMAs for each instruction of the other kinds that a `sched_group` names."""
    told = dict(counts)
    mfmas = told.pop("mfma", 0)
    names = {"vmem_read": "vmem"}
    return {names.get(kind, kind): Fraction(mfmas, count) for kind, count in told.items() if count} if mfmas else {}
