"""Transfer rules of fragments: loads from global memory, register-to-register operations, claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.ir.types import FragType
from argus.dsl.layout.affine import Affine
from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import (
    ELEMENT_BITS,
    ELEMENT_MASK,
    Acc,
    Comp,
    Fragment,
    Ints,
    Same,
    Tile,
    Top,
    Value,
    Window,
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
    value = Value(acc.origins, ordered, tuple(windows), acc.pad, acc.reduced, acc.changed, span=acc.span)
    return cx.store.codes(value, shape)


def as_tile(cx: Context, frag: Fragment) -> Tile | Top:
    """A fragment as codes, whatever it was."""
    if isinstance(frag, Acc):
        return Tile(accumulator_codes(cx, frag, frag.type.shape), frag.type)
    if isinstance(frag, Same):
        return Top(frag.type, "a uniform value carries no tags")
    return frag


def pointwise(
    cx: Context,
    made: FragType,
    parts: tuple[Fragment, ...],
    *,
    sums: bool = False,
    keeps_zero: bool = False,
    moves: bool = False,
) -> Fragment:
    """An elementwise operation: equal tags stay, origins unite.

    Args:
        cx: The analysis.
        made: Type of the result.
        parts: The operands.
        sums: The operation adds, so reduced coordinates unite.
        keeps_zero: Padding that is zero stays zero; otherwise nobody knows what padding holds afterwards.
        moves: Values stay what they are, up to rounding.
    """
    for part in parts:
        if isinstance(part, Top):
            return Top(made, part.reason)
    tagged = [p for p in parts if not isinstance(p, Same)]
    if not tagged:
        return Same(made)
    if len(tagged) == 1:
        return _one_operand(cx, made, tagged[0], keeps_zero=keeps_zero or moves, changes=not moves)
    accs = [p for p in tagged if isinstance(p, Acc)]
    if len(accs) == len(tagged):
        return _combine_accs(made, accs, sums=sums)
    return _combine_tiles(cx, made, tagged, sums=sums)


def _one_operand(cx: Context, made: FragType, frag: Fragment, *, keeps_zero: bool, changes: bool) -> Fragment:
    if isinstance(frag, Acc):
        changed = frag.changed or (changes and bool(frag.reduced))
        return replace(frag, type=made, pad=frag.pad if keeps_zero else None, changed=changed)
    assert isinstance(frag, Tile)
    if not changes:
        return replace(frag, type=made)

    def change(value: Value) -> Value:
        pad, changed = value.pad if keeps_zero else None, value.changed or bool(value.reduced)
        return replace(value, pad=pad, changed=changed, integers="")

    return Tile(_changed(cx, frag.codes, change), made)


def _changed(cx: Context, codes: Ints, change: Callable[[Value], Value]) -> Ints:
    """Codes of the same elements of changed values."""
    out = codes.copy()
    for number in np.unique(codes >> ELEMENT_BITS):
        mask = codes >> ELEMENT_BITS == number
        fresh = cx.store.value(change(cx.store.values[int(number)]))
        out[mask] = (fresh << ELEMENT_BITS) | (codes[mask] & ELEMENT_MASK)
    return out


def select(cx: Context, made: FragType, parts: tuple[Fragment, ...]) -> Fragment:
    """`select(condition, x, y)`: each element comes from one of two, so both must have the same tags."""
    if any(isinstance(p, Same) for p in parts[1:]) and not all(isinstance(p, Same) for p in parts[1:]):
        return Top(made, "select(...) between data and a uniform value: some data may be dropped")
    return pointwise(cx, made, parts)


def _combine_accs(made: FragType, accs: list[Acc], *, sums: bool) -> Fragment:
    first = accs[0]
    for other in accs[1:]:
        sides = ((first.rows, other.rows), (first.cols, other.cols))
        if any(x is not None and y is not None and x != y for x, y in sides):
            return Top(made, "a pointwise operation on accumulators of different coordinates")
        if not sums and other.reduced != first.reduced:
            return Top(made, "a pointwise operation on accumulators of different sums")
        if sums and (first.changed or other.changed):
            return Top(made, "an addition to sums that were changed before")
        first = replace(
            first, rows=first.rows or other.rows, cols=first.cols or other.cols, origins=first.origins | other.origins,
            done=first.reduced + other.reduced if sums else first.reduced, open=(),
        )  # fmt: skip
    pad = 0.0 if sums and all(a.pad == 0.0 for a in accs) else None
    return replace(first, type=made, pad=pad, changed=first.changed or not sums)


def _combine_tiles(cx: Context, made: FragType, parts: Sequence[Fragment], *, sums: bool) -> Fragment:
    tiles = [as_tile(cx, p) for p in parts]
    values = list[Value]()
    for tile in tiles:
        if isinstance(tile, Top):
            return tile
        numbers = np.unique(tile.codes >> ELEMENT_BITS)
        if len(numbers) != 1 or tile.codes.shape != made.shape:
            return Top(made, "a pointwise operation on fragments that mix tiles or are broadcast")
        values.append(cx.store.values[int(numbers[0])])
    comps = dict[str, tuple[Affine, Ints]]()
    for tile, value in zip(tiles, values, strict=True):
        assert isinstance(tile, Tile)
        for comp in value.comps:
            mine = (comp.base, cx.store.tables[comp.table][tile.codes & ELEMENT_MASK])
            held = comps.setdefault(comp.axis, mine)
            if held[0] != mine[0] or not np.array_equal(held[1], mine[1]):
                return Top(made, f"a pointwise operation on elements whose {comp.axis} tags differ")
    reduced = tuple(t for v in values for t in v.reduced)
    if not sums and len({v.reduced for v in values if v.reduced}) > 1:
        return Top(made, "a pointwise operation on different sums")
    if sums and any(v.changed for v in values):
        return Top(made, "an addition to sums that were changed before")
    merged = Value(
        frozenset[str]().union(*(v.origins for v in values)),
        tuple(Comp(axis, base, cx.store.table(local)) for axis, (base, local) in sorted(comps.items())),
        tuple({w: None for v in values for w in v.windows}),
        None if any(v.windows for v in values) else 0.0,
        reduced if sums else next((v.reduced for v in values if v.reduced), ()),
        not sums and bool(reduced),
        top=next((v.top for v in values if v.top), ""),
        claimed=any(v.claimed for v in values),
        span=values[0].span,
    )
    return Tile(cx.store.codes(merged, made.shape), made)


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

    return Tile(_changed(cx, tile.codes, claim), tile.type)
