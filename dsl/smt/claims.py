"""Written assertions, evaluated by the interpreter: what registers hold where a kernel claims something of them.

Coordinates travel with the data that the interpreter moves, so `assert_match` compares what each lane really holds.
What was summed is told by the data themselves: all inputs are 1, but 0 along an axis everywhere except at one
coordinate. Then a sum tells by its value how often it holds that coordinate. Nothing here reads a table of the checker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from argus.dsl.diagnostics import KernelError, Span
from argus.dsl.interp.machine import Wave
from argus.dsl.interp.policy import Policy
from argus.dsl.interp.program import Program, prepare
from argus.dsl.interp.registers import read
from argus.dsl.interp.run import execute
from argus.dsl.interp.values import Frag
from argus.dsl.ir import AssertComplete, AssertMatch, Component, Kernel, Stmt
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import Expr, evaluate, names

Floats = npt.NDArray[np.float64]
Places = dict[tuple[int, ...], set[float]]  # for each place along the common axes, the coordinates seen there
Time = tuple[tuple[int, ...], tuple[tuple[str, int], ...]]  # a block, and its loop variables
Blocks = Sequence[tuple[int, ...]] | None
MOST_PROBES = 4
NOWHERE = -1


def falsified(core: Kernel, span: Span, sizes: Mapping[str, int], blocks: Blocks, point: int | None) -> str:
    """How an execution shows that the assertion at a place of the text is false; empty if it does not.

    Args:
        core: The kernel.
        span: Of the assertion.
        sizes: To execute it at.
        blocks: To execute.
        point: A coordinate that is said not to be reduced once.
    """
    written = (n for n in walk_body(core.body) if isinstance(n, AssertMatch | AssertComplete))
    stmt = next((n for n in written if n.span == span), None)
    try:
        if isinstance(stmt, AssertMatch) and stmt.x.function is None and stmt.y.function is None:
            return _compared(core, stmt, sizes, blocks)
        if isinstance(stmt, AssertComplete):
            program = prepare(core, sizes)
            found = (_reduced(program, stmt, axis, e, blocks=blocks, point=point) for axis, e in stmt.sets)
            return next((text for text in found if text), "")
    except (KernelError, ZeroDivisionError, KeyError, ValueError):
        pass
    return ""


# ------------------------------------------------------------------------------------------ coordinates


@dataclass(slots=True)
class _Watch:
    """What the two sides of an assertion hold, each time it is executed."""

    stmt: AssertMatch
    seen: dict[Time, tuple[list[_Held], list[_Held]]] = field(
        default_factory=dict["Time", "tuple[list[_Held], list[_Held]]"]
    )

    def __call__(self, w: Wave, stmt: Stmt) -> None:
        if stmt is self.stmt:
            sides = self.seen.setdefault(_now(w), ([], []))
            for side, component in zip(sides, (self.stmt.x, self.stmt.y), strict=True):
                held = _held(w, component)
                if held is not None:
                    side.append(held)


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """Coordinates of one wave's elements, and where in the fragment they lie along its named axes."""

    axes: tuple[str, ...]
    places: tuple[npt.NDArray[np.int64], ...]
    values: Floats


def _now(w: Wave) -> Time:
    return tuple(w.machine.log.block), tuple(sorted(w.loops.items()))


def _held(w: Wave, component: Component) -> _Held | None:
    value = read(w, component.src)
    if component.axis not in value.coords or value.layout.uniform:
        return None
    slots = w.machine.program.slots(value.layout, w.seat)
    coords = np.broadcast_to(value.coords[component.axis], slots.dims)
    known = ~np.isnan(coords) if slots.held is None else ~np.isnan(coords) & slots.held
    return _Held(value.names, tuple(c[known] for c in slots.coords), coords[known])


def _compared(core: Kernel, stmt: AssertMatch, sizes: Mapping[str, int], blocks: Blocks) -> str:
    program = prepare(core, sizes)
    program.asked |= {stmt.x.axis, stmt.y.axis}
    watch = _Watch(stmt)
    _execute(program, _ones(program, "", 0), watch, blocks)
    for (_, loops), (xs, ys) in watch.seen.items():
        common = _common(xs, ys)
        left, right = _by_place(xs, common), _by_place(ys, common)
        for place in sorted(left.keys() & right.keys()):
            wrong = _wrong(left[place], right[place], differ=stmt.differ)
            if wrong is not None:
                where = ", ".join(f"{name} = {value}" for name, value in loops)
                at = f" at {where}" if where else ""
                return f"registers hold {stmt.x.axis} = {wrong[0]:.0f} and {stmt.y.axis} = {wrong[1]:.0f}{at}"
    return ""


def _common(xs: Sequence[_Held], ys: Sequence[_Held]) -> tuple[str, ...]:
    axes = [dict.fromkeys(a for h in side for a in h.axes if a) for side in (xs, ys)]
    return tuple(a for a in axes[0] if a in axes[1])


def _by_place(side: Sequence[_Held], common: tuple[str, ...]) -> Places:
    out: Places = {}
    for held in side:
        columns = [held.places[held.axes.index(a)] for a in common] + [held.values]
        for row in np.unique(np.stack(columns, axis=1).astype(np.float64), axis=0).tolist():
            out.setdefault(tuple(int(x) for x in row[:-1]), set()).add(row[-1])
    return out


def _wrong(x: set[float], y: set[float], *, differ: bool) -> tuple[float, float] | None:
    pairs = ((a, b) for a in sorted(x) for b in sorted(y) if (a == b) == differ)
    return next(pairs, None)


