"""Matrix instructions: operands must agree on k, and accumulators must keep their coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.diagnostics import FixClass, Span
from argus.dsl.ir import MmaInto, Ref
from argus.dsl.layout import Accumulator, OperandMap, Side
from argus.dsl.layout.affine import TRUE, Affine, Formula, conjunction, ge, negation
from argus.dsl.tags import domain
from argus.dsl.tags.columns import Column, Difference, column, differences, values_of
from argus.dsl.tags.combine import Combine
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import (
    ELEMENT_BITS,
    ELEMENT_MASK,
    Acc,
    Clash,
    Comp,
    Factor,
    Stat,
    Term,
    Tile,
    Top,
    Value,
    closed,
    unbound,
)
from argus.dsl.tags.marks import times
from argus.dsl.tags.obligations import Finding, Obligation
from argus.dsl.tags.pads import finite, pad_along
from argus.dsl.tags.slips import Fix, slip
from argus.dsl.tags.state import State
from argus.dsl.targets.atoms import ATOMS


def mma_into(cx: Context, state: State, site: Site, stmt: MmaInto) -> None:
    """`acc += mma(a, b)`."""
    rule = _Mma(cx, state, site.span, cx.registry.get("conformity", site.number))
    acc = state.frags[stmt.acc]
    a, b = (state.frags.get(x.name) if isinstance(x, Ref) else None for x in (stmt.a, stmt.b))
    reason = next((f.reason for f in (acc, a, b) if isinstance(f, Top)), "")
    if not reason and isinstance(acc, Tile | Stat):
        reason = f"line {site.span.line} adds to sums that were changed before"
    if not reason and not (isinstance(acc, Acc) and isinstance(a, Tile) and isinstance(b, Tile)):
        reason = f"the operands of line {site.span.line} are not what an MMA reads in this slice of the checker"
    if not reason:
        assert isinstance(acc, Acc)
        assert isinstance(a, Tile)
        assert isinstance(b, Tile)
        try:
            state.frags[stmt.acc] = rule.accumulate(acc, a, b)
        except _Failed:
            reason = f"depends on {rule.obligation.place}"
    if reason:
        rule.obligation.block(reason)
        state.frags[stmt.acc] = Top(acc.type, reason)


def k_depth(acc: Accumulator, pack: int) -> int:
    """K elements that one operand of `pack` merged steps spans."""
    return ATOMS[acc.atom].k * pack


class _Failed(Exception):
    """The obligation is violated or blocked: nothing more can be said of the accumulator."""


@dataclass(frozen=True, slots=True, eq=False)
class _Operand:
    name: Side
    tile: Tile
    values: tuple[Value, ...]
    k: Column


@dataclass(frozen=True, slots=True)
class _Mma:
    cx: Context
    state: State
    span: Span
    obligation: Obligation

    def accumulate(self, acc: Acc, a: Tile, b: Tile) -> Acc:
        """The accumulator afterwards.

        Raises:
            _Failed: If the obligation does not hold or cannot be decided.
        """
        self.obligation.raise_tier("table")
        self._check_registers(acc, a, b)
        axis = self._reduced_axis(a, b)
        left, right = self._operand("a", a, axis), self._operand("b", b, axis)
        self._check_k(left, right, axis)
        batch = self._batch_axes(left, right, axis)
        beside = self._beside(left, batch, axis)
        gone = {axis, *(name for name, _ in beside)}
        rows, cols = self._free(left, gone), self._free(right, {*gone, *batch})
        self._check_kept("row", acc.rows, rows, left)
        self._check_kept("column", acc.cols, cols, right)
        pair = self._check_pair(acc, left, right)
        acc = self._inherited(acc, left, right, axis)
        term = replace(_term(left, right, axis), span=self.span, beside=beside)
        return replace(
            acc, rows=acc.rows or rows, cols=acc.cols or cols,
            pair=pair, pad=acc.pad if _all_zero(left) and _all_zero(right) else None,
            open=_with_term(acc.open, term), span=self.span,
        )  # fmt: skip

    def _inherited(self, acc: Acc, a: _Operand, b: _Operand, axis: str) -> Acc:
        """What went into the operands goes into the sum."""
        rules = Combine(self.cx, self.state, self.span)
        values = list[Value]()
        scale = ()
        for x in (a, b):
            parts = [_related(rules, v, axis) for v in x.values]
            if any((p.scale, p.masks) != (parts[0].scale, parts[0].masks) for p in parts):
                self.obligation.block(f"operand {x.name!r} mixes elements that are masked or scaled differently")
                raise _Failed
            scale = times(scale, parts[0].scale)
            values += [unbound(replace(closed(p), masks=()), axis) for p in parts]
        if tops := [v.top for v in values if v.top]:
            self.obligation.block(tops[0])
            raise _Failed
        if not any(v.origins for v in values):
            self.obligation.block("the operands are made of no tensor")
            raise _Failed
        clashes = acc.clashes.union(*(v.clashes for v in values))
        clashes |= self._apart(acc, scale)
        return replace(
            acc, origins=acc.origins.union(*(v.origins for v in values)), scale=scale, clashes=clashes,
            folds=acc.folds.union(*(v.folds for v in values)), wild=acc.wild or any(v.low or v.wild for v in values),
        )  # fmt: skip

    def _apart(self, acc: Acc, scale: tuple[Factor, ...]) -> frozenset[int]:
        """What is added does not go together with the sums so far."""
        if acc.empty or (acc.scale == scale and not acc.changed):
            return frozenset()
        text = "the accumulator and what is added are relative to different maxima: it was not rescaled"
        if acc.changed:
            text = "the accumulator was changed before: what is added now is not changed alike"
        return frozenset((self.cx.store.clash(Clash(text, self.span, "", TRUE, self.state.hypotheses())),))

    # ------------------------------------------------------------------------------------- registers

    def _check_registers(self, acc: Acc, a: Tile, b: Tile) -> None:
        """Both operands must lie in the registers that this accumulator's instruction reads."""
        assert isinstance(acc.type.map, Accumulator)
        packs = {x.type.map.pack if isinstance(x.type.map, OperandMap) else 0 for x in (a, b)}
        sides: tuple[tuple[str, Side, Tile], ...] = (("first", "a", a), ("second", "b", b))
        for word, side, x in sides:
            found = x.type.map
            if isinstance(found, OperandMap) and found.side != side:
                text = f"the {word} operand of mma is made for side {found.side!r}, not {side!r}"
                self._fail(text, "operand transposed", x, f'operand("{side}", ...) as the {word} operand')
            if not isinstance(found, OperandMap) or found.acc != acc.type.map or len(packs) != 1:
                text = (
                    f"the {word} operand of mma lies in registers that this accumulator's instruction reads otherwise"
                )
                self._fail(text, "lane map", x, "make both operands for this accumulator, with the same pack")

    def _fail(self, text: str, fix_class: FixClass | None, x: Tile | None, fix: str = "") -> None:
        producer = None if x is None else self.cx.origin_span(x)
        finding = Finding(text, self.span, self.cx.loops(), producer=producer, fix_class=fix_class, fix=fix)
        self.cx.violated(self.obligation, self.state, "table", lambda: finding)
        raise _Failed

    # ------------------------------------------------------------------------------------------ tags

    def _reduced_axis(self, a: Tile, b: Tile) -> str:
        """The axis summed over: one that both operands carry, and that the contract reduces."""
        have = [frozenset(c.axis for v, _ in values_of(x.codes, self.cx.store) for c in v.comps) for x in (a, b)]
        tops = [v.top for x in (a, b) for v, _ in values_of(x.codes, self.cx.store) if v.top]
        if tops:
            self.obligation.block(tops[0])
            raise _Failed
        common = have[0] & have[1]
        chosen = common & self.cx.reduced_axes or common
        if not chosen:
            text = f"the operands share no tag axis: {_listed(have[0])} against {_listed(have[1])}"
            self._fail(text, "operand transposed", a)
        moving = {axis for axis in chosen if not all(self._still(x, axis) for x in (a, b))} or chosen
        if len(moving) > 1:
            self.obligation.block(f"the contract reduces several axes along k: {_listed(moving)}")
            raise _Failed
        return next(iter(moving))

    def _still(self, x: Tile, axis: str) -> bool:
        """Whether all elements have the same coordinate along an axis."""
        found = column(x.codes, axis, self.cx.store, self.state.reduce)
        return found is not None and _constant(found)

    def _beside(self, a: _Operand, batch: frozenset[str], axis: str) -> tuple[tuple[str, Affine], ...]:
        """Where along other axes that the contract reduces all products of this instruction lie."""
        out = list[tuple[str, Affine]]()
        for name in sorted((batch & self.cx.reduced_axes) - {axis}):
            found = column(a.tile.codes, name, self.cx.store, self.state.reduce)
            assert found is not None
            out.append((name, found.at((0,) * found.local.ndim)))
        return tuple(out)

    def _operand(self, name: Side, tile: Tile, axis: str) -> _Operand:
        k = column(tile.codes, axis, self.cx.store, self.state.reduce)
        if k is None:
            self._fail(f"some elements of operand {name!r} carry no tag {axis}", "operand transposed", tile)
        assert k is not None
        return _Operand(name, tile, tuple(v for v, _ in values_of(tile.codes, self.cx.store)), k)

    def _check_k(self, a: _Operand, b: _Operand, axis: str) -> None:
        """For each k slot every row of A and every column of B must carry the same k."""
        reference = a.k.part((slice(0, 1),))
        for x in (a, b):
            found = list(differences(reference, x.k))
            for d in found:
                text = f"operand {x.name!r} carries different {axis} in one k slot"
                if x is b:
                    text = f"operands 'a' and 'b' carry different {axis} in the same k slot"
                sides = [(o.name, o.tile, o.k) for o in (a, b)]
                fix = slip(self.cx, axis, d, sides, x.tile)
                self._differ(d, x, axis, text, fix=fix, matters=self._visible(a, b, d))
            if found:
                raise _Failed

    def _differ(
        self,
        d: Difference,
        x: _Operand,
        axis: str,
        text: str,
        *,
        fix: Fix,
        matters: tuple[Formula, ...],
    ) -> None:
        """Record that tags differ under a condition."""
        cx, tile = self.cx, x.tile
        flat = int(np.ravel_multi_index(d.first, tile.codes.shape))
        thread, slot = cx.holder(tile.type, flat)
        producer = cx.origin_span(tile, d.first)
        finding = Finding(
            text, self.span, cx.loops(), thread=thread, slot=slot, element=d.first, want=cx.shown(d.want, self.state),
            got=cx.shown(d.got, self.state), component=axis, producer=producer, wrong=d.count, total=int(d.where.size),
            pattern=pattern(d), fix_class=fix[0], fix=fix[1], matters=matters,
            hops=cx.hops((producer, "loaded from global memory"), (self.span, f"multiplied as operand {x.name!r}")),
        )  # fmt: skip
        cx.must(self.obligation, self.state, negation(d.bad), "table", lambda: finding)

    def _batch_axes(self, a: _Operand, b: _Operand, axis: str) -> frozenset[str]:
        """Axes that both operands carry beside k: a batch index, the same for all elements of both."""
        batch = set[str]()
        for name in sorted(_axes(a) & _axes(b) - {axis}):
            left, right = (column(x.tile.codes, name, self.cx.store, self.state.reduce) for x in (a, b))
            if left is None or right is None or not (_constant(left) and _constant(right)):
                continue  # a row index of both: whatever that means, it is no batch
            batch.add(name)
            found = list(differences(left.part((slice(0, 1), slice(0, 1))), right))
            for d in found:
                text, fix = f"operands 'a' and 'b' come from different {name}", f"load both operands at the same {name}"
                self._differ(d, b, name, text, fix=("stage off by n", fix), matters=self._visible(a, b, d))
            if found:
                raise _Failed
        return frozenset(batch)

    def _check_pair(self, acc: Acc, a: _Operand, b: _Operand) -> tuple[frozenset[str], frozenset[str]]:
        """One accumulator sums products of the same two sources: coordinates do not tell tensors of one shape apart."""
        pair = (self._origins(a), self._origins(b))
        for x, old, new in zip((a, b), acc.pair or pair, pair, strict=True):
            if old != new:
                text = f"operand {x.name!r} comes from {_listed(new)}, and from {_listed(old)} in earlier products"
                self._fail(text, None, x.tile, "sum products of the same tensors in one accumulator")
        return pair

    def _origins(self, x: _Operand) -> frozenset[str]:
        kinds = dict.fromkeys(v.origins for v in x.values)
        if len(kinds) > 1:
            text = f"operand {x.name!r} is made from {' and '.join(_listed(k) for k in kinds)}, in different elements"
            self._fail(text, None, x.tile)
        return next(iter(kinds))

    def _free(self, x: _Operand, without: set[str]) -> domain.Side:
        """The components other than these, along the operand's rows; they must not vary along k."""
        comps = list[Comp]()
        for name in sorted(_axes(x) - without):
            free = column(x.tile.codes, name, self.cx.store, self.state.reduce)
            if free is None:
                self._fail(f"some elements of operand {x.name!r} carry no tag {name}", "operand transposed", x.tile)
            assert free is not None
            found = list(differences(free.part((slice(None), slice(0, 1))), free))
            for d in found:
                text = f"tag {name} of operand {x.name!r} changes along k"
                fix = f"operand {x.name!r} needs the transposed view"
                self._differ(d, x, name, text, fix=("operand transposed", fix), matters=self._visible(x, x, d))
            if found:
                raise _Failed
            if free.which is not None:
                self.obligation.block(f"tag {name} of operand {x.name!r} mixes tiles of unrelated places")
                raise _Failed
            raw = free.raw[0]
            comps.append(Comp(name, raw.without_const(), self.cx.store.table(free.local[:, 0] + raw.const)))
        windows = {w: None for v in x.values for w in v.windows if w.axis not in without}
        return domain.Side(tuple(comps), tuple(windows))

    def _check_kept(self, word: str, old: domain.Side | None, new: domain.Side, x: _Operand) -> None:
        """Accumulating must not move an accumulator to other coordinates."""
        if old is None or old == new:
            return
        if [c.axis for c in old.comps] != [c.axis for c in new.comps]:
            names = [_listed(c.axis for c in side.comps) for side in (old, new)]
            text = f"the accumulator's {word}s carry {names[0]}, those of operand {x.name!r} {names[1]}"
            self._fail(text, "operand transposed", x.tile)
        failed = False
        for want, got in zip(old.comps, new.comps, strict=True):
            for d in differences(self._edge(want), self._edge(got)):
                failed = True
                index = (d.first[0], 0)
                d2 = Difference(d.bad, d.where, index, d.want, d.got)
                fix_class: FixClass = "stage off by n" if (d.got - d.want).is_const else "operand transposed"
                self._differ(
                    d2, x, want.axis, f"the accumulator's {word} tag {want.axis} changes between accumulations",
                    fix=(fix_class, f"load operand {x.name!r} from the same {want.axis} tile in every iteration"),
                    matters=(conjunction(self._inside(x.tile, index)),),
                )  # fmt: skip
        if failed:
            raise _Failed

    def _edge(self, comp: Comp) -> Column:
        base = self.state.reduce(comp.base)
        local = self.cx.store.tables[comp.table] + base.const
        return Column((base.without_const(),), (comp.base - base.const,), None, local)

    # -------------------------------------------------------------------------------------- describing

    def _visible(self, a: _Operand, b: _Operand, d: Difference) -> tuple[Formula, ...]:
        """The mistake shows when both factors are data and not padding; else when one is."""
        inside = list[Formula]()
        for x in (a, b):
            row = min(d.first[0], x.tile.codes.shape[0] - 1)
            inside.append(conjunction(self._inside(x.tile, (row, d.first[1]))))
        return (conjunction(inside), *inside)

    def _inside(self, tile: Tile, index: tuple[int, ...]) -> list[Formula]:
        """The element lies in every window of its value."""
        code = int(tile.codes[index])
        value = self.cx.store.values[code >> ELEMENT_BITS]
        found: list[Formula] = []
        for window in value.windows:
            comp = next((c for c in value.comps if c.axis == window.axis), None)
            if comp is not None:
                at = comp.base + int(self.cx.store.tables[comp.table][code & ELEMENT_MASK])
                found += [ge(at - window.lo), ge(window.hi - at - 1)]
        return found


