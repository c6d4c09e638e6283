"""Lowering from kernel text, and running what was lowered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from argus.dsl.frontend.parse import parse
from argus.dsl.ir import Kernel, TensorParam
from argus.dsl.layout import evaluate
from argus.dsl.lower import Lowered, lower
from argus.dsl.lower.sim import Stats, simulate
from argus.dsl.transform import to_core

Array = npt.NDArray[Any]
NUMPY_TYPES: dict[str, Any] = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}


def core_of(text: str) -> Kernel:
    return to_core(parse(text, "kernel.py"))


def lowered(text: str) -> Lowered:
    """For gfx942."""
    made = lower(core_of(text))
    assert isinstance(made, Lowered)
    return made


def script(text: str) -> str:
    """The lowered TIR as text."""
    func: Any = lowered(text).func
    return str(func.script())


@dataclass(frozen=True, slots=True)
class Run:
    """Tensors after the simulator ran the lowered kernel; outputs started as NaN."""

    tensors: dict[str, Array]
    stats: Stats

    def wide(self, name: str) -> npt.NDArray[np.float64]:
        return self.tensors[name].astype(np.float64)


def run(text: str, sizes: Mapping[str, int], seed: int = 0) -> Run:
    """Lower and simulate on random inputs; the last tensor parameter is the output."""
    core = core_of(text)
    params = [p for p in core.params if isinstance(p, TensorParam)]
    numbers = np.random.default_rng(seed)
    tensors: dict[str, Array] = {}
    for p in params:
        shape = tuple(evaluate(e, sizes) for e in p.shape)
        tensors[p.name] = numbers.standard_normal(shape).astype(NUMPY_TYPES[p.dtype])
    tensors[params[-1].name][:] = np.nan
    stats = simulate(lowered(text), sizes, tensors)
    return Run(tensors, stats)
