"""Right kernels that mutants are made of, each with what it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.dsl.frontend import parse
from argus.dsl.ir.printer import show
from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named
from argus.dsl.transform import to_core

Arrays = Mapping[str, npt.NDArray[Any]]
Reference = Callable[[Mapping[str, Any], Mapping[str, int]], Arrays]

# One schedule for each way in which the family stages, synchronises or maps; tiles small enough to execute often.
SCHEDULES: Mapping[str, GemmSchedule] = {
    "single": GemmSchedule(),
    "one-wave": GemmSchedule(tile=(32, 32, 16), grid=(1, 1)),
    "small-atom": GemmSchedule(tile=(32, 32, 32), grid=(2, 1), atom="16x16x16"),
    "prefetch": GemmSchedule(tile=(64, 32, 32), grid=(2, 1), prefetch=True),
    "packed": GemmSchedule(tile=(64, 64, 32), pack=2, vector=16),
    "swizzled": GemmSchedule(tile=(32, 64, 64), grid=(1, 2), pack=2, vector=16, swizzle="xor(8, unit=8, rows=1)"),
    "padded": GemmSchedule(tile=(64, 32, 32), grid=(2, 1), pad=8, regs="agpr"),
    "swapped": GemmSchedule(tile=(64, 64, 16), swap=True, order="group_m(4)"),
    "two-stages": GemmSchedule(tile=(64, 32, 16), grid=(2, 1), stages=2),
    "three-stages": GemmSchedule(tile=(32, 32, 32), grid=(2, 2), atom="16x16x16", stages=3),
    "drained": GemmSchedule(tile=(64, 32, 16), grid=(2, 1), staging="dma", stages=2),
    "ring": GemmSchedule(tile=(32, 64, 16), grid=(1, 2), staging="dma", stages=3, wait="count"),
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A right kernel: its text, and the outputs that inputs and sizes should give."""

    name: str
    text: str
    reference: Reference


def _gemm(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Arrays:
    del sizes
    return {"C": inputs["A"] @ inputs["B"].T}


def _transposed(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Arrays:
    del sizes
    return {"C": inputs["B"] @ inputs["A"].T}


def _k_major_b(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Arrays:
    del sizes
    return {"C": inputs["A"] @ inputs["B"]}


def _half_relu(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Arrays:
    del sizes
    return {"C": np.maximum(0.5 * (inputs["A"] @ inputs["B"].T), 0.0)}


def _batched(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Arrays:
    del sizes
    return {"C": np.einsum("bmk,bnk->bmn", inputs["A"], inputs["B"])}


# What hand-written kernels compute, by file name; those not listed are plain GEMMs.
_COMPUTES: Mapping[str, Reference] = {
    "transposed_output": _transposed,
    "k_major_b": _k_major_b,
    "relu_epilogue": _half_relu,
    "batched": _batched,
}


def reference_of(name: str) -> Reference:
    """What the hand-written kernel of that file name computes."""
    return _COMPUTES.get(name, _gemm)


def family_kernels() -> list[Subject]:
    """Kernels that the GEMM family prints; the ring also with its sugar expanded, where every step can be mutated."""
    problem = make_problem(task_named("gemm"))
    texts = {name: families()["gemm"].text(schedule, problem) for name, schedule in SCHEDULES.items()}
    # A middle dot marks names that the expansion made up; authors may not write it.
    texts["ring-expanded"] = show(to_core(parse(texts["ring"]))).replace("·", "_")
    return [Subject(name, text, _gemm) for name, text in texts.items()]


def hand_written() -> list[Subject]:
    """The kernels of `tests/kernels/good`; none where the package is installed without its tests."""
    folder = Path(str(files("argus"))).parents[1] / "tests" / "kernels" / "good"
    return [Subject(p.stem, p.read_text("utf-8"), reference_of(p.stem)) for p in sorted(folder.glob("*.py"))]


def subjects() -> list[Subject]:
    """All of them; names are distinct."""
    return [*family_kernels(), *hand_written()]
