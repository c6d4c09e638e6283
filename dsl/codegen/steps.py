"""The units of a gfx942 compute unit, and what one instruction does to them and to the wave that issues it.

Conditional expressions stand where `max` would on the busiest paths: an estimate runs these some 50,000 times.

A register that a load has not filled yet blocks no wave: the hardware has no such interlock, the lints look for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from argus.dsl.targets import gfx942

_ISSUE = gfx942.ISSUE_CLK


@dataclass(slots=True)
class Wave:
    """One wave's state: completion times of its memory operations, oldest first, and issue times of its MFMAs."""

    simd: int
    port: int
    block: int
    scope: int  # the widest scope of steps that concern it alone
    draw: float = 1.0  # in 0..1: which level of the memory serves the loads of this trip
    priority: int = 0
    last: float = 0.0  # issue
    at: int = 0
    trips: int = 0
    vm: list[float] = field(default_factory=list[float])
    lgkm: list[float] = field(default_factory=list[float])
    mfma: list[float] = field(default_factory=list[float])


@dataclass(slots=True)
class Units:
    """When each unit of the CU is free again, clk."""

    matrix: list[float] = field(default_factory=lambda: [0.0] * gfx942.SIMDS)
    valu: list[float] = field(default_factory=lambda: [0.0] * gfx942.SIMDS)
    lds_issue: list[float] = field(default_factory=lambda: [0.0] * gfx942.SIMDS)
    vmem_issue: list[float] = field(default_factory=lambda: [0.0] * gfx942.SIMDS)
    lds_port: list[float] = field(default_factory=lambda: [0.0] * gfx942.LDS_PORTS)
    l1: float = 0.0
    l2: float = 0.0
    fabric: float = 0.0
    hbm: float = 0.0


Dependencies = tuple[tuple[int, float], ...]  # (which MFMA counting back from 1, clk from its issue)


def _after(wave: Wave, t: float, depends: Dependencies) -> float:
    for back, clk in depends:
        if back <= len(wave.mfma):
            t = max(t, wave.mfma[-back] + clk)
    return t


class Step(Protocol):
    """One instruction as the units see it. `scope`: 0 only its wave, 1 its SIMD, 2 the CU."""

    scope: ClassVar[int]

    def start(self, units: Units, wave: Wave, t: float) -> float:
        """When it can issue, if the wave reaches it at `t` and no other wave comes first."""
        ...

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        """Issue it at `t`; when the wave can issue again."""
        ...


class _Private:
    """A step that touches only its own wave."""

    __slots__ = ()
    scope: ClassVar[int] = 0

    def start(self, units: Units, wave: Wave, t: float) -> float:
        return t


@dataclass(frozen=True, slots=True)
class Slot(_Private):
    """An instruction that only passes time: scalar, branch, no-op."""

    clk: float = _ISSUE

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        return t + self.clk


@dataclass(frozen=True, slots=True)
class Priority(_Private):
    """`s_setprio`: the higher level issues first."""

    level: int

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        wave.priority = self.level
        return t + _ISSUE


@dataclass(frozen=True, slots=True)
class Wait(_Private):
    """`s_waitcnt`; None leaves a counter alone."""

    vmcnt: int | None
    lgkmcnt: int | None

    def start(self, units: Units, wave: Wave, t: float) -> float:
        if self.vmcnt is not None and len(wave.vm) > self.vmcnt:
            t = max(t, wave.vm[-1 - self.vmcnt])
        if self.lgkmcnt is not None and len(wave.lgkm) > self.lgkmcnt:
            t = max(t, wave.lgkm[-1 - self.lgkmcnt])
        return t

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        return t + _ISSUE


@dataclass(frozen=True, slots=True)
class Barrier(_Private):
    """`s_barrier`; the run itself counts arrivals."""

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        return t


