"""From text to a verified kernel with types: a search asks for this thousands of times."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from argus.dsl.frontend import parse
from argus.dsl.ir.types import infer
from argus.dsl.ir.verify import verify
from argus.dsl.transform import to_core

REFERENCE = Path(__file__).parents[2] / "kernels" / "reference"
BUDGET_MS = 15


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemm_dma_ring", "gemm_double"])
def test_text_to_types(name: str) -> None:
    text = (REFERENCE / f"{name}.py").read_text("utf-8")
    best_ms = float("inf")
    # The best of many: other work on the machine is no fault of ours.
    for _ in range(30):
        began = time.perf_counter()
        core = to_core(parse(text))
        verify(core)
        infer(core)
        best_ms = min(best_ms, (time.perf_counter() - began) * 1e3)
    assert best_ms < BUDGET_MS
