"""Reading a wave's registers by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from argus.dsl.diagnostics import Code, Diagnostic, KernelError, Span
from argus.dsl.interp.arrays import Floats
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.values import Accumulation, Descriptor, Frag, whole
from argus.dsl.ir.nodes import Dtype, Index, Ref, Scalar
from argus.dsl.layout import Accumulator


class Nowhere(KernelError):
    """A coordinate is asked of elements that carry none."""


def uniform(value: float, dtype: Dtype = "f32") -> Frag:
    """One value in every lane."""
    return Frag(np.full((1, 1), float(value)), dtype=dtype)


def poisoned() -> Frag:
    """What a register holds before anything was assigned."""
    return Frag(np.full((1, 1), np.nan), poison=np.ones((1, 1), np.bool_))


def unsupported(message: str, span: Span) -> KernelError:
    """The diagnostic of what the interpreter does not execute."""
    return KernelError(Diagnostic(code=Code.UNSUPPORTED, message=message, span=span))


def mismatch(message: str, span: Span) -> KernelError:
    """The diagnostic of operands whose shapes or maps do not fit."""
    return KernelError(Diagnostic(code=Code.BAD_SHAPE, message=message, span=span))


def read(w: Wave, node: object) -> Frag:
    """The value of a core-form operand: a name, a number or an index expression.

    Registers that an MMA in flight will write are reported and read as poison; so are names never assigned.
    """
    match node:
        case Scalar(value=value):
            return uniform(value)
        case Index(expr=expr):
            return uniform(w.machine.program.expr(expr)(w.env), "i32")
        case Ref(name=name):
            return _named(w, name, node.span)
        case _:
            raise AssertionError(f"not an operand of core form: {node}")


def _named(w: Wave, name: str, span: Span) -> Frag:
    value = w.frags.get(name)
    match value:
        case Frag():
            return value
        case Accumulation():
            if value.pending:
                w.fault("pending", f"{name} is used while MMAs that write it are in flight", w.span)
            return registers(w, value)
        case Descriptor():
            raise unsupported(f"{name} is an operand in shared memory and has no registers", span)
        case None if name in w.machine.scalars:
            return uniform(w.machine.scalars[name], w.machine.program.scalars[name].dtype)
        case None if name in w.env:
            return uniform(w.env[name], "i32")
        case None:
            return poisoned()


def registers(w: Wave, acc: Accumulation) -> Frag:
    """An accumulator's matrix as (lanes, slots)."""
    tile = w.machine.program.accumulator(acc.map, w.seat.position)
    dims = (w.machine.program.lanes, tile.slots)

    def spread(matrix: Floats) -> Floats:
        out = np.empty(dims)
        out.reshape(-1)[tile.place] = matrix
        return out

    if acc.pending:
        data, poison = np.full(dims, np.nan), np.ones(dims, np.bool_)
    else:
        data, poison = spread(acc.matrix), None
        if acc.poison is not None:
            poison = np.empty(dims, np.bool_)
            poison.reshape(-1)[tile.place] = acc.poison
    coords = {a: spread(np.broadcast_to(c[:, None], tile.place.shape)) for a, c in acc.row_coords.items()}
    coords |= {a: spread(np.broadcast_to(c[None, :], tile.place.shape)) for a, c in acc.column_coords.items()}
    shape = (acc.map.m, acc.map.n)
    return Frag(data, whole(acc.map, shape), poison, acc.axes, "f32", coords)


def accumulation(w: Wave, value: Frag, span: Span) -> Accumulation:
    """Registers as the matrix that further MMAs add to."""
    base = value.layout.base
    if not isinstance(base, Accumulator) or len(value.layout.kept) != 2:
        raise mismatch("an MMA accumulates into a fragment that mma_acc made", span)
    tile = w.machine.program.accumulator(base, w.seat.position)
    matrix = value.data.reshape(-1)[tile.place]
    poison = None if value.poison is None else value.poison.reshape(-1)[tile.place]
    names = value.axes if len(value.axes) == 2 else ("", "")
    return Accumulation(base, matrix, poison, (names[0], names[1]))


def default_axes(names: Mapping[str, tuple[str, ...]], target: str, found: tuple[str, ...]) -> tuple[str, ...]:
    """Axis names as far as the value's own origin tells, else as the type of the variable says."""
    typed = names.get(target, ())
    if len(typed) != len(found):
        return found
    return tuple(f or t for f, t in zip(found, typed, strict=True))
