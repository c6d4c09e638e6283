"""Tensors read where the contract's integers say, for the wanted outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from argus.dsl.ir import Kernel, TensorParam
from argus.dsl.layout.affine import Affine, evaluate_affine, evaluate_formula, substitute_affine, substitute_formula
from argus.dsl.tags.contract import BOUND, Assumptions, Definition, assumptions

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Given:
    """What an execution is given."""

    core: Kernel
    inputs: Mapping[str, Floats | float]
    sizes: Mapping[str, int]


def picked(given: Given, value: Floats, dimension: int, axis: str) -> tuple[Floats, tuple[str, ...]] | None:
    """A tensor with an axis replaced by those that tell where along it to read; rows at -1 are zero.

    None if the contract does not say.
    """
    found = places(given, axis)
    if found is None:
        return None
    at, axes = found
    rows = np.take(value, np.maximum(at, 0), axis=dimension)
    shape = [1] * rows.ndim
    shape[dimension : dimension + at.ndim] = at.shape
    return np.where((at >= 0).reshape(shape), rows, 0.0), axes


def places(given: Given, axis: str) -> tuple[Ints, tuple[str, ...]] | None:
    """Where along an axis the contract's integers point, and by which axes; None if it does not say."""
    known = assumptions(given.core)
    tensor = known.meant(axis)
    if tensor is not None and (definition := known.definition(tensor)) is not None:
        return _evaluated(given, known, definition), definition.axes
    chosen = given.inputs.get(tensor or "")
    params = {p.name: p for p in given.core.params if isinstance(p, TensorParam)}
    if tensor is None or not isinstance(chosen, np.ndarray):
        return None
    for element in known.elements(tensor, params[tensor].axes):
        axes = {name.removesuffix(BOUND) for name in element.variables() if name.endswith(BOUND)}
        args = element.terms[0][0].args
        if len(axes) == 1 and len(args) == 1:
            (along,) = axes
            extent = evaluate_affine(known.ranges[along], given.sizes)
            at = [chosen[evaluate_affine(args[0], {**given.sizes, along + BOUND: i})] for i in range(extent)]
            return np.array(at, np.int64), (along,)
    return chosen.astype(np.int64), params[tensor].axes


def _evaluated(given: Given, known: Assumptions, definition: Definition) -> Ints:
    """A function of the contract at all coordinates."""
    env = dict(given.sizes)
    for name, value in given.inputs.items():
        if name in known.extents and isinstance(value, np.ndarray) and value.dtype.kind == "i":
            env |= {f"{name}[{', '.join(map(str, i))}]": int(v) for i, v in np.ndenumerate(value)}
    extents = [evaluate_affine(known.ranges[a], given.sizes) for a in definition.axes]
    sizes = {name: Affine(value) for name, value in given.sizes.items()}
    out = np.full(extents, -1, np.int64)
    for point in np.ndindex(*extents):
        at = sizes | {axis + BOUND: Affine(i) for axis, i in zip(definition.axes, point, strict=True)}
        if evaluate_formula(substitute_formula(definition.keep, at), env):
            out[point] = evaluate_affine(substitute_affine(definition.what, at), env)
    return out
