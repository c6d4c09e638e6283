"""What lowering hands to code generation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ParamSpec:
    """One kernel argument, in order.

    Attributes:
        dtype: Of the elements of a tensor, or of the number itself: `float16`, `bfloat16`, `float32`, `int32`.
    """

    name: str
    kind: Literal["tensor", "size", "scalar"]
    dtype: str


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel as TIR, with what TIR cannot say.

    Attributes:
        func: A `tvm.tirx.PrimFunc` with `s_tir=True`, before any pass.
        symbol: Kernel name.
        threads: Exact workgroup size.
        waves_per_eu: Resident waves a SIMD that LLVM shall plan for; None leaves it to LLVM.
        agpr: Accumulators may live in AGPRs.
        grid: Launch grid as integer formulas over the size names, e.g. `((M + 127) // 128)`.
        device_ll: LLVM IR text of device helpers to link (fenced barrier, buffer loads, ...).
    """

    func: object
    symbol: str
    threads: int
    waves_per_eu: int | None
    agpr: bool
    params: tuple[ParamSpec, ...]
    grid: tuple[str, str, str]
    device_ll: str
