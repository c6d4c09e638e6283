"""Values of pointwise operations: equal coordinates stay, origins unite, reductions stay apart.

A sum may be rescaled from one running maximum to the next and go on; any other operation finishes it. A value made of
several reductions needs each of them to be what the contract asks for. Elements of different coordinates that meet are
remembered as a clash: nothing that they reach is proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.ir.nodes import BinaryOp, UnaryOp
from argus.dsl.layout.affine import TRUE, Formula
from argus.dsl.tags import pads
from argus.dsl.tags.columns import Column, differences
from argus.dsl.tags.context import Context
from argus.dsl.tags.domain import (
    ELEMENT_BITS,
    Clash,
    Comp,
    Factor,
    Fold,
    Fragment,
    Stat,
    Term,
    Tile,
    Value,
    closed,
)
from argus.dsl.tags.lanes import Region
from argus.dsl.tags.marks import mark_of, times, with_base
from argus.dsl.tags.state import State

_LOG2 = {"e": math.log2(math.e), "2": 1.0}
_BASES: dict[UnaryOp, str] = {"exp": "e", "exp2": "2"}
_BOUNDED: frozenset[UnaryOp] = frozenset({"exp", "exp2", "sigmoid", "relu"})  # finite at -inf


def is_sum(terms: Sequence[Term]) -> bool:
    return bool(terms) and all(t.op == "sum" for t in terms)


def is_ratio(value: Value) -> bool:
    """Whether a value is but the quotient of exponentials of maxima."""
    return bool(value.scale) and not (value.origins or value.folds or value.reduced or value.shift or value.masks)


def apart(x: Value, y: Value) -> str:
    """Why two sums may not be added: one was changed, or not rescaled; empty if they may."""
    if x.shift or y.shift:
        return ""
    if x.scale != y.scale:
        return "sums relative to different maxima are added: the running one was not rescaled"
    return "a sum was changed before, and what is added now is not changed alike" if x.changed or y.changed else ""


def values_in(cx: Context, tile: Tile) -> list[Value]:
    return [cx.store.values[int(n)] for n in np.unique(tile.codes >> ELEMENT_BITS) if n >= 0]


def only_value(cx: Context, frag: Fragment | None) -> Value | None:
    """The value of a fragment that has but one."""
    if isinstance(frag, Stat):
        return frag.whole
    values = values_in(cx, frag) if isinstance(frag, Tile) else []
    return values[0] if len(values) == 1 else None


@dataclass(frozen=True, slots=True)
class Combine:
    """The rules at one statement."""

    cx: Context
    state: State
    span: Span

    # ---------------------------------------------------------------------------------------- one value

    def unary(self, op: UnaryOp, value: Value) -> Value:
        scale, shift = value.scale, value.shift
        if op in _BASES and not scale:
            scale, shift = with_base(shift, _BASES[op]), ()
        elif op == "log2" and not shift:
            scale, shift = (), times((), tuple(replace(f, base="", power=f.power * _LOG2[f.base]) for f in scale))
        else:
            value, scale, shift = self.materialised(value), (), ()
        wild = value.wild or (value.low and op not in _BOUNDED)
        made = self.mapped(op, closed(value))
        return replace(made, scale=scale, shift=shift, low=False, wild=wild, integers="", span=self.span)

    def mapped(self, op: UnaryOp, value: Value) -> Value:
        """The value with the padding of a unary operation, all else as it was."""
        return pads.mapped(value, lambda p: pads.unary(op, p)).of(value)

    def numbered(self, op: BinaryOp, value: Value, number: float | None, *, left: bool) -> Value:
        """`value op number`, or `number op value` where the value is not on the left."""
        keep = is_sum(value.reduced) and (op == "*" or (op == "/" and left))
        value = replace(value, changed=True) if keep else closed(value)
        padded = pads.with_number(op, value, number, left=left)
        scale, shift = value.scale, value.shift
        scaling = op == "*" or (op == "/" and left)
        if shift and op == "*" and number is not None:
            shift = tuple(replace(f, power=f.power * number) for f in shift)
        elif shift and not (op == "+" or (op == "-" and left)):
            value, scale, shift = self.materialised(value), (), ()
        elif scale and not scaling:
            value, scale = self.materialised(value), ()
        low, wild = value.low, value.wild
        if op in ("max", "min"):
            low = low and not (op == "max" and number is not None and np.isfinite(number))
        elif op not in ("+", "-") or not left:
            low, wild = False, wild or low
        made = replace(value, scale=scale, shift=shift, low=low, wild=wild, integers="", span=self.span)
        return padded.of(made)

    # --------------------------------------------------------------------------------------- two values

    def binary(self, op: BinaryOp, region: Region) -> Value:
        """`x op y` of one region; sums (and extremes) of the same kind go on as one."""
        x, y = region.values
        grows = self._grow(op, x, y)
        scales = is_sum(x.reduced) != is_sum(y.reduced) and (op == "*" or (op == "/" and is_sum(x.reduced)))
        changed = scales and (x.changed or y.changed or not (is_ratio(x) or is_ratio(y)))
        if grows and op == "+" and (wrong := apart(x, y)):
            return self._added_apart(region, wrong)
        x, y, scale, shift = self._relations(op, x, y, grows=grows)
        if scales:
            x, y = (x, closed(y)) if is_sum(x.reduced) else (closed(x), y)
        elif not grows:
            x, y = closed(x), closed(y)
        region = replace(region, values=(x, y))
        low, wild = _extent(op, x, y)
        made = replace(
            self.merged(region),
            reduced=(*x.reduced, *y.reduced),
            low=low,
            wild=wild,
            scale=scale,
            shift=shift,
            changed=changed,
        )
        return pads.joined(op, x, y).of(made)

    def _grow(self, op: BinaryOp, x: Value, y: Value) -> bool:
        if op == "+":
            return is_sum(x.reduced) and is_sum(y.reduced)
        both = bool(x.reduced) and bool(y.reduced)
        return op in ("max", "min") and both and all(t.op == op for t in (*x.reduced, *y.reduced))

    def _relations(
        self, op: BinaryOp, x: Value, y: Value, *, grows: bool
    ) -> tuple[Value, Value, tuple[Factor, ...], tuple[Factor, ...]]:
        """Operands, and what the result is relative to; where that cannot be told, it becomes part of the operands."""
        relative, scaled = bool(x.shift or y.shift), bool(x.scale or y.scale)
        if op in ("+", "-") and relative and not scaled:
            return x, y, (), times(x.shift, y.shift, power=1.0 if op == "+" else -1.0)
        if op in ("*", "/") and not relative:
            return x, y, times(x.scale, y.scale, power=1.0 if op == "*" else -1.0), ()
        if grows and not relative and x.scale == y.scale and op == "+":
            return x, y, x.scale, ()
        return self.materialised(x), self.materialised(y), (), ()

    def _added_apart(self, region: Region, text: str) -> Value:
        """Sums are added that do not go together: one was changed, or not rescaled, and will be missed."""
        x, y = region.values
        clash = Clash(text, self.span, "", TRUE, self.state.hypotheses(), producer=x.span)
        known = {self.cx.store.clash(clash)}
        first, second = (
            replace(v, scale=y.scale, changed=False, clashes=v.clashes | known, folds=y.folds if v.changed else v.folds)
            for v in (x, y)
        )
        return self.binary("+", replace(region, values=(first, second)))

    def merged(self, region: Region) -> Value:
        """Coordinates, origins and windows of all operands; where they differ along an axis, a clash."""
        cx = self.cx
        held, clashes = dict[str, tuple[Comp, Column]](), set[int]()
        for number, value in enumerate(region.values):
            clashes |= value.clashes
            for comp in value.comps:
                local = region.table(cx, number, comp)
                mine = self.column(comp, local)
                if comp.axis in held:
                    clashes |= self.compared(comp.axis, held[comp.axis][1], mine, region.where, value.span)
                else:
                    held[comp.axis] = (Comp(comp.axis, comp.base, cx.store.table(local)), mine)
        values = region.values
        return Value(
            frozenset[str]().union(*(v.origins for v in values)),
            tuple(held[axis][0] for axis in sorted(held)),
            tuple({w: None for v in values for w in v.windows}),
            folds=frozenset[Fold]().union(*(v.folds for v in values)),
            clashes=frozenset(clashes),
            top=next((v.top for v in values if v.top), ""),
            claimed=any(v.claimed for v in values),
            span=self.span,
        )

    def column(self, comp: Comp, local: object) -> Column:
        base = self.state.reduce(comp.base)
        return Column((base.without_const(),), (comp.base - base.const,), None, np.asarray(local) + base.const)

    def compared(self, axis: str, want: Column, got: Column, where: object, second: Span | None) -> frozenset[int]:
        """Clashes between two columns that should be equal, among the elements `where` (None: all)."""
        found = set[int]()
        for d in differences(want, got):
            if where is None or (d.where & np.asarray(where)).any():
                texts = self.cx.shown(d.want, self.state), self.cx.shown(d.got, self.state)
                found |= self._clash(axis, d.bad, texts, second)
        return frozenset(found)

    def _clash(self, axis: str, bad: Formula, texts: tuple[str, str], second: Span | None) -> set[int]:
        facts, bad = self.state.hypotheses(), self.state.reduce_formula(bad)
        if not self.cx.oracle.consistent((*facts, bad)):
            return set()
        text = f"elements of {axis} = {texts[0]} and of {axis} = {texts[1]} are combined"
        return {self.cx.store.clash(Clash(text, self.span, axis, bad, facts, *texts, second))}

    # ---------------------------------------------------------------------------------------- maxima

    def materialised(self, value: Value) -> Value:
        """The value with what it was relative to among its own parts."""
        for f in (*value.scale, *value.shift):
            held = next((g for g in self.state.frags.values() if mark_of(g).ident == f.ident), None)
            source = only_value(self.cx, held)
            if source is None:
                return replace(value, scale=(), shift=(), top="it is relative to a maximum that is gone")
            whole = closed(source)
            value = replace(
                value, origins=value.origins | whole.origins, folds=value.folds | whole.folds,
                clashes=value.clashes | whole.clashes, top=value.top or whole.top,
            )  # fmt: skip
        return replace(value, scale=(), shift=()) if value.scale or value.shift else value


def _extent(op: BinaryOp, x: Value, y: Value) -> tuple[bool, bool]:
    """Whether the result may be -inf, and whether it may be anything."""
    wild = x.wild or y.wild
    match op:
        case "max":
            return x.low and y.low, wild
        case "min" | "+":
            return x.low or y.low, wild
        case "-":
            return x.low, wild or y.low
        case _:
            return False, wild or x.low or y.low
