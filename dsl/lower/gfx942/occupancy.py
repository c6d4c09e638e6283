"""How many waves a SIMD shall hold: what LDS admits, unless the registers that the kernel surely needs forbid it."""

from __future__ import annotations

from argus.dsl.ir import Kernel
from argus.dsl.ir.types import DTYPE_BYTES, FragType, Types
from argus.dsl.layout import Accumulator, OperandMap, Uniform
from argus.dsl.lower.gfx942.context import WAVE, lds_bytes, slot_count
from argus.dsl.targets import gfx942

ADDRESSES = 48  # registers for addresses, masks and what LLVM keeps in flight


def waves_per_simd(kernel: Kernel, types: Types) -> int:
    """Resident waves a SIMD to plan registers for.

    A block's waves are spread over the four SIMDs; blocks are resident while LDS and registers last. LLVM is told this
    number, so that it uses every register which that occupancy leaves free, and no more.
    """
    per_block = -(-kernel.waves // gfx942.SIMDS)
    used = sum(lds_bytes(b) for b in types.buffers.values())
    by_lds = gfx942.LDS_BYTES // used if used else gfx942.WAVES_PER_SIMD
    by_registers = gfx942.VGPRS_PER_SIMD // max(1, registers(kernel, types)) // per_block
    return max(1, min(gfx942.WAVES_PER_SIMD, per_block * max(1, min(by_lds, by_registers))))


def registers(kernel: Kernel, types: Types) -> int:
    """Registers a lane that variables take at once, with room for addresses. An estimate from above."""
    return ADDRESSES + sum(_registers(x, kernel) for x in types.frags.values())


def _registers(kind: FragType, kernel: Kernel) -> int:
    if isinstance(kind.map, Uniform):
        return 1
    slots = slot_count(kind.map, kind.shape, WAVE * kernel.waves, kernel)
    words = -(-slots * DTYPE_BYTES[kind.dtype] // 4)
    match kind.map:
        case Accumulator():
            return words
        case OperandMap():
            return 2 * words  # the next step's are read while these are used
        case _:
            return words
