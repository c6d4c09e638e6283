"""What padding becomes: numbers carried through pointwise operations, and which of them a reduction ignores.

Data are taken to be finite, unless they are marked as possibly not; a pad that depends on data is unknown (None).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from argus.dsl.ir.nodes import BinaryOp, UnaryOp
from argus.dsl.layout.affine import Formula
from argus.dsl.tags.domain import Mask, Reducer, Value

NEUTRAL: Mapping[Reducer, float] = {"sum": 0.0, "max": -math.inf, "min": math.inf}


@dataclass(frozen=True, slots=True)
class Data:
    """Any number; infinities too where not `finite`."""

    finite: bool = True


Content: TypeAlias = "float | Data | None"

_UNARY: Mapping[UnaryOp, Callable[[float], float]] = {
    "neg": lambda x: -x, "exp": math.exp, "exp2": lambda x: 2.0**x, "abs": abs,
    "relu": lambda x: max(x, 0.0), "tanh": math.tanh, "sqrt": math.sqrt, "log2": math.log2,
    "rcp": lambda x: 1.0 / x, "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)), "silu": lambda x: x / (1.0 + math.exp(-x)),
}  # fmt: skip
_BINARY: Mapping[BinaryOp, Callable[[float, float], float]] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y,
    "max": max, "min": min,
}  # fmt: skip


def unary(op: UnaryOp, x: Content) -> float | None:
    """`op` of a number; None where it is not known."""
    if not isinstance(x, float) or op not in _UNARY:
        return None
    try:
        found = _UNARY[op](x)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return None if math.isnan(found) else found


def binary(op: BinaryOp, x: Content, y: Content) -> float | None:
    """`x op y` where it is the same for all data; None elsewhere."""
    if x is None or y is None or op not in _BINARY:
        return None
    if isinstance(x, float) and isinstance(y, float):
        try:
            found = _BINARY[op](x, y)
        except (ZeroDivisionError, OverflowError):
            return None
        return None if math.isnan(found) else found
    if isinstance(x, Data):
        return None if isinstance(y, Data) else _with_data(op, y, x, left=False)
    assert isinstance(y, Data)
    return _with_data(op, x, y, left=True)


def _with_data(op: BinaryOp, number: float, data: Data, *, left: bool) -> float | None:
    """The result if it does not depend on the data."""
    if not data.finite:
        return None
    if op == "*":
        return 0.0 if number == 0.0 else None
    if op == "max":
        return number if number == math.inf else None
    if op == "min":
        return number if number == -math.inf else None
    if op not in ("+", "-") or not math.isinf(number):
        return None
    return -number if op == "-" and not left else number


def finite(value: Value) -> bool:
    return not (value.low or value.wild)


def pad_along(value: Value | Mask, axis: str) -> float | None:
    """What elements hold that lie outside the windows along this axis and no other."""
    return dict(value.apart).get(axis, value.pad)


def uniform(value: Value) -> float | None:
    """What all padding holds, whatever makes it padding; None if that is not one number."""
    held = [p for _, p in value.apart] if value.apart else [value.pad]
    held = held if value.windows else []
    held += [p for m in value.masks for p in (m.pad, *(p for _, p in m.apart))]
    return _one(held) if held else value.pad


def _window_axes(value: Value) -> dict[str, frozenset[object]]:
    found = dict[str, set[object]]()
    for w in value.windows:
        found.setdefault(w.axis, set()).add(w)
    return {axis: frozenset(windows) for axis, windows in found.items()}


@dataclass(frozen=True, slots=True)
class Padded:
    """Pad, pads apart and masks of a value."""

    pad: float | None
    apart: tuple[tuple[str, float | None], ...]
    masks: tuple[Mask, ...]

    def of(self, value: Value) -> Value:
        return replace(value, pad=self.pad, apart=self.apart, masks=self.masks)


def _packed(by_axis: Mapping[str, float | None]) -> tuple[float | None, tuple[tuple[str, float | None], ...]]:
    pads = list(by_axis.values())
    if all(p == pads[0] for p in pads):
        return (pads[0] if pads else 0.0), ()
    return None, tuple(sorted(by_axis.items()))


def mapped(value: Value, change: Callable[[Content], float | None]) -> Padded:
    """After an operation that knows no other operand with padding."""
    pad, apart = change(value.pad), tuple((axis, change(p)) for axis, p in value.apart)
    masks = tuple(Mask(m.keep, change(m.pad), tuple((a, change(p)) for a, p in m.apart)) for m in value.masks)
    return Padded(pad, apart, masks)


def with_number(op: BinaryOp, value: Value, number: float | None, *, left: bool) -> Padded:
    """Of `value op number`, or of `number op value` where the value is not on the left."""
    other: Content = Data() if number is None else number
    return mapped(value, lambda pad: binary(op, pad, other) if left else binary(op, other, pad))


def joined(op: BinaryOp, x: Value, y: Value) -> Padded:
    """Of `x op y`."""
    mine, theirs = _window_axes(x), _window_axes(y)
    by_axis = dict[str, float | None]()
    for axis in {**mine, **theirs}:
        cases = list[float | None]()
        here, there = mine.get(axis, frozenset()), theirs.get(axis, frozenset())
        if here and there:
            cases.append(binary(op, pad_along(x, axis), pad_along(y, axis)))
        if here - there:
            cases.append(binary(op, pad_along(x, axis), Data(finite(y))))
        if there - here:
            cases.append(binary(op, Data(finite(x)), pad_along(y, axis)))
        by_axis[axis] = _one(cases)
    pad, apart = _packed(by_axis)
    axes = tuple(by_axis)
    if [m.keep for m in x.masks] == [m.keep for m in y.masks]:
        pairs = zip(x.masks, y.masks, strict=True)
        return Padded(pad, apart, tuple(_mask(m.keep, axes, _both(op, m, n)) for m, n in pairs))
    left = (_mask(m.keep, axes, _against(op, m, y, theirs, left=True)) for m in x.masks)
    right = (_mask(m.keep, axes, _against(op, m, x, mine, left=False)) for m in y.masks)
    return Padded(pad, apart, (*left, *right))


def _mask(keep: Formula, axes: tuple[str, ...], held: Callable[[str], float | None]) -> Mask:
    """A mask whose elements hold `held(axis)` if the windows along an axis fail too, `held("")` if none does."""
    base = held("")
    return Mask(keep, base, tuple((a, p) for a in sorted(axes) if (p := held(a)) != base))


def _both(op: BinaryOp, m: Mask, n: Mask) -> Callable[[str], float | None]:
    return lambda axis: binary(op, pad_along(m, axis), pad_along(n, axis))


def _against(
    op: BinaryOp, m: Mask, other: Value, windows: Mapping[str, object], *, left: bool
) -> Callable[[str], float | None]:
    """Elements that fail a mask of one side, whatever of the other side's masks they fail."""

    def held(axis: str) -> float | None:
        contents: list[Content] = [pad_along(other, axis) if axis in windows else Data(finite(other))]
        if axis in windows:
            contents.append(Data(finite(other)))  # the windows of the two sides along an axis may differ
        contents += [pad_along(n, axis) for n in other.masks]
        mine = pad_along(m, axis)
        return _one([binary(op, mine, c) if left else binary(op, c, mine) for c in contents])

    return held


def _one(cases: Sequence[float | None]) -> float | None:
    return cases[0] if all(c == cases[0] for c in cases) else None
