"""Pointwise functions in fp64."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BINARY: Mapping[str, Callable[..., Floats]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "max": np.maximum, "min": np.minimum,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "&": np.logical_and, "|": np.logical_or,
}  # fmt: skip


def _sigmoid(x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-x))


def _silu(x: Floats) -> Floats:
    return x * _sigmoid(x)


def _relu(x: Floats) -> Floats:
    return np.maximum(x, 0.0)


def _rsqrt(x: Floats) -> Floats:
    return 1.0 / np.sqrt(x)


UNARY: Mapping[str, Callable[..., Floats]] = {
    "neg": np.negative, "not": np.logical_not, "exp2": np.exp2, "exp": np.exp, "log2": np.log2, "sqrt": np.sqrt,
    "abs": np.abs, "tanh": np.tanh, "relu": _relu, "rcp": np.reciprocal, "rsqrt": _rsqrt, "sigmoid": _sigmoid,
    "silu": _silu,
}  # fmt: skip
