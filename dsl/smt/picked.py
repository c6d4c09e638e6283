"""Tensors read where the contract's integers say, for the wanted outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argus.dsl.ir import Kernel, TensorParam
from argus.dsl.layout.affine import evaluate_affine
from argus.dsl.tags.contract import BOUND, assumptions

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Given:
    """What an execution is given."""

    core: Kernel
    inputs: Mapping[str, Floats | float]
    sizes: Mapping[str, int]


def picked(given: Given, value: Floats, dimension: int, axis: str) -> tuple[Floats, str] | None:
    """A tensor with an axis replaced by the one that tells where along it to read; rows at -1 are zero.

    None if the contract does not say.
    """
    known = assumptions(given.core)
    tensor = known.meant(axis)
    chosen = given.inputs.get(tensor or "")
    params = {p.name: p for p in given.core.params if isinstance(p, TensorParam)}
    if tensor is None or not isinstance(chosen, np.ndarray):
        return None
    for element in known.elements(tensor, params[tensor].axes[0]):
        axes = {name.removesuffix(BOUND) for name in element.variables() if name.endswith(BOUND)}
        if len(axes) == 1:
            (along,) = axes
            (place,) = element.terms[0][0].args
            extent = evaluate_affine(known.ranges[along], given.sizes)
            at = [int(chosen[evaluate_affine(place, {**given.sizes, along + BOUND: i})]) for i in range(extent)]
            rows = np.take(value, np.maximum(at, 0), axis=dimension)
            shape = [1] * rows.ndim
            shape[dimension] = extent
            return np.where((np.array(at) >= 0).reshape(shape), rows, 0.0), along
    return None
