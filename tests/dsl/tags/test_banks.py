"""Bank conflicts of operand layouts, against the ways that were simulated from the hardware's lane phases.

Source: mi300x.md section 3, "Layouts checked with that model".
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argus.dsl.check import check
from argus.dsl.ir import Shared
from argus.dsl.layout import Accumulator, Linear, OperandMap, Swizzle
from argus.dsl.tags.banks import Access, conflict, run_of
from argus.dsl.tags.tables import places
from argus.dsl.tags.views import byte_offsets

_REFERENCE = Path(__file__).parents[2] / "kernels" / "reference"

# row bytes, layout, cycles of an operand read with 16x16 and with 32x32 atoms, cycles of a row-order b128 write
SIMULATED: tuple[tuple[int, dict[str, Any], int, int, int], ...] = (
    (64, {}, 16, 32, 8),
    (64, {"pad": 8}, 16, 8, 16),
    (64, {"pad": 16}, 8, 16, 16),
    (64, {"swizzle": Swizzle(4, 8, rows=2)}, 8, 8, 8),
    (128, {}, 32, 64, 8),
    (128, {"pad": 8}, 16, 8, 8),
    (128, {"pad": 16}, 8, 16, 8),
    (128, {"swizzle": Swizzle(8, 8, rows=1)}, 8, 8, 8),
    (256, {}, 32, 64, 8),  # the reference prints 32 for the second, against its own rule: all rows share their banks
    (256, {"pad": 8}, 16, 8, 8),
    (256, {"swizzle": Swizzle(8, 8, rows=1)}, 8, 8, 8),
)


def _cycles(shared: Shared, hardware: OperandMap | Linear, columns: int, direction: str) -> float:
    rows = shared.shape[0]
    table = places(hardware, (rows, columns), 64)
    cell = np.arange(rows * shared.shape[1]).reshape(shared.shape)[:, :columns].ravel()
    address = np.where(table.element >= 0, byte_offsets(shared)[cell][table.element], -1)
    access = Access(0, 1, "X", "read" if direction == "read" else "write", address, run_of(hardware), 2)
    return conflict(access).worst * 8


@pytest.mark.parametrize(("row_bytes", "layout", "read16", "read32", "write"), SIMULATED)
def test_ways_of_known_layouts(row_bytes: int, layout: dict[str, Any], read16: int, read32: int, write: int) -> None:
    shared = replace(Shared(dtype="bf16", shape=(64, row_bytes // 2)), **layout)
    for atom, depth, want in (("16x16x16", 32, read16), ("32x32x8", 16, read32)):
        operand = OperandMap("a", Accumulator(atom, 64, 64, (1, 1)), pack=2)
        assert _cycles(shared, operand, depth, "read") == want
    assert _cycles(shared, Linear(8), row_bytes // 2, "write") == write


def test_a_report_counts_each_site_and_the_worst() -> None:
    text = (_REFERENCE / "gemm_single.py").read_text("utf-8")
    conflicts = check(text).bank_conflicts
    assert conflicts["read_way"] == 8  # 64-byte rows without swizzle, 8 bytes a lane: eight rows share a bank
    assert conflicts["write_way"] == 1
    assert {s["direction"] for s in conflicts["sites"]} == {"read", "write"}
    swizzled = text.replace("bf16, 64, 32)", "bf16, 64, 32, swizzle=xor(4, unit=8))")
    assert check(swizzled).bank_conflicts["read_way"] < 8
