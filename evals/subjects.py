"""Right kernels that mutants are made of, each with what it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse, parse_core
from argus.dsl.ir import Kernel
from argus.dsl.ir.printer import show
from argus.dsl.kernels import GemmSchedule, HopperGemmSchedule, families, make_problem, task_named
from argus.dsl.kernels.hopper_gemm import text as hopper_text
from argus.dsl.transform import to_core

Sizes = Mapping[str, int]
Arrays = Mapping[str, npt.NDArray[Any]]
Reference = Callable[[Mapping[str, Any], Sizes], Arrays]
MakeInputs = Callable[[Sizes, np.random.Generator], Mapping[str, Any]]

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
HOPPER_SCHEDULES: Mapping[str, HopperGemmSchedule] = {
    "one-consumer": HopperGemmSchedule(tile=(64, 64, 64), consumers=1, stages=2, group_m=1),
    "two-consumers": HopperGemmSchedule(tile=(128, 64, 64), stages=3),
    "drained": HopperGemmSchedule(tile=(64, 96, 64), consumers=1, stages=2, keep=0),
}
EXPANDED = ("ring", "hopper/one-consumer", "hopper/two-consumers")


@dataclass(frozen=True, slots=True)
class Subject:
    """A right kernel: its text, and the outputs that inputs and sizes should give.

    Attributes:
        name: Distinct.
        reference: fp64 inputs and sizes to fp64 outputs; NaN where any value will do.
        family: What the kernel belongs to, for tables.
        sizes: Where to execute it; empty: where its loops over sizes run 1, 2, S and 2 S + 1 times (S stages).
        make_inputs: Inputs that the contract allows; None: normal deviates will do.
    """

    name: str
    text: str
    reference: Reference
    family: str = "gemm"
    target: str = "gfx942"
    sizes: tuple[Sizes, ...] = ()
    make_inputs: MakeInputs | None = None


def read(text: str) -> Kernel:
    """Kernel text, in core form where names hold the middle dot that authors may not write.

    Raises:
        KernelError: If it is no kernel.
    """
    return parse_core(text) if "·" in text else parse(text)


def expanded(subject: Subject) -> Subject:
    """The same kernel with its sugar expanded, so that every step can be mutated.

    As authors would write it where that is possible: loops over tiles need a name that they may not spell.
    """
    text = show(to_core(parse(subject.text)))
    spelt = text.replace("·", "_")
    with suppress(KernelError):
        to_core(parse(spelt))
        text = spelt
    return Subject(
        f"{subject.name}-expanded", text, subject.reference, subject.family, subject.target, subject.sizes,
        subject.make_inputs,
    )  # fmt: skip


def _gemm(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
    del sizes
    return {"C": inputs["A"] @ inputs["B"].T}


def _transposed(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
    del sizes
    return {"C": inputs["B"] @ inputs["A"].T}


def _k_major_b(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
    del sizes
    return {"C": inputs["A"] @ inputs["B"]}


def _half_relu(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
    del sizes
    return {"C": np.maximum(0.5 * (inputs["A"] @ inputs["B"].T), 0.0)}


def _batched(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
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
    """Kernels that the GEMM families print."""
    problem = make_problem(task_named("gemm"))
    hopper = make_problem(task_named("gemm"), target="sm_90a")
    made = [Subject(name, families()["gemm"].text(s, problem), _gemm) for name, s in SCHEDULES.items()]
    made += [
        Subject(f"hopper/{name}", hopper_text(s, hopper), _gemm, "hopper_gemm", "sm_90a")
        for name, s in HOPPER_SCHEDULES.items()
    ]
    return [*made, *(expanded(s) for s in made if s.name in EXPANDED)]


def hand_written() -> list[Subject]:
    """The kernels of `tests/kernels/good`; none where the package is installed without its tests."""
    folder = Path(str(files("argus"))).parents[1] / "tests" / "kernels" / "good"
    return [
        Subject(p.stem, p.read_text("utf-8"), reference_of(p.stem), "hand-written") for p in sorted(folder.glob("*.py"))
    ]


@cache
def subjects() -> tuple[Subject, ...]:
    """All of them; names are distinct."""
    return (*family_kernels(), *hand_written())
