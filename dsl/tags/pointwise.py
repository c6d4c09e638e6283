"""Transfer rules of pointwise statements: which kind of fragment comes out, and of which values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.ir.nodes import BinaryOp, UnaryOp
from argus.dsl.ir.types import FragType
from argus.dsl.layout import WithoutAxis
from argus.dsl.tags import pads
from argus.dsl.tags.combine import Combine, is_ratio, only_value, values_in
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import (
    NO_MARK,
    Acc,
    Comp,
    Coords,
    Factor,
    Fragment,
    Ints,
    Lowest,
    Mark,
    Same,
    Stat,
    Term,
    Tile,
    Top,
    Value,
    closed,
    recoded,
)
from argus.dsl.tags.lanes import Region, axes_in, regions, spread
from argus.dsl.tags.marks import mark_of, times
from argus.dsl.tags.state import State
from argus.dsl.tags.values import as_tile

_UNIT: dict[BinaryOp, float] = {"+": 0.0, "-": 0.0, "*": 1.0, "/": 1.0, "max": -np.inf, "min": np.inf}
_SYMMETRIC: frozenset[BinaryOp] = frozenset({"+", "*", "max", "min"})


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One statement whose result has the type `made`."""

    cx: Context
    state: State
    site: Site
    made: FragType

    @property
    def values(self) -> Combine:
        return Combine(self.cx, self.state, self.site.span)

    def moved(self, frag: Fragment) -> Fragment:
        """`x.to(dtype)`: the same elements."""
        return replace(frag, type=self.made)

    # ------------------------------------------------------------------------------------------- unary

    def unary(self, op: UnaryOp, frag: Fragment) -> Fragment:
        if isinstance(frag, Same):
            return Same(self.made, pads.unary(op, frag.value))
        if op == "neg" and isinstance(frag, Acc):
            changed = frag.changed or not frag.empty
            return replace(frag, type=self.made, pad=pads.unary(op, frag.pad), mark=NO_MARK, changed=changed)
        x = self.plain(frag)
        if isinstance(x, Same | Top):
            return Same(self.made) if isinstance(x, Same) else replace(x, type=self.made)
        tile = self.tile(x)
        return Tile(self._recoded(tile, lambda v: self.values.unary(op, v)), self.made, lost=tile.lost)

    def _recoded(self, tile: Tile, change: Callable[[Value], Value]) -> Ints:
        return recoded(self.cx.store, tile.codes, change)

    # ------------------------------------------------------------------------------------------ binary

    def binary(self, op: BinaryOp, x: Fragment, y: Fragment) -> Fragment:
        if isinstance(x, Same) and isinstance(y, Same):
            return Same(self.made, pads.binary(op, x.value, y.value))
        for frag, other, left in ((x, y, True), (y, x, False)):
            if isinstance(other, Same) and (found := self._of_kind(op, frag, other, left=left)) is not None:
                return found
        if (found := self._accumulators(op, x, y)) is not None:
            return found
        x, y = self.plain(x), self.plain(y)
        for side in (x, y):
            if isinstance(side, Top):
                return replace(side, type=self.made)
        if isinstance(x, Same) or isinstance(y, Same):
            return self.binary(op, x, y) if isinstance(x, Same) and isinstance(y, Same) else self._number(op, x, y)
        return self._both(op, x, y)

    def _of_kind(self, op: BinaryOp, frag: Fragment, other: Same, *, left: bool) -> Fragment | None:
        """What stays the fragment it is when it meets a number: nothing happens to it, or a sum is scaled."""
        idle = other.value == _UNIT.get(op) and (left or op in _SYMMETRIC)
        if idle and isinstance(frag, Tile | Acc | Stat) and frag.type.shape == self.made.shape:
            mark = frag.mark if op in ("max", "min") else NO_MARK
            return replace(frag, type=self.made, mark=replace(mark, ident=None))
        scaling = op == "*" or (op == "/" and left)
        if isinstance(frag, Acc) and scaling:
            pad = pads.binary(op, frag.pad, pads.Data() if other.value is None else other.value)
            return replace(frag, type=self.made, pad=pad, mark=NO_MARK, changed=frag.changed or not frag.empty)
        return None

    def _number(self, op: BinaryOp, x: Fragment, y: Fragment) -> Fragment:
        left = not isinstance(x, Same)
        frag, other = (x, y) if left else (y, x)
        assert isinstance(other, Same)
        tile = self.tile(frag)
        data = pads.Data(all(pads.finite(v) for v in values_in(self.cx, tile)))
        certain = pads.binary(op, data, other.value) if left else pads.binary(op, other.value, data)
        if certain is not None:
            return Same(self.made, certain)
        wide = spread(tile.codes, tile.type, self.made)
        if wide is None:
            return Top(self.made, f"the operands of line {self.site.span.line} lie in lanes that do not match")
        codes = recoded(self.cx.store, wide, lambda v: self.values.numbered(op, v, other.value, left=left))
        return Tile(codes, self.made, lost=self._lost([tile]))

    # ------------------------------------------------------------------------------------ accumulators

    def _accumulators(self, op: BinaryOp, x: Fragment, y: Fragment) -> Fragment | None:
        """An accumulator that is still one afterwards; None where the general rule must see to it."""
        if op == "+" and isinstance(x, Acc) and isinstance(y, Acc):
            return self._added(x, y)
        pairs = ((x, y), (y, x)) if op == "*" else ((x, y),) if op == "/" else ()
        for acc, factor in pairs:
            if isinstance(acc, Acc) and isinstance(factor, Tile | Stat):
                return self._rescaled(op, acc, factor)
        return None

    def _added(self, x: Acc, y: Acc) -> Fragment | None:
        sides = ((x.rows, y.rows), (x.cols, y.cols))
        if any(a is not None and b is not None and a != b for a, b in sides) or x.scale != y.scale:
            return None
        if x.changed or y.changed:
            return None
        return replace(
            x, type=self.made, rows=x.rows or y.rows, cols=x.cols or y.cols, origins=x.origins | y.origins,
            folds=x.folds | y.folds, clashes=x.clashes | y.clashes, wild=x.wild or y.wild,
            pad=0.0 if x.pad == 0.0 and y.pad == 0.0 else None, done=x.reduced + y.reduced, open=(), mark=NO_MARK,
        )  # fmt: skip

    def _rescaled(self, op: BinaryOp, acc: Acc, factor: Tile | Stat) -> Fragment | None:
        """An accumulator times something that all members of its sums share."""
        value, at = only_value(self.cx, factor), axes_in(factor.type, self.made)
        if value is None or value.top or value.shift or value.masks or at is None or len(at) > 1:
            return None
        if acc.empty:
            return replace(acc, type=self.made, mark=NO_MARK)
        clashes = self._clashes(acc, value, at)
        known = {w for side in (acc.rows, acc.cols) if side is not None for w in side.windows}
        if clashes is None or not set(value.windows) <= known:
            return None
        changed = acc.changed or not is_ratio(value)
        value = closed(value)
        return replace(
            acc, type=self.made, origins=acc.origins | value.origins, folds=acc.folds | value.folds, pad=None,
            scale=times(acc.scale, value.scale, power=1.0 if op == "*" else -1.0), mark=NO_MARK, changed=changed,
            clashes=acc.clashes | value.clashes | clashes, wild=acc.wild or not pads.finite(value),
        )  # fmt: skip

    def _clashes(self, acc: Acc, value: Value, at: tuple[int, ...]) -> frozenset[int] | None:
        """Where a factor's coordinates are not the accumulator's; None if it has one that the accumulator lacks."""
        found = frozenset[int]()
        sides, at_edge = (acc.rows, acc.cols), False
        for comp in value.comps:
            local = self.cx.store.tables[comp.table]
            mine: Comp | None = None
            for number, side in enumerate(sides):
                held = None if side is None else next((c for c in side.comps if c.axis == comp.axis), None)
                if held is None:
                    continue
                steady = _constant(local) and _constant(self.cx.store.tables[held.table])
                if number in at or steady:
                    mine, at_edge = held, number in at
            if mine is None:
                return None
            theirs = self.cx.store.tables[mine.table]
            if not at_edge:
                theirs, local = theirs[:1], local[:1]
            columns = self.values.column(mine, theirs), self.values.column(comp, local)
            found |= self.values.compared(comp.axis, *columns, None, value.span)
        return found

    # -------------------------------------------------------------------------------------- two operands

    def _both(self, op: BinaryOp, x: Fragment, y: Fragment) -> Fragment:
        found = self._relative(x, y) if op == "-" else None
        if op == "+":
            found = self._undone(x, y) or self._undone(y, x)
        if found is not None:
            return found
        tiles = [self.tile(f) for f in (x, y)]
        parts = regions(self.cx, tiles, self.made)
        if parts is None:
            return Top(self.made, f"the operands of line {self.site.span.line} lie in lanes that do not match")
        made = [(r, self.values.binary(op, r)) for r in parts]
        mark = self._maximum(x, y) if op == "max" else NO_MARK
        lost = self._lost(tiles)
        if len(made) == 1 and made[0][1].reduced:
            return self._stat(x, y, made[0][1], mark, lost)
        return Tile(self._codes(made), self.made, mark, lost)

    def _codes(self, made: list[tuple[Region, Value]]) -> Ints:
        out = np.zeros(self.made.shape, np.int64)
        for region, value in made:
            codes = self.cx.store.codes(value, self.made.shape)
            out = codes if region.where is None else np.where(region.where, codes, out)
        return out

    def _lost(self, tiles: list[Tile]) -> tuple[int, ...]:
        if not isinstance(self.made.map, WithoutAxis):
            return ()
        return next((t.lost for t in tiles if t.type.shape == self.made.shape), ())

    def _stat(self, x: Fragment, y: Fragment, value: Value, mark: Mark, lost: tuple[int, ...]) -> Stat:
        done = tuple(t for f in (x, y) if isinstance(f, Stat) for t in f.done)
        rest = tuple(t for f in (x, y) for t in (f.open if isinstance(f, Stat) else self._reduced(f)))
        assert len(done) + len(rest) == len(value.reduced)
        return Stat(self.made, replace(value, reduced=()), done, rest, mark, lost)

    def _reduced(self, frag: Fragment) -> tuple[Term, ...]:
        value = only_value(self.cx, self.tile(frag))
        assert value is not None
        return value.reduced

    def _maximum(self, x: Fragment, y: Fragment) -> Mark:
        marks = [mark_of(f) for f in (x, y)]
        own = {m.ident for m in marks if m.ident is not None and m.floor_of is None}
        return Mark(above=frozenset(own).union(*(m.above for m in marks)))

    # -------------------------------------------------------------------------------------------- maxima

    def _relative(self, x: Fragment, y: Fragment) -> Fragment | None:
        """`x - m` for a maximum m: x beside what it is relative to, as long as m may still cancel.

        Where m was of nothing and something finite stands for it, x must be -inf as well: then m bounds x.
        """
        mark, mine, value = mark_of(y), mark_of(x).ident, only_value(self.cx, y)
        if mark.subject is None or not mark.above or value is None or value.top or value.shift or value.scale:
            return None
        bounded = mine is not None and mine in mark.above
        if mark.floor_of is not None and not bounded:
            return None
        tiles = [self.tile(x), self.tile(y)]
        parts = regions(self.cx, tiles, self.made)
        if parts is None:
            return None
        axes = frozenset(c.axis for t in tiles for v in values_in(self.cx, t) for c in v.comps)
        axes = axes if (same := _alike(x, y)) else _axes(value)
        factors = (Factor(mark.subject, "", -1.0, axes),)
        if running := bounded and same:
            # The maximum so far and the next one: all that their difference rescales is relative to the first.
            assert mine is not None
            factors = times((replace(factors[0], ident=mine, power=1.0),), factors)
        made = [(r, self._subtracted(r, factors, running=running)) for r in parts]
        self.cx.factors |= {f.ident.site for f in factors}
        return Tile(self._codes(made), self.made, lost=self._lost(tiles))

    def _subtracted(self, region: Region, factors: tuple[Factor, ...], *, running: bool) -> Value:
        x, y = region.values
        merged = self.values.merged(region)
        value = closed(self.values.materialised(x) if x.scale else x)
        made = replace(
            value, comps=merged.comps, windows=merged.windows, scale=(), low=x.low,
            wild=x.wild or not pads.finite(y), integers="", shift=times(value.shift, factors), clashes=merged.clashes,
            top=merged.top, span=self.site.span,
        )  # fmt: skip
        made = pads.joined("-", x, y).of(made)
        return replace(made, origins=frozenset(), folds=frozenset()) if running else made

    def _undone(self, x: Fragment, y: Fragment) -> Fragment | None:
        """`m + z` where z is relative to m."""
        ident = mark_of(x).ident
        if ident is None or not isinstance(y, Tile) or not isinstance(x, Tile | Stat):
            return None
        if not any(f.ident == ident for v in values_in(self.cx, y) for f in v.shift):
            return None
        tiles = [y, self.tile(x)]
        parts = regions(self.cx, tiles, self.made)
        if parts is None:
            return None
        made = list[tuple[Region, Value]]()
        for r in parts:
            z, m = r.values
            merged = self.values.merged(r)
            value = replace(
                closed(z), comps=merged.comps, windows=merged.windows, clashes=merged.clashes,
                low=z.low or m.low, shift=times(z.shift, (Factor(ident, "", 1.0, frozenset()),)), span=self.site.span,
            )  # fmt: skip
            made.append((r, pads.joined("+", z, m).of(value)))
        return Tile(self._codes(made), self.made, lost=self._lost(tiles))

    # -------------------------------------------------------------------------------------------- kinds

    def plain(self, frag: Fragment) -> Fragment:
        """Data: coordinates and comparisons as values that come from no tensor, empty sums as zeros."""
        match frag:
            case Coords(type=kind, comps=comps):
                value = Value(frozenset(), comps, span=self.site.span)
                return Tile(self.cx.store.codes(value, kind.shape), kind)
            case Lowest(of=of, type=kind):
                tile = self.tile(of)
                codes = self._recoded(tile, lambda v: closed(self.values.materialised(v)))
                return Tile(codes, kind, lost=tile.lost)
            case Acc() if frag.empty:
                return Same(frag.type, 0.0)
            case _:
                return frag

    def tile(self, frag: Fragment) -> Tile:
        tile = as_tile(self.cx, frag)
        assert isinstance(tile, Tile)
        return tile


def _alike(x: Fragment, y: Fragment) -> bool:
    return isinstance(x, Tile | Stat) and y.type is not None and x.type.shape == y.type.shape


def _axes(value: Value) -> frozenset[str]:
    return frozenset(c.axis for c in value.comps)


def _constant(local: Ints) -> bool:
    return bool((local == local.flat[0]).all())
