"""Bank conflicts of shared memory accesses, exact under the lane phases of the target.

Lanes of one phase compete: a bank delivers one dword a cycle, and lanes that want the same dword share it. So an
instruction takes, summed over its phases, the largest number of distinct dwords that any bank is asked for. Divided by
the cycles of a conflict-free access this is its *way*.

Source:
    `argus.dsl.targets.gfx942`: bank count and lane phases (mi300x.md section 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from argus.dsl.layout import FragMap, Linear, OperandMap
from argus.dsl.tags.domain import Ints
from argus.dsl.targets import gfx942
from argus.dsl.targets.atoms import ATOMS

Direction = Literal["read", "write"]

_PHASES: dict[tuple[Direction, int], tuple[tuple[int, ...], ...]] = {
    ("read", 16): gfx942.LDS_PASSES_READ_B128,
    ("write", 16): gfx942.LDS_PASSES_WRITE_B128,
    ("read", 8): gfx942.LDS_PASSES_B64,
    ("write", 8): gfx942.LDS_PASSES_B64,
    ("read", 4): gfx942.LDS_PASSES_B32,
    ("write", 4): gfx942.LDS_PASSES_B32,
}


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One access site: which bytes each register slot of each thread moves.

    Attributes:
        address: Byte address of each (thread, slot); -1 where a slot holds nothing.
        run: Slots that one instruction of a lane may move together.
    """

    site: int
    line: int
    buffer: str
    direction: Direction
    address: Ints
    run: int
    element_bytes: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Cycles of one access site, over all its instructions."""

    line: int
    buffer: str
    direction: Direction
    bits: int
    cycles: int
    ideal: int
    worst: float


def run_of(hardware: FragMap) -> int:
    """Consecutive slots of a map whose elements lie next to one another."""
    match hardware:
        case Linear(vector):
            return vector
        case OperandMap():
            return ATOMS[hardware.acc.atom].k_lane * hardware.pack
        case _:
            return 1


def conflict(access: Access) -> Conflict:
    """Cycles of an access site; repeated instructions count once a wave."""
    width = _width(access)
    per = width // access.element_bytes if width >= access.element_bytes else 1
    starts = access.address.reshape(-1, gfx942.LANES, access.address.shape[1])[:, :, ::per]
    # instruction (wave, slot group) x lane
    lanes = np.unique(np.moveaxis(starts, 2, 1).reshape(-1, gfx942.LANES), axis=0)
    phases = np.array(_PHASES[access.direction, max(4, width)])
    cycles = _cycles(lanes, phases, max(1, width // 4))
    ideal = len(phases)
    return Conflict(
        access.line, access.buffer, access.direction, 8 * width, int(cycles.sum()), ideal * len(cycles),
        float(cycles.max(initial=ideal)) / ideal,
    )  # fmt: skip


def _width(access: Access) -> int:
    """Bytes that one instruction moves a lane: as many as lie next to one another, aligned."""
    for width in (16, 8, 4):
        per = width // access.element_bytes
        if per == 0 or access.run % per:
            continue
        grouped = access.address.reshape(*access.address.shape[:1], -1, per)
        first = grouped[..., :1]
        near = (grouped == first + np.arange(per) * access.element_bytes) & (first % width == 0)
        if (near | (grouped < 0)).all():
            return width
    return access.element_bytes


def _cycles(lanes: Ints, phases: Ints, dwords: int) -> Ints:
    """Cycles of each instruction (rows of `lanes` hold the lanes' byte addresses)."""
    first = lanes[:, phases] // 4  # instruction x phase x lane
    wanted = (first[..., None] + np.arange(dwords)).reshape(*first.shape[:2], -1)
    wanted = np.where((first < 0).repeat(dwords, axis=2), -1, wanted)
    wanted.sort(axis=2)
    fresh = np.ones(wanted.shape, np.bool_)
    fresh[..., 1:] = wanted[..., 1:] != wanted[..., :-1]
    fresh &= wanted >= 0
    passes = wanted.shape[0] * wanted.shape[1]
    row: Ints = np.arange(passes, dtype=np.int64).reshape(wanted.shape[0], wanted.shape[1], 1)
    slot: Ints = (row * gfx942.LDS_BANKS + wanted % gfx942.LDS_BANKS)[fresh]
    counts = np.bincount(slot, minlength=passes * gfx942.LDS_BANKS).reshape(*wanted.shape[:2], gfx942.LDS_BANKS)
    return np.maximum(counts.max(axis=2), 1).sum(axis=1)


def bank_conflicts(accesses: list[Access]) -> dict[str, Any]:
    """Worst and mean ways of reads and writes, and a row for each site. Empty if shared memory is not touched."""
    found = [conflict(a) for a in accesses]
    out = dict[str, Any]()
    for direction in ("read", "write"):
        mine = [c for c in found if c.direction == direction]
        if mine:
            out[f"{direction}_way"] = _tidy(max(c.worst for c in mine))
            out[f"{direction}_way_mean"] = _tidy(sum(c.cycles for c in mine) / sum(c.ideal for c in mine))
    if found:
        out["sites"] = _by_site(found)
    return out


def _by_site(found: list[Conflict]) -> list[dict[str, Any]]:
    rows = dict[tuple[int, str, Direction], list[Conflict]]()
    for c in found:
        rows.setdefault((c.line, c.buffer, c.direction), []).append(c)
    return [
        {
            "line": line,
            "buffer": buffer.replace("·", "."),
            "direction": direction,
            "bits": min(c.bits for c in group),
            "way": _tidy(max(c.worst for c in group)),
            "cycles": sum(c.cycles for c in group),
        }
        for (line, buffer, direction), group in rows.items()
    ]


def _tidy(way: float) -> float | int:
    return int(way) if way == int(way) else round(way, 2)
