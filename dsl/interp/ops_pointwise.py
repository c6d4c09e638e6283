"""Pointwise operations. Values are fp64 and never rounded to a dtype; poison passes through everything."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from argus.dsl.diagnostics import Code, Diagnostic, Span
from argus.dsl.interp.arrays import Bools, Floats
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.ops_memory import moved
from argus.dsl.interp.placement import match_axes, registers_for, unite
from argus.dsl.interp.registers import Nowhere, mismatch, read
from argus.dsl.interp.values import Frag, Layout
from argus.dsl.ir.nodes import Binary, Cast, Coordinate, Dtype, Mask, Ref, Select, Tagged, Unary
from argus.dsl.layout import Expr, names

_INTEGERS = frozenset({"i32", "i8", "bool"})


def _divide(x: Floats, y: Floats) -> Floats:
    return x / y


_UNARY: Mapping[str, Callable[[Floats], Floats]] = {
    "neg": np.negative, "not": lambda x: (x == 0).astype(np.float64), "exp2": np.exp2, "exp": np.exp, "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "rcp": lambda x: 1 / x, "abs": np.abs,
    "silu": lambda x: x / (1 + np.exp(-x)), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
}  # fmt: skip
_BINARY: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": _divide, "max": np.maximum, "min": np.minimum,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "&": lambda x, y: (x != 0) & (y != 0), "|": lambda x, y: (x != 0) | (y != 0),
}  # fmt: skip
_TRUTHS = frozenset({"<", "<=", ">", ">=", "==", "!=", "&", "|"})


def unary(w: Wave, node: Unary) -> Frag:
    """A function of each element."""
    x = read(w, node.src)
    function = _UNARY[node.op]
    everywhere = None if x.everywhere is None else function(x.everywhere)
    return replace(x, data=function(x.data), everywhere=everywhere)


def binary(w: Wave, node: Binary) -> Frag:
    """An operation on elements, broadcast over absent axes."""
    x, y = read(w, node.lhs), read(w, node.rhs)
    dtype: Dtype = "bool" if node.op in _TRUTHS else _wider(x, y)
    return _pointwise(w, _BINARY[node.op], (x, y), dtype, node.span)


def select(w: Wave, node: Select) -> Frag:
    """Poison of the value not chosen does not matter; that of the condition does."""
    operands = read(w, node.condition), read(w, node.x), read(w, node.y)
    everywhere = _everywhere(_chosen, operands)
    return replace(_choose(*aligned(w, operands, node.span)), everywhere=everywhere)


def _chosen(condition: Floats, x: Floats, y: Floats) -> Floats:
    return np.where(condition != 0, x, y)


def mask(w: Wave, node: Mask) -> Frag:
    """The elements where the predicate holds, else the fill."""
    src, pred = aligned(w, (read(w, node.src), read(w, node.pred)), node.span)
    fill = replace(src, data=np.full_like(src.data, node.fill), poison=None)
    return _choose(pred, src, fill)


def _choose(condition: Frag, x: Frag, y: Frag) -> Frag:
    chosen = condition.data != 0
    data = np.where(chosen, x.data, y.data)
    bad = np.where(chosen, _poison(x), _poison(y)) | _poison(condition)
    shape = x if not x.layout.uniform else y if not y.layout.uniform else condition
    data, bad = np.where(bad, np.nan, data), np.broadcast_to(bad, data.shape)
    dtype = _wider(x, y)
    coords = {**condition.coords, **y.coords, **x.coords}
    return Frag(data, shape.layout, bad if bad.any() else None, shape.axes, dtype, coords)


def cast(w: Wave, node: Cast) -> Frag:
    """No rounding to a float format; towards zero to i32, as conversions of floats are."""
    x = read(w, node.src)
    convert: Callable[[Floats], Floats] | None = None
    if node.dtype == "i32" and x.dtype not in _INTEGERS:
        convert = np.trunc
    elif node.dtype == "bool":
        convert = lambda v: np.where(np.isnan(v), v, v != 0)  # noqa: E731 - one of two choices
    if convert is None:
        return replace(x, dtype=node.dtype)
    everywhere = None if x.everywhere is None else convert(x.everywhere)
    return replace(x, data=convert(x.data), dtype=node.dtype, everywhere=everywhere)


def coordinate(w: Wave, node: Coordinate) -> Frag:
    """Where in its tensor each element came from; padding has the coordinate it would have."""
    src = read(w, node.src)
    if node.axis not in src.coords and src.poison is not None:
        # What was never written came from nowhere.
        nowhere = np.full(src.data.shape, np.nan)
        return Frag(nowhere, src.layout, np.ones(src.data.shape, np.bool_), src.axes, "i32", src.coords)
    if node.axis not in src.coords:
        text = f"{node.src.name} has no coordinate {node.axis} here"
        raise Nowhere(Diagnostic(code=Code.UNSUPPORTED, message=text, span=node.span))
    values = src.coords[node.axis]
    bad = np.isnan(values)
    return Frag(values, src.layout, bad if bad.any() else None, src.axes, "i32", src.coords)


def tagged(w: Wave, node: Tagged) -> Frag:
    """The same data; its coordinates are what the kernel claims."""
    assert isinstance(node.src, Ref), "core form tags a named fragment"
    src = read(w, node.src)
    asked = w.machine.program.asked
    claimed = {axis: _claimed(w, e, src) for axis, e in node.components if axis in asked}
    return replace(src, coords={**src.coords, **claimed})


def _claimed(w: Wave, e: Expr, src: Frag) -> Floats:
    """An index expression at each register; axes in it stand for the register's coordinates."""
    axes = sorted(names(e) & src.coords.keys())
    function = w.machine.program.expr(e)
    flat = [src.coords[a].reshape(-1) for a in axes]
    values = [
        np.nan if any(np.isnan(at)) else function(ChainMap({a: int(v) for a, v in zip(axes, at, strict=True)}, w.env))
        for at in zip(*flat, strict=True)
    ] or [function(w.env)] * src.data.size
    return np.array(values, np.float64).reshape(src.data.shape)


