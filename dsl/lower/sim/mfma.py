"""MFMA instructions of gfx942 on per-lane registers.

Formulas: the fragment layouts of the MI300X page, section 6, written from lane and slot to coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np

from argus.dsl.lower.sim.state import WAVE, Array


@dataclass(frozen=True, slots=True)
class Mfma:
    """One instruction: `side` rows and columns, `depth` k, the type its operand bits stand for."""

    side: int
    depth: int
    bits: type

    @property
    def k_per_lane(self) -> int:
        return self.depth * self.side // WAVE


MFMA_INTRINSICS: dict[str, Mfma] = {
    "llvm.amdgcn.mfma.f32.32x32x8f16": Mfma(32, 8, np.float16),
    "llvm.amdgcn.mfma.f32.16x16x16f16": Mfma(16, 16, np.float16),
    "llvm.amdgcn.mfma.f32.32x32x8bf16.1k": Mfma(32, 8, ml_dtypes.bfloat16),
    "llvm.amdgcn.mfma.f32.16x16x16bf16.1k": Mfma(16, 16, ml_dtypes.bfloat16),
}


@cache
def _operand_place(side: int, depth: int) -> tuple[Array, Array]:
    """(row or column, k) of every lane and slot."""
    lane, slot = np.arange(WAVE)[:, None], np.arange(depth * side // WAVE)[None, :]
    return np.broadcast_to(lane % side, (WAVE, slot.size)), (lane // side) * slot.size + slot


@cache
def _result_place(side: int) -> tuple[Array, Array]:
    """(row, column) of every lane and accumulator register."""
    lane, register = np.arange(WAVE)[:, None], np.arange(side * side // WAVE)[None, :]
    row = 4 * (lane // side) + register % 4 + (WAVE // side) * 4 * (register // 4)
    return row, np.broadcast_to(lane % side, row.shape)


def execute(instruction: Mfma, a: Array, b: Array, c: Array) -> Array:
    """D = A B + C for all waves at once; operands are (threads, slots), accumulators (threads, registers) f32."""
    waves = c.shape[0] // WAVE
    place, k = _operand_place(instruction.side, instruction.depth)
    left, right = (_matrix(instruction, x, waves, place, k) for x in (a, b))
    row, column = _result_place(instruction.side)
    product = left @ right.transpose(0, 2, 1)
    return (c.reshape(waves, WAVE, -1) + product[:, row, column]).reshape(c.shape).astype(np.float32)


def _matrix(instruction: Mfma, operand: Array, waves: int, place: Array, k: Array) -> Array:
    values = np.ascontiguousarray(operand).view(instruction.bits).astype(np.float32)
    matrix = np.zeros((waves, instruction.side, instruction.depth), np.float32)
    matrix[:, place, k] = values.reshape(waves, WAVE, -1)
    return matrix