# ----------------------------------------------------------------------------------------------- sums


def _reduced(
    program: Program, stmt: AssertComplete, axis: str, extent: Expr, *, blocks: Blocks, point: int | None
) -> str:
    free = sorted(names(extent) - program.sizes.keys())
    if not free:
        number = evaluate(extent, program.sizes)
        return _counted(program, stmt, axis, number, blocks=blocks, point=point)
    program.asked |= set(free)
    return _members(program, stmt, axis, extent, blocks=blocks, point=0 if point is None else point)


def _members(program: Program, stmt: AssertComplete, axis: str, extent: Expr, *, blocks: Blocks, point: int) -> str:
    """Shown if a coordinate makes a difference to elements that should not hold it, or none to one that should."""
    free = sorted(names(extent) - program.sizes.keys())
    for p in dict.fromkeys((point, point + 1, max(0, point - 1))):
        runs = [_elements(program, stmt, axis, at, free=free, blocks=blocks) for at in (NOWHERE, p)]
        for place, without in runs[0].items():
            here = dict(zip(free, place[1], strict=True))
            if any(v >= _extent(program, a) for a, v in here.items()) or p >= _extent(program, axis):
                continue  # no element of a tensor
            held, wanted = runs[1].get(place) != without, p < evaluate(extent, {**program.sizes, **here})
            if held != wanted:
                where = ", ".join(f"{a} = {v}" for a, v in here.items())
                return f"{axis} = {p} makes {'a' if held else 'no'} difference to {stmt.x.name} at {where}"
    return ""


def _elements(
    program: Program, stmt: AssertComplete, axis: str, at: int, *, free: Sequence[str], blocks: Blocks
) -> dict[tuple[Time, tuple[int, ...]], tuple[float, ...]]:
    """What registers hold at each of their own coordinates, each time that the assertion is executed."""
    found = dict[tuple[Time, tuple[int, ...]], set[float]]()

    def watch(w: Wave, here: Stmt) -> None:
        if here is not stmt:
            return
        value: Frag = read(w, stmt.x)
        columns = [np.broadcast_to(value.coords[a], value.data.shape).ravel() for a in free]
        for *place, held in np.stack([*columns, value.data.ravel()], axis=1).tolist():
            if not np.isnan([*place, held]).any():
                found.setdefault((_now(w), tuple(int(x) for x in place)), set()).add(held)

    _execute(program, _ones(program, axis, at), watch, blocks)
    return {place: tuple(sorted(values)) for place, values in found.items()}


def _extent(program: Program, axis: str) -> int:
    return max(s[t.axes.index(axis)] for n, s in program.shapes.items() if axis in (t := program.tensors[n]).axes)


def _counted(
    program: Program, stmt: AssertComplete, axis: str, extent: int, *, blocks: Blocks, point: int | None
) -> str:
    """Shown if coordinates that should all be reduced once weigh differently, or one of them weighs twice as much."""
    probes = list(dict.fromkeys(p for p in (point, 0, extent - 1, extent // 2) if p is not None and 0 <= p < extent))
    weights = [_weights(program, stmt, axis, p, blocks) for p in probes[:MOST_PROBES]]
    for p, mine in zip(probes, weights, strict=False):
        for time, (weight, most) in mine.items():
            other, _ = weights[0].get(time, (weight, 0.0))
            if abs(weight - other) > 1e-9 * max(abs(weight), abs(other)):
                return f"{axis} = {p} weighs {weight:g} in {stmt.x.name}, and {axis} = {probes[0]} weighs {other:g}"
            if most == 0.0 and extent > 1:
                return f"{axis} = {p} adds nothing to {stmt.x.name}"
            if most == 2.0:
                return f"{axis} = {p} alone makes {stmt.x.name} twice what it makes of itself"
    return ""


def _weights(
    program: Program, stmt: AssertComplete, axis: str, at: int, blocks: Blocks
) -> dict[Time, tuple[float, float]]:
    """What one coordinate adds to all registers together, and the most that it adds to one, at each execution."""
    found = dict[Time, tuple[float, float]]()

    def watch(w: Wave, here: Stmt) -> None:
        if here is not stmt:
            return
        value: Frag = read(w, stmt.x)
        if value.poison is None or not value.poison.all():
            total, most = found.get(_now(w), (0.0, 0.0))
            found[_now(w)] = total + float(np.nansum(value.data)), max(most, float(np.nanmax(np.abs(value.data))))

    _execute(program, _ones(program, axis, at), watch, blocks)
    return found


# ------------------------------------------------------------------------------------------- executing


def _ones(program: Program, axis: str, at: int) -> dict[str, Floats | float]:
    """Inputs of ones, zero along an axis everywhere but at one coordinate."""
    made = dict[str, "Floats | float"]()
    for name, shape in program.shapes.items():
        if name in program.written:
            continue
        data = np.ones(shape)
        for dimension, along in enumerate(program.tensors[name].axes):
            if along == axis and axis:
                keep = np.arange(shape[dimension]) == at
                data = data * keep.reshape([-1 if i == dimension else 1 for i in range(len(shape))])
        made[name] = data
    return made | dict.fromkeys(program.scalars, 1)


def _execute(
    program: Program, inputs: dict[str, Floats | float], watch: Callable[[Wave, Stmt], None], blocks: Blocks
) -> None:
    program.watch = watch
    try:
        execute(program, inputs, Policy(), blocks=blocks)
    finally:
        program.watch = None
