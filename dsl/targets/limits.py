"""What a block may use, a target: the few numbers that kernels are checked against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from argus.dsl.targets.atoms import TargetName


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one block.

    Attributes:
        lanes: Threads of a wave.
        waves: Waves of a block.
        shared_bytes: LDS or shared memory.
        lane_registers: 32-bit registers that one lane can have.
        registers: 32-bit registers of all lanes together that roles may divide.
    """

    lanes: int
    waves: int
    shared_bytes: int
    lane_registers: int
    registers: int


# gfx942: HSA agent limits and the register file of a CU. sm_90a: CUDA occupancy tables; 1 KiB of 228 is reserved.
LIMITS: Mapping[TargetName, Limits] = MappingProxyType(
    {
        "gfx942": Limits(lanes=64, waves=16, shared_bytes=64 << 10, lane_registers=512, registers=128 << 10),
        "sm_90a": Limits(lanes=32, waves=32, shared_bytes=227 << 10, lane_registers=255, registers=64 << 10),
    }
)
