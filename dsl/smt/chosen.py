"""The sets of `over(..., pred=)` as arrays of zeros and ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from argus.dsl.ir import Ensures, Over, TensorParam
from argus.dsl.layout import Const, Expr, Op, Var, evaluate, names

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_OPERATIONS: Mapping[str, Callable[..., Ints]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod, "min": np.minimum,
    "max": np.maximum, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
    "!=": np.not_equal, "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
}  # fmt: skip


def chosen(
    over: Over, ensures: Ensures, output: TensorParam, sizes: Mapping[str, int]
) -> tuple[Floats, tuple[str, ...]] | None:
    """Which coordinates are summed, and the axes of the array; None if there is no predicate, or one too intricate."""
    if over.pred is None:
        return None
    used = [a for a in ensures.index if a in names(over.pred)]
    axes = (over.axis, *used)
    shapes = dict(zip(ensures.index, output.shape, strict=True))
    extents = [evaluate(over.extent, sizes), *(evaluate(shapes[a], sizes) for a in used)]
    grid = dict(zip(axes, np.indices(extents), strict=True))
    if not names(over.pred) <= grid.keys() | sizes.keys():
        return None
    return np.broadcast_to(_value(over.pred, {**sizes, **grid}) != 0, extents).astype(np.float64), axes


def _value(e: Expr, env: Mapping[str, Ints | int]) -> Ints:
    match e:
        case Const(value):
            return np.asarray(value)
        case Var(name):
            return np.asarray(env[name])
        case Op("cdiv", (a, b)):
            return -(-_value(a, env) // _value(b, env))
        case Op(kind, args):
            parts = [_value(a, env) for a in args]
            out = parts[0] if len(parts) > 1 else _OPERATIONS[kind](parts[0])
            for part in parts[1:]:
                out = _OPERATIONS[kind](out, part)
            return out