def _poison(x: Frag) -> Bools:
    return np.zeros(x.data.shape, np.bool_) if x.poison is None else x.poison


def _wider(x: Frag, y: Frag) -> Dtype:
    floats: list[Dtype] = [v.dtype for v in (x, y) if v.dtype not in _INTEGERS]
    if floats:
        return "f32" if "f32" in floats else floats[0]
    return "i32" if "i32" in (x.dtype, y.dtype) else x.dtype


def _pointwise(w: Wave, function: Callable[..., Floats], operands: Sequence[Frag], dtype: Dtype, span: Span) -> Frag:
    together = aligned(w, operands, span)
    data = np.asarray(function(*(x.data for x in together)), np.float64)
    poison = None
    if any(x.poison is not None for x in together):
        poison = np.zeros(data.shape, np.bool_)
        for x in together:
            poison |= _poison(x)
        # A comparison makes 0 or 1 of NaN: poison must not look like a value.
        data = np.where(poison, np.nan, data)
    shape = next((x for x in together if not x.layout.uniform), together[0])
    coords: dict[str, Floats] = {}
    for x in reversed(together):
        coords |= x.coords
    return Frag(data, shape.layout, poison, shape.axes, dtype, coords, _everywhere(function, operands))


def _everywhere(function: Callable[..., Floats], operands: Sequence[Frag]) -> Floats | None:
    if not any(x.everywhere is not None for x in operands):
        return None
    parts: list[Floats] = []
    for x in operands:
        if x.everywhere is None and not x.layout.uniform:
            return None
        parts.append(x.data[0] if x.everywhere is None else x.everywhere)
    return np.asarray(function(*parts), np.float64)


def aligned(w: Wave, operands: Sequence[Frag], span: Span) -> list[Frag]:
    """The same values with one register layout: that of the operand with the most axes."""
    layout, names, axes = operands[0].layout, operands[0].names, operands[0].axes
    for x in operands[1:]:
        united = unite(layout, names, x.layout, x.names)
        if united is None:
            raise mismatch(f"shapes {list(layout.dims)} and {list(x.layout.dims)} do not broadcast", span)
        if united not in (layout, x.layout) or x.layout == united:
            # Axes that either side lacked come from the other; bases are equal where both are partial.
            axes = tuple(a or b for a, b in zip(x.axes, axes, strict=False)) if len(axes) == len(x.axes) else x.axes
        layout = united
        names = tuple(axes[a] for a in layout.kept)
    return [_onto(w, x, layout, axes, span) for x in operands]


def _onto(w: Wave, x: Frag, layout: Layout, axes: tuple[str, ...], span: Span) -> Frag:
    if x.layout == layout or x.layout.uniform:
        return x
    if x.layout.base == layout.base and x.layout.shape == layout.shape:
        return replace(x, layout=layout, axes=axes)
    program = w.machine.program
    names = tuple(axes[a] for a in layout.kept)
    key = ("onto", x.layout, x.names, layout, names, w.seat)
    if key not in program.moves:
        matched = match_axes(x.layout, x.names, layout, names)
        assert matched is not None
        program.moves[key] = registers_for(program.slots(x.layout, w.seat), matched, program.slots(layout, w.seat))
    result = moved(x, program.moves[key], layout, axes)
    held = program.slots(layout, w.seat).held
    move = program.moves[key]
    if isinstance(move, np.ndarray) and ((move < 0) if held is None else (move < 0) & held).any():
        raise mismatch("the two fragments keep equal coordinates in different lanes", span)
    return result
