"""Matrix instructions by the names that kernels use: shapes, registers and operand types, no placement.

CDNA3 rows follow AMD's matrix instruction calculator; NVIDIA rows follow what ptxas accepts for sm_90a.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

TargetName = Literal["gfx942", "sm_90a"]
OperandDtype = Literal["f16", "bf16", "f8", "f32", "i8"]


@dataclass(frozen=True, slots=True)
class Atom:
    """One instruction: D = A B + C of shape m x n x k, `blocks` independent times.

    It is executed by `waves` waves together: four on sm_90a for wgmma, which needs a warpgroup; else one.

    Attributes:
        k_lane: Different values of k that one lane holds of a register operand.
        d_regs: 32-bit accumulator registers a lane.
        dtypes: Operand types with this shape; both operands have the same one.
    """

    name: str
    target: TargetName
    m: int
    n: int
    k: int
    k_lane: int
    d_regs: int
    dtypes: tuple[OperandDtype, ...]
    blocks: int = 1
    waves: int = 1

    @property
    def warpgroup(self) -> bool:
        """Whether this is wgmma: asynchronous, its operand "b" in shared memory."""
        return self.waves > 1


_HALF: tuple[OperandDtype, ...] = ("f16", "bf16")
_BYTE: tuple[OperandDtype, ...] = ("f8", "i8")


def _mfma(m: int, n: int, k: int, dtypes: tuple[OperandDtype, ...], blocks: int = 1) -> Atom:
    name = f"{m}x{n}x{k}" + (f"_{blocks}b" if blocks > 1 else "")
    return Atom(name, "gfx942", m, n, k, k * m * blocks // 64, m * n * blocks // 64, dtypes, blocks)


# Multi-block shapes list 16-bit types and i8: the instruction exists for each.
MFMA: tuple[Atom, ...] = (
    _mfma(32, 32, 8, _HALF),
    _mfma(16, 16, 16, _HALF),
    _mfma(32, 32, 4, (*_HALF, "i8"), 2),
    _mfma(16, 16, 4, (*_HALF, "i8"), 4),
    _mfma(4, 4, 4, (*_HALF, "i8"), 16),
    _mfma(32, 32, 16, _BYTE),
    _mfma(16, 16, 32, _BYTE),
    _mfma(32, 32, 2, ("f32",)),
    _mfma(16, 16, 4, ("f32",)),
    _mfma(32, 32, 1, ("f32",), 2),
    _mfma(16, 16, 1, ("f32",), 4),
    _mfma(4, 4, 1, ("f32",), 16),
)

_WGMMA_N = tuple(range(8, 257, 8))
# s8 takes 8, 24 and the multiples of 16.
_WGMMA_N_I8 = (8, 16, 24, *range(32, 257, 16))


def _wgmma(n: int, k: int, dtypes: tuple[OperandDtype, ...]) -> Atom:
    return Atom(f"m64n{n}k{k}", "sm_90a", 64, n, k, k // 4, n // 2, dtypes, waves=4)


WGMMA: tuple[Atom, ...] = (
    *(_wgmma(n, 16, _HALF) for n in _WGMMA_N),
    *(_wgmma(n, 32, ("f8", "i8") if n in _WGMMA_N_I8 else ("f8",)) for n in _WGMMA_N),
)

# The portable form: one warp, operands in registers, complete at once.
MMA_SYNC: tuple[Atom, ...] = (Atom("m16n8k16", "sm_90a", 16, 8, 16, 4, 4, _HALF),)

ATOMS: Mapping[str, Atom] = MappingProxyType({atom.name: atom for atom in (*MFMA, *WGMMA, *MMA_SYNC)})


@cache
def atom_names(target: str) -> tuple[str, ...]:
    """Names that `mma_acc` takes on a target."""
    return tuple(name for name, atom in ATOMS.items() if atom.target == target)