def _constant(c: Column) -> bool:
    return c.which is None and bool((c.local == c.local.flat[0]).all())


def _axes(x: _Operand) -> frozenset[str]:
    return frozenset(c.axis for v in x.values for c in v.comps)


def _listed(axes: Iterable[str]) -> str:
    return ", ".join(sorted(axes)) or "none"


def pattern(d: Difference) -> str:
    """Where the wrong elements of a matrix lie, in words."""
    if d.where.all():
        return "all elements"
    if d.where.ndim != 2:
        return ""
    rows, cols = d.where.any(axis=1), d.where.any(axis=0)
    for word, hit, full in (("k slot", cols, d.where[:, cols].all()), ("row", rows, d.where[rows].all())):
        if full:
            wrong = np.flatnonzero(hit)
            return f"{word}s {wrong[0]} to {wrong[-1]}" if len(wrong) > 1 else f"{word} {wrong[0]}"
    return ""


def _term(a: _Operand, b: _Operand, axis: str) -> Term:
    """What this instruction adds to the accumulator's reduced coordinates."""
    local = a.k.local[0]
    numbers = {0} if a.k.which is None else set(a.k.which[0].tolist())
    assert len(numbers) == 1, "the k of one instruction has one base"
    raw = a.k.raw[numbers.pop()]
    windows = {w: None for v in (*a.values, *b.values) for w in v.windows if w.axis == axis}
    zeros = [all(pad_along(v, axis) == 0.0 for v in x.values) for x in (a, b)]
    # Where only one side's padding is zero, both must be padding at the same places.
    along = [{w for v in x.values for w in v.windows if w.axis == axis} for x in (a, b)]
    absorbing = (all(zeros) or (any(zeros) and along[0] == along[1])) and all(
        (p := pad_along(v, axis)) is not None and np.isfinite(p) and finite(v) for x in (a, b) for v in x.values
    )
    runs = domain.runs_of(local + raw.const)
    masks = dict[tuple[Formula, bool], None]()
    for x, y in ((a, b), (b, a)):
        for m in (m for v in x.values for m in v.masks):
            masks[m.keep, m.pad == 0.0 == pad_along(m, axis) and _finite(y, axis)] = None
    return Term(axis, raw.without_const(), runs, windows=tuple(windows), absorbing=absorbing, masks=tuple(masks))


def _finite(x: _Operand, axis: str) -> bool:
    """Whether all that the operand holds is finite, where at most the windows along an axis fail."""
    held = (p for v in x.values for m in (v, *v.masks) for p in (pad_along(m, axis), *((m.pad,) * (m is not v))))
    return all(finite(v) for v in x.values) and all(p is not None and np.isfinite(p) for p in held)


def _related(rules: Combine, value: Value, axis: str) -> Value:
    """The value, relative only to what is the same for all that is summed."""
    if value.shift or any(axis in f.axes for f in value.scale):
        return rules.materialised(value)
    return value


def _all_zero(x: _Operand) -> bool:
    """Whether all of the operand's padding is zero."""
    return all(v.pad == 0.0 and not v.masks for v in x.values)


def _with_term(terms: tuple[Term, ...], new: Term) -> tuple[Term, ...]:
    """Terms of one place are one term with more runs."""
    for i, term in enumerate(terms):
        if replace(term, runs=()) == replace(new, runs=()):
            merged = replace(term, runs=domain.add_runs(term.runs, new.runs))
            return (*terms[:i], merged, *terms[i + 1 :])
    return (*terms, new)