@dataclass(frozen=True, slots=True)
class ScalarLoad(_Private):
    """A scalar load: completes after an L2 hit, and not before those ahead of it."""

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        wave.lgkm.append(max(t + gfx942.SCALAR_LOAD_CLK, wave.lgkm[-1] if wave.lgkm else 0.0))
        return t + _ISSUE


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector ALU instruction."""

    scope: ClassVar[int] = 1
    clk: float
    depends: Dependencies = ()

    def start(self, units: Units, wave: Wave, t: float) -> float:
        free = units.valu[wave.simd]
        t = free if free > t else t
        return _after(wave, t, self.depends) if self.depends else t

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        units.valu[wave.simd] = t + self.clk
        return t + _ISSUE


@dataclass(frozen=True, slots=True)
class Matrix:
    """An MFMA: the matrix unit for `clk`, of that the vector ALU for `valu_clk`."""

    scope: ClassVar[int] = 1
    clk: float
    valu_clk: float
    depends: Dependencies = ()

    def start(self, units: Units, wave: Wave, t: float) -> float:
        simd = wave.simd
        valu, matrix = units.valu[simd], units.matrix[simd]
        free = matrix if matrix > valu else valu
        t = free if free > t else t
        return _after(wave, t, self.depends) if self.depends else t

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        units.matrix[wave.simd] = t + self.clk
        units.valu[wave.simd] = t + self.valu_clk
        wave.mfma.append(t)
        return t + _ISSUE


@dataclass(frozen=True, slots=True)
class Lds:
    """An LDS instruction: `port_clk` on the port of its SIMD pair, `bank_clk` of all banks."""

    scope: ClassVar[int] = 2
    port_clk: float
    bank_clk: float
    depends: Dependencies = ()

    def start(self, units: Units, wave: Wave, t: float) -> float:
        free = units.lds_issue[wave.simd]
        t = free if free > t else t
        if len(wave.lgkm) >= gfx942.LGKMCNT_MAX:
            t = max(t, wave.lgkm[-gfx942.LGKMCNT_MAX])
        return _after(wave, t, self.depends) if self.depends else t

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        units.lds_issue[wave.simd] = t + _ISSUE
        wave.lgkm.append(take_lds(units, wave.port, t, self.port_clk, self.bank_clk) + _LDS_EMPTY_CLK)
        return t + _ISSUE


# What is left of the latency of a b32 read once its own 4 clk on the port are counted.
_LDS_EMPTY_CLK = gfx942.LDS_CLK - gfx942.LANES * 4 / gfx942.LDS_PORT_BYTES_PER_CLK


def take_lds(units: Units, port: int, t: float, port_clk: float, bank_clk: float) -> float:
    """Occupy a port, and the banks: half of them while the other port is busy. When the data are through."""
    free, other = units.lds_port[port], units.lds_port[1 - port]
    begin = free if free > t else t
    banks = 2 * bank_clk if other > begin else bank_clk
    through = units.lds_port[port] = begin + (banks if banks > port_clk else port_clk)
    return through


@dataclass(frozen=True, slots=True)
class Vmem:
    """A vector memory instruction: clk on each level of the memory path, then its latency.

    Attributes:
        levels: (chance that this level or a nearer one serves it, latency); the last chance is 1.
        posted: A store: the L2 takes it, the fabric drains it behind the wave's back.
        lds: Port and bank clk of a copy to LDS.
        flat: It counts in lgkmcnt as well.
    """

    scope: ClassVar[int] = 2
    l1_clk: float
    l2_clk: float
    fabric_clk: float
    hbm_clk: float
    levels: tuple[tuple[float, float], ...]
    posted: bool = False
    lds: tuple[float, float] | None = None
    flat: bool = False
    depends: Dependencies = ()

    def start(self, units: Units, wave: Wave, t: float) -> float:
        free = units.vmem_issue[wave.simd]
        t = free if free > t else t
        if len(wave.vm) >= gfx942.VMCNT_MAX:
            t = max(t, wave.vm[-gfx942.VMCNT_MAX])
        return _after(wave, t, self.depends) if self.depends else t

    def issue(self, units: Units, wave: Wave, t: float) -> float:
        units.vmem_issue[wave.simd] = t + _ISSUE
        units.l1 = max(units.l1, t) + self.l1_clk
        units.l2 = max(units.l2, t) + self.l2_clk
        served = max(units.l1, units.l2)
        # A level's queue concerns only those who send something over it, and delays no store.
        if self.fabric_clk:
            units.fabric = max(units.fabric, t) + self.fabric_clk
            served = served if self.posted else max(served, units.fabric)
        if self.hbm_clk:
            units.hbm = max(units.hbm, t) + self.hbm_clk
            served = max(served, units.hbm)
        for chance, clk in self.levels:
            if wave.draw <= chance:
                served += clk
                break
        done = max(served, wave.vm[-1]) if wave.vm else served
        if self.lds:
            done = max(done, take_lds(units, wave.port, t, *self.lds))
        wave.vm.append(done)
        if self.flat:
            wave.lgkm.append(max(done, wave.lgkm[-1] if wave.lgkm else 0.0))
        return t + _ISSUE
