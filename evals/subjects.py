"""Right kernels that mutants are made of, each with what it computes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
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
from argus.dsl.kernels import catalogue
from argus.dsl.kernels.gemm_examples import GFX942 as SCHEDULES
from argus.dsl.kernels.gemm_examples import text as gemm_text
from argus.dsl.kernels.subject import MakeInputs, Reference, Subject
from argus.dsl.kernels.task import Sizes
from argus.dsl.transform import to_core

__all__ = ["SCHEDULES", "MakeInputs", "Reference", "Sizes", "Subject", "expanded", "family_kernels", "hand_written",
           "read", "reference_of", "subjects"]  # fmt: skip

Arrays = Mapping[str, npt.NDArray[Any]]
# Kernels whose sugar leaves most unsaid.
EXPANDED = (
    "gemm/ring", "gemm_split_k/ring", "gemm_grouped/ring", "attention/full-64", "attention/three-stages",
    "moe_up/ring", "moe_down/three-stages", "hopper_gemm/one-consumer", "hopper_gemm/two-consumers",
    "hopper_gemm/96-columns", "hopper_gemm/drained", "hopper_attention/full-64", "hopper_attention/tma-store",
)  # fmt: skip


# Tiles of 128 x 128: executed under every schedule they would take minutes a mutant. Tests of the library judge them.
TOO_LARGE = ("attention/causal-128", "hopper_attention/causal-128")


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
    """Kernels of the gfx942 GEMM family by their schedules' names; the ring also with its sugar expanded."""
    made = [Subject(name, gemm_text(schedule), _gemm, "gemm", "gfx942", ()) for name, schedule in SCHEDULES.items()]
    return [*made, *(expanded(s) for s in made if s.name == "ring")]


def hand_written() -> list[Subject]:
    """The kernels of `tests/kernels/good`; none where the package is installed without its tests."""
    folder = Path(str(files("argus"))).parents[1] / "tests" / "kernels" / "good"
    return [
        Subject(p.stem, p.read_text("utf-8"), reference_of(p.stem), "hand-written", "gfx942", ())
        for p in sorted(folder.glob("*.py"))
    ]


@cache
def subjects() -> tuple[Subject, ...]:
    """All that mutants are made of: the library's, some expanded, and the hand-written ones. Names are distinct."""
    library = [s for s in catalogue.subjects() if s.name not in TOO_LARGE]
    return (*library, *(expanded(s) for s in library if s.name in EXPANDED), *hand_written())
