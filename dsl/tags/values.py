"""Transfer rules of fragments: loads from global memory, register-to-register operations, claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.layout.affine import Affine
from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import (
    Acc,
    Comp,
    Coords,
    Fragment,
    Ints,
    Lowest,
    Same,
    Stat,
    Tile,
    Top,
    Value,
    Window,
    closed,
    recoded,
    unbound,
)
from argus.dsl.tags.views import PICKS, GlobalView


def global_codes(cx: Context, view: GlobalView, shape: tuple[int, ...], span: Span) -> Ints:
    """Codes of the elements that a load of this view gives."""
    tensor = view.tensor
    comps = list[Comp]()
    picked, origins = list[Window](), {tensor.name}
    for edge_number, edge in enumerate(view.edges):
        strides = tuple(int(i == edge_number) for i in range(len(shape)))
        if edge.pick is not None:
            rows = cx.store.tables[cx.store.grid(shape, strides)]
            comps += edge.pick.comps(edge, rows, cx.store)
            origins.add(f"{edge.pick.tensor}{PICKS}{tensor.axes[edge.axis]}")
            picked += edge.pick.windows(edge)
            continue
        comps.append(Comp(tensor.axes[edge.axis], edge.base, cx.store.grid(shape, strides)))
    for axis, at in view.fixed:
        comps.append(Comp(tensor.axes[axis], at, cx.store.grid(shape, (0,) * len(shape))))
    named = tuple(sorted((c for c in comps if c.axis), key=lambda c: c.axis))
    windows = (*(w for w in view.axis_windows() if w.axis), *picked)
    integers = tensor.name if tensor.dtype == "i32" and all(tensor.axes) else ""
    value = Value(frozenset(origins), named, windows, view.pad, integers=integers, span=span)
    if tensor.name in cx.written_tensors:
        value = replace(value, top=f"line {span.line} reads {tensor.name}, which this kernel writes")
    return cx.store.codes(value, shape)


def accumulator_codes(cx: Context, acc: Acc, shape: tuple[int, ...]) -> Ints:
    """An accumulator's elements as one value.

    An axis that rows and columns both carry says nothing of an element, and is left out.
    """
    comps = dict[str, Comp]()
    windows = list[Window]()
    for side, axis in ((acc.rows, 0), (acc.cols, 1)):
        if side is None:
            continue
        windows += [w for w in side.windows if w not in windows]
        for comp in side.comps:
            table = cx.store.tables[comp.table]
            spread = np.broadcast_to(table[:, None] if axis == 0 else table[None, :], shape)
            comps[comp.axis] = Comp(comp.axis, comp.base, cx.store.table(spread))
    sides = [{c.axis for c in s.comps} for s in (acc.rows, acc.cols) if s is not None]
    both = set[str]() if len(sides) < 2 else sides[0] & sides[1]
    ordered = tuple(comps[axis] for axis in sorted(comps) if axis not in both)
    value = Value(
        acc.origins, ordered, tuple(windows), acc.pad, acc.reduced, acc.folds, scale=acc.scale, wild=acc.wild,
        clashes=acc.clashes, span=acc.span,
    )  # fmt: skip
    if acc.changed:
        value = closed(value)
    for axis in sorted(both):
        value = unbound(value, axis)
    return cx.store.codes(value, shape)


def as_tile(cx: Context, frag: Fragment) -> Tile | Top:
    """A fragment as codes, whatever it was."""
    match frag:
        case Acc():
            return Tile(accumulator_codes(cx, frag, frag.type.shape), frag.type, frag.mark)
        case Stat():
            return Tile(cx.store.codes(frag.whole, frag.type.shape), frag.type, frag.mark, frag.lost)
        case Same():
            return Top(frag.type, "a uniform value carries no tags")
        case Coords() | Lowest():
            return Top(frag.type, "a condition or a coordinate is no data with tags")
        case _:
            return frag


def claimed(cx: Context, frag: Fragment, components: dict[str, Affine]) -> Fragment:
    """`tag(x, axis=...)`: components set as the author claims."""
    tile = as_tile(cx, frag)
    if isinstance(tile, Top):
        return tile

    def claim(value: Value) -> Value:
        size = len(cx.store.tables[value.comps[0].table]) if value.comps else tile.codes.size
        zero = cx.store.table(np.zeros(size, np.int64))
        comps = {c.axis: c for c in value.comps} | {a: Comp(a, base, zero) for a, base in components.items()}
        return replace(value, comps=tuple(comps[a] for a in sorted(comps)), claimed=True, integers="")

    return replace(tile, codes=recoded(cx.store, tile.codes, claim))
