"""GEMM data: fresh random inputs, poisoned outputs between guards, and the check against fp32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

L2_BYTES = 60e6  # an H200's, both halves
ROTATION = 3  # times L2 that the buffers in turn cover together
MAX_SETS = 24
GUARD = 8192  # elements before and after C that nothing may touch
# |got - want| <= ROUND * |want| + SUM * sum |a b|: C's rounding, and that of an fp32 sum in any order.
ROUND = {"bfloat16": 1.25 * 2.0**-8, "float16": 1.25 * 2.0**-11}  # half a unit in the last place, and some
SUM = 2.0**-16


@dataclass
class Data:
    """One set of tensors; `memory` holds C between its guards."""

    a: Any
    b: Any
    c: Any
    memory: Any

    @property
    def addresses(self) -> dict[str, int]:
        return {"A": self.a.data_ptr(), "B": self.b.data_ptr(), "C": self.c.data_ptr()}


def sets(sizes: Mapping[str, int]) -> int:
    """How many sets of buffers make L2 cold when used in turn; at least two."""
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    return max(2, min(MAX_SETS, ceil(ROTATION * L2_BYTES / (2 * (m * k + n * k + m * n)))))


def make(torch: Any, sizes: Mapping[str, int], dtype: str, seed: int, device: str = "cuda") -> Data:  # noqa: ANN401 - torch
    """Normal deviates, and an output of NaN."""
    kind = getattr(torch, dtype)
    random = torch.Generator(device=device)
    random.manual_seed(seed)
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    a = torch.randn(m, k, device=device, dtype=kind, generator=random)
    b = torch.randn(n, k, device=device, dtype=kind, generator=random)
    memory = torch.full((m * n + 2 * GUARD,), float("nan"), device=device, dtype=kind)
    return Data(a, b, memory[GUARD : GUARD + m * n].view(m, n), memory)


def judge(torch: Any, data: Data, dtype: str) -> dict[str, Any]:  # noqa: ANN401 - torch
    """Whether C is A B^T: the largest error as a multiple of what is allowed, and what else is wrong."""
    a, b, got = data.a.float(), data.b.float(), data.c.float()
    want = a @ b.t()
    allowed = ROUND[dtype] * want.abs() + SUM * (a.abs() @ b.abs().t())
    missing = int(torch.isnan(got).sum())
    error = float(torch.nan_to_num((got - want).abs() / allowed, nan=float("inf")).max())
    guards = torch.cat([data.memory[:GUARD], data.memory[-GUARD:]])
    touched = int((~torch.isnan(guards)).sum())
    relative = float((got - want).norm() / want.norm())
    good = missing == 0 and touched == 0 and error <= 1.0
    return {"ok": good, "error": error, "relative": relative, "nan": missing, "guard_touched": touched}
