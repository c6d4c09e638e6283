"""Which coordinates of the inputs make a difference to the outputs: told by executing with other numbers there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from argus.dsl.interp import Policy
from argus.dsl.interp.program import Program
from argus.dsl.interp.run import Outcome, execute
from argus.dsl.ir import Ensures

Floats = npt.NDArray[np.float64]
Inputs = Mapping[str, "Floats | float"]
LARGE = 1e3  # next to normal deviates; extremes notice it as well
EXECUTIONS = 4


def without_effect(outputs: Sequence[Ensures], program: Program, inputs: Inputs, axis: str, at: int) -> str:
    """How an execution shows that a coordinate is not reduced: other data there change nothing, but elsewhere do.

    Outputs that have the coordinate as a free one are left out. So shows, too, that no data matter. Empty if neither
    does.
    """
    extents = {
        shape[program.tensors[n].axes.index(axis)] for n, shape in program.shapes.items()
        if n not in program.written and axis in program.tensors[n].axes
    }  # fmt: skip
    if len(extents) != 1:
        return ""
    others = [c for c in (0, extents.pop() - 1) if c != at]
    first = execute(program, inputs, Policy())
    if not others or not _same(
        outputs, first, execute(program, _other(program, inputs, axis, at), Policy()), axis, (at,)
    ):
        return ""
    changed = execute(program, _other(program, inputs, axis, others[0]), Policy())
    if _same(outputs, first, changed, axis, (at, others[0])):
        every = {n: v + LARGE if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v for n, v in inputs.items()}
        same = _same(outputs, first, execute(program, every, Policy()), "", ())
        return "no data make a difference to any result" if same else ""
    return f"other data at {axis} = {at} change no result, those at {axis} = {others[0]} do"


def _other(program: Program, inputs: Inputs, axis: str, at: int) -> Inputs:
    made = dict(inputs)
    for name, value in inputs.items():
        axes = program.tensors[name].axes if name in program.tensors else ()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and axis in axes:
            made[name] = value.copy()
            made[name][(slice(None),) * axes.index(axis) + (at,)] += LARGE  # pyright: ignore[reportIndexIssue]
    return made


def _same(outputs: Sequence[Ensures], x: Outcome, y: Outcome, axis: str, left_out: tuple[int, ...]) -> bool:
    for ensures in outputs:
        if ensures.tensor not in x.outputs:
            continue
        pair = [_without(ensures, o.outputs[ensures.tensor], axis, left_out) for o in (x, y)]
        if not np.array_equal(*pair, equal_nan=True):
            return False
    return True


def _without(ensures: Ensures, values: Floats, axis: str, left_out: tuple[int, ...]) -> Floats:
    if axis not in ensures.index:
        return values
    dimension = ensures.index.index(axis)
    return np.delete(values, [c for c in left_out if c < values.shape[dimension]], dimension)
