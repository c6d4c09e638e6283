"""What a kernel's outputs should be, told from its own text with all that may go wrong left out.

The text is executed once over whole tensors, as if one tile held everything: indices, tiles, stages, lanes and loops
mean nothing, axes are told by name. Reductions and products take the sets that the contract asks for, whatever the text
masks, and adding a sum to itself changes nothing. So the functions that the text applies are its own, and the elements
that they are applied to are the contract's: an execution of the kernel that differs uses others.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.dsl.ir import (
    AsOperand,
    Assign,
    AtomicAdd,
    Binary,
    Cast,
    Coordinate,
    CopyAsync,
    Elect,
    Ensures,
    For,
    If,
    Index,
    Kernel,
    Load,
    Mask,
    MmaAcc,
    MmaInto,
    Node,
    Operand,
    Over,
    Reduce,
    Ref,
    Relayout,
    Role,
    Scalar,
    Select,
    Shared,
    Shuffle,
    Stmt,
    Store,
    Tagged,
    TensorParam,
    Unary,
    View,
)
from argus.dsl.layout import Const, Expr, Op, Var, evaluate, names
from argus.dsl.smt.functions import BINARY, UNARY
from argus.dsl.tags.views import root

Floats = npt.NDArray[np.float64]
Inputs = Mapping[str, "Floats | float"]
NEUTRAL = {"sum": 0.0, "max": -np.inf, "min": np.inf}
REDUCERS: Mapping[str, Callable[..., Floats]] = {"sum": np.sum, "max": np.max, "min": np.min}
MOST_ELEMENTS = 1 << 24


class _Untold(Exception):
    """The text does something that this module has no whole counterpart of."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A value over whole axes.

    Attributes:
        axes: Names of the array's dimensions.
        sums: Axes of a sum that may go on.
        placed: It is a condition on coordinates.
    """

    axes: tuple[str, ...]
    data: Floats
    sums: frozenset[str] = frozenset()
    placed: bool = False


def ideal(core: Kernel, ensures: Ensures, inputs: Inputs, sizes: Mapping[str, int]) -> Floats | None:
    """The wanted output; None where this module cannot tell it."""
    for first in (False, True):
        teller = _Teller(core, ensures, inputs, sizes, first)
        try:
            with np.errstate(all="ignore"):
                teller.body(core.body)
                return teller.result()
        except (_Untold, ValueError, KeyError, ZeroDivisionError):
            continue
    return None


@dataclass(slots=True)
class _Teller:
    core: Kernel
    ensures: Ensures
    inputs: Inputs
    sizes: Mapping[str, int]
    first: bool = False
    values: dict[str, Whole] = field(default_factory=dict[str, Whole])
    stored: Whole | None = None

    @property
    def params(self) -> dict[str, TensorParam]:
        return {p.name: p for p in self.core.params if isinstance(p, TensorParam)}

    def extent(self, axis: str) -> int:
        extents = {
            evaluate(e, self.sizes)
            for p in self.core.params if isinstance(p, TensorParam)
            for a, e in zip(p.axes, p.shape, strict=True) if a == axis
        }  # fmt: skip
        if len(extents) != 1:
            raise _Untold
        return extents.pop()

    # -------------------------------------------------------------------------------------- statements

    def body(self, body: Sequence[Stmt]) -> None:
        for stmt in body:
            match stmt:
                case For(body=inner) | Role(body=inner) | Elect(body=inner):
                    self.body(inner)
                case If(body=inner, orelse=orelse):
                    self.body(inner)
                    self.body(orelse)
                case Assign(value=Shared()):
                    pass
                case Assign(targets=(name,), value=value) if isinstance(value, _FRAGS):
                    self.values[name] = self.value(value)
                case MmaInto(acc=acc, a=a, b=b):
                    self.values[acc] = self.plus(self.values[acc], self.product(self.value(a), self.value(b)))
                case CopyAsync(dst=dst, src=src):
                    self.fill(root(dst), self.view(src))
                case Store(view=view, value=value) | AtomicAdd(view=view, value=value):
                    self.store(view, self.value(value))
                case _:
                    pass

    def store(self, view: View, value: Whole) -> None:
        if root(view) == self.ensures.tensor:
            self.stored = value
        elif root(view) not in self.params:
            self.fill(root(view), value)

    def fill(self, buffer: str, value: Whole) -> None:
        """A buffer holds what was put there last; or first, where the last makes no sense."""
        if not (self.first and buffer in self.values):
            self.values[buffer] = value

    def view(self, view: View) -> Whole:
        """All of what a view looks at; a transposed view has the same axes by name."""
        name = root(view)
        if name in self.values:
            return self.values[name]
        param, data = self.params.get(name), self.inputs.get(name)
        if param is None or not isinstance(data, np.ndarray) or not all(param.axes):
            raise _Untold
        return Whole(param.axes, np.asarray(data, np.float64))

    # ------------------------------------------------------------------------------------------ values

    def value(self, node: Node) -> Whole:
        match node:
            case Ref(name=name) if name in self.values:
                return self.values[name]
            case Ref(name=name) if isinstance(number := self.inputs.get(name), int | float):
                return Whole((), np.array(float(number)))
            case Scalar(value=number):
                return Whole((), np.array(number))
            case Index(expr=expr):
                return Whole((), np.array(float(evaluate(expr, self._numbers()))))
            case Load(view=view) | Operand(src=view):
                return self.view(view)
            case MmaAcc():
                return Whole((), np.array(0.0))
            case Cast(src=src) | AsOperand(src=src) | Relayout(src=src) | Mask(src=src):
                return self.value(src)
            case Shuffle() | Tagged():
                raise _Untold
            case Coordinate(axis=axis):
                return Whole((axis,), np.arange(float(self.extent(axis))), placed=True)
            case Unary(op=op, src=src):
                x = self.value(src)
                return Whole(x.axes, np.asarray(UNARY[op](x.data), np.float64), placed=x.placed)
            case Binary(op=op, lhs=lhs, rhs=rhs):
                return self.binary(op, self.value(lhs), self.value(rhs))
            case Select(condition=condition, x=x, y=y):
                return self.select(self.value(condition), self.value(x), self.value(y))
            case Reduce(op=op, src=src, axis=axis):
                return self.reduced(op, self.value(src), axis)
            case _:
                raise _Untold

    def _numbers(self) -> dict[str, int]:
        return {**self.sizes, **{n: v for n, v in self.inputs.items() if isinstance(v, int)}}

    def binary(self, op: str, x: Whole, y: Whole) -> Whole:
        if op == "+" and x.sums | y.sums:
            return self.plus(x, y)
        axes, arrays = self.aligned(x, y)
        sums = (x.sums | y.sums) if op in ("*", "/") and not (x.sums and y.sums) else frozenset[str]()
        placed = (x.placed or y.placed) and all(v.placed or not v.axes for v in (x, y))
        return Whole(axes, np.asarray(BINARY[op](*arrays), np.float64), sums, placed)

    def plus(self, x: Whole, y: Whole) -> Whole:
        """The sum of both; what is the same sum twice was only summed part by part."""
        axes, (a, b) = self.aligned(x, y)
        for zero, other in ((x, y), (y, x)):
            if not zero.axes and not zero.data.any():
                return other
        if x.sums & y.sums and a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=0.0, equal_nan=True):
            return replace(y, axes=axes, data=b)
        return Whole(axes, a + b, x.sums | y.sums)

    def select(self, condition: Whole, x: Whole, y: Whole) -> Whole:
        if condition.placed:
            return x if x.axes else y  # a mask: what it hides is no member of a set anyway
        axes, arrays = self.aligned(condition, x, y)
        return Whole(axes, np.where(*arrays))

    def aligned(self, *values: Whole) -> tuple[tuple[str, ...], list[Floats]]:
        axes = tuple(dict.fromkeys(a for v in values for a in v.axes))
        if math.prod(self.extent(a) for a in axes) > MOST_ELEMENTS:
            raise _Untold
        return axes, [_spread(v, axes) for v in values]

    # ------------------------------------------------------------------------------------------ sets

    def over(self, axis: str) -> Over | None:
        return next((o for o in self.ensures.over if o.axis == axis), None)

    def members(self, over: Over) -> Whole:
        """1 for the coordinates that the contract asks for, 0 for others."""
        inside = np.arange(self.extent(over.axis)) < evaluate(over.extent, self.sizes)
        if over.pred is None:
            return Whole((over.axis,), inside.astype(np.float64))
        known = names(over.pred)
        axes = (over.axis, *sorted(a for a in known - {over.axis} if a not in self.sizes))
        places = np.ix_(*(np.arange(self.extent(a)) for a in axes))
        held = _everywhere(over.pred, {**self.sizes, **dict(zip(axes, places, strict=True))})
        return Whole(axes, (np.asarray(held, np.bool_) & inside.reshape(-1, *[1] * (len(axes) - 1))).astype(np.float64))

    def reduced(self, op: str, x: Whole, axis: str) -> Whole:
        over = self.over(axis)
        if over is None or axis not in x.axes:
            # Along which axis is the contract's to say.
            meant = [o for o in self.ensures.over if o.axis in x.axes]
            if len(meant) != 1:
                raise _Untold
            over = meant[0]
        axes, (data, members) = self.aligned(x, self.members(over))
        kept = np.where(members > 0, data, NEUTRAL[op])
        at = axes.index(over.axis)
        left = axes[:at] + axes[at + 1 :]
        sums = frozenset((over.axis,)) if op == "sum" else frozenset[str]()
        return Whole(left, REDUCERS[op](kept, axis=at), sums)

    def product(self, a: Whole, b: Whole) -> Whole:
        meant = [o for o in self.ensures.over if o.axis in a.axes and o.axis in b.axes]
        if len(meant) != 1:
            raise _Untold
        members = self.members(meant[0])
        axes = tuple(dict.fromkeys((*a.axes, *b.axes, *members.axes)))
        letters = dict(zip(axes, string.ascii_letters, strict=False))
        left = tuple(x for x in axes if x != meant[0].axis)
        if math.prod(self.extent(x) for x in left) > MOST_ELEMENTS:
            raise _Untold
        inputs = ",".join("".join(letters[x] for x in v.axes) for v in (a, b, members))
        data = np.einsum(f"{inputs}->{''.join(letters[x] for x in left)}", a.data, b.data, members.data, optimize=True)
        return Whole(left, data, frozenset((meant[0].axis,)))

    # ---------------------------------------------------------------------------------------- outputs

    def result(self) -> Floats | None:
        value = self.stored
        if value is None:
            return None
        for axis in set(value.axes) - set(self.ensures.index):
            value = self.grouped(value, axis)
        wanted = np.broadcast_to(_spread(value, self.ensures.index), [self.extent(a) for a in self.ensures.index])
        return wanted if np.isfinite(wanted).all() else None

    def grouped(self, value: Whole, axis: str) -> Whole:
        """The value at the coordinate of an axis that belongs to each output: h // (H // G) where H % G == 0."""
        for pred in self.core.where:
            match pred:
                case Op("==", (Op("%", (whole, part)), Const(0))) if evaluate(part, self.sizes) == self.extent(axis):
                    owner = next((a for a in self.ensures.index if self._is(a, whole)), None)
                    if owner is None or not self._is(axis, part) or owner not in value.axes:
                        continue
                    size = self.extent(owner) // self.extent(axis)
                    axes = (owner, axis, *(a for a in value.axes if a not in (owner, axis)))
                    h = np.arange(self.extent(owner))
                    return Whole((owner, *axes[2:]), _spread(value, axes)[h, h // size])
                case _:
                    pass
        raise _Untold

    def _is(self, axis: str, extent: object) -> bool:
        params = self.params.values()
        return any(a == axis and e == extent for p in params for a, e in zip(p.axes, p.shape, strict=True))


_FRAGS = (
    Ref, Scalar, Index, Load, MmaAcc, Operand, AsOperand, Cast, Unary, Binary, Select, Coordinate, Mask, Reduce,
    Relayout, Shuffle, Tagged,
)  # fmt: skip


def _spread(value: Whole, axes: Sequence[str]) -> Floats:
    """The array over more axes, of extent 1 where it has none."""
    if not set(value.axes) <= set(axes):
        raise _Untold
    order = [value.axes.index(a) for a in axes if a in value.axes]
    data = np.transpose(value.data, order)
    return data.reshape([data.shape[[b for b in axes if b in value.axes].index(a)] if a in value.axes else 1
                         for a in axes])  # fmt: skip


_UFUNCS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod,
    "cdiv": lambda a, b: -np.floor_divide(-a, b), "min": np.minimum, "max": np.maximum,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip


def _everywhere(e: Expr, env: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an integer or an array of them
    """`e` at all places at once.

    Raises:
        ZeroDivisionError: As in Python.
    """
    match e:
        case Var(name):
            return env[name]
        case Const(value):
            return value
        case Op("not", args):
            return np.logical_not(_everywhere(args[0], env))
        case Op(kind, args):
            values = [_everywhere(a, env) for a in args]
            if kind in ("//", "%", "cdiv") and not np.all(values[1]):
                raise ZeroDivisionError(kind)
            return reduce(_UFUNCS[kind], values)
