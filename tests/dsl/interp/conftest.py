from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from argus.dsl.frontend import parse
from argus.dsl.interp import Outcome, Policy, run
from argus.dsl.ir import Kernel
from argus.dsl.transform import TO_CORE

TEXTS = Path(__file__).with_name("texts")
Array = npt.NDArray[np.float64]
Execute = Callable[..., Outcome]


@pytest.fixture
def text() -> Callable[[str], str]:
    """The text of a kernel in `texts/`."""
    return lambda name: (TEXTS / f"{name}.txt").read_text("utf-8")


@pytest.fixture
def core() -> Callable[[str], Kernel]:
    """Text to core form, without the verifier: mistakes that it refuses must show in an execution as well."""

    def go(text: str) -> Kernel:
        kernel = parse(text)
        for step in TO_CORE:
            kernel = step(kernel)
        return kernel

    return go


@pytest.fixture
def execute(core: Callable[[str], Kernel]) -> Execute:
    """Run a kernel's text: `execute(text, sizes, A=..., policy=...)`."""

    def go(
        text: str, sizes: Mapping[str, int] | None = None, *, policy: Policy | None = None, **inputs: npt.ArrayLike
    ) -> Outcome:
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        return run(core(text), sizes or {}, arrays, policy=policy)

    return go


@pytest.fixture
def gemm() -> Callable[[Mapping[str, Any], Mapping[str, int]], dict[str, Array]]:
    """The reference of all GEMM kernels here."""
    return lambda inputs, sizes: {"C": inputs["A"] @ inputs["B"].T}
