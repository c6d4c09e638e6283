"""What padding becomes: numbers carried through pointwise operations, and which of them a reduction ignores.

Data are taken to be finite, unless they are marked as possibly not; a pad that depends on data is unknown (None).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from argus.dsl.ir.nodes import BinaryOp, UnaryOp
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


@dataclass(frozen=True, slots=True)
class Padding:
    """What the elements of a value hold where they are no data: outside its windows, and where its masks fail."""

    windows: frozenset[object]
    pad: float | None
    masks: tuple[Mask, ...]
    finite: bool

    def contents(self) -> Iterator[Content]:
        """All that elements may hold."""
        yield Data(self.finite)
        if self.windows:
            yield self.pad
        yield from (m.pad for m in self.masks)


def finite(value: Value) -> bool:
    return not (value.low or value.wild)


def padding(value: Value) -> Padding:
    return Padding(frozenset(value.windows), value.pad, value.masks, finite(value))


def joined(op: BinaryOp, x: Padding, y: Padding) -> tuple[float | None, tuple[Mask, ...]]:
    """The pad outside the windows of either, and the masks of both, of `x op y`."""
    if [m.keep for m in x.masks] == [m.keep for m in y.masks]:
        both = tuple(Mask(a.keep, binary(op, a.pad, b.pad)) for a, b in zip(x.masks, y.masks, strict=True))
        return _outside(op, x, y), both
    left = tuple(Mask(m.keep, _one([binary(op, m.pad, c) for c in y.contents()])) for m in x.masks)
    right = tuple(Mask(m.keep, _one([binary(op, c, m.pad) for c in x.contents()])) for m in y.masks)
    return _outside(op, x, y), (*left, *right)


def _outside(op: BinaryOp, x: Padding, y: Padding) -> float | None:
    if not x.windows and not y.windows:
        return 0.0
    cases = list[float | None]()
    if x.windows and y.windows:
        cases.append(binary(op, x.pad, y.pad))
    if x.windows - y.windows:
        cases.append(binary(op, x.pad, Data(y.finite)))
    if y.windows - x.windows:
        cases.append(binary(op, Data(x.finite), y.pad))
    return _one(cases)


def _one(cases: list[float | None]) -> float | None:
    return cases[0] if all(c == cases[0] for c in cases) else None


def with_number(
    op: BinaryOp, value: Value, number: float | None, *, left: bool
) -> tuple[float | None, tuple[Mask, ...]]:
    """Pad and masks of `value op number`, or of `number op value` where the value is not on the left."""
    other: Content = Data() if number is None else number

    def of(pad: float | None) -> float | None:
        return binary(op, pad, other) if left else binary(op, other, pad)

    return of(value.pad), tuple(Mask(m.keep, of(m.pad)) for m in value.masks)


def mapped(value: Value, change: Callable[[float | None], float | None]) -> tuple[float | None, tuple[Mask, ...]]:
    return change(value.pad), tuple(Mask(m.keep, change(m.pad)) for m in value.masks)
