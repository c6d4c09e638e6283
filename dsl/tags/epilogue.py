"""Stores to outputs against the contract: coordinates, origins, and what was summed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.diagnostics import FixClass
from argus.dsl.ir import Ensures, Over
from argus.dsl.layout.affine import Affine, Formula, conjunction, eq, ge, negation, var
from argus.dsl.tags.columns import Column, Difference, column, differences, values_of
from argus.dsl.tags.combine import Combine
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import HISTORY_AXIS, Fragment, Ints, Same, Tile, Top, Value, Window, closed, own, recoded
from argus.dsl.tags.groups import group_of
from argus.dsl.tags.lookup import looked_up, picked_wrongly
from argus.dsl.tags.obligations import Box, Finding, Goal, Holds, Obligation
from argus.dsl.tags.state import State, Write
from argus.dsl.tags.sums import complete, located, reductions, together
from argus.dsl.tags.values import as_tile
from argus.dsl.tags.views import PICKS, Edge, GlobalView, Pick


def store_output(
    cx: Context, state: State, site: Site, view: GlobalView, frag: Fragment, *, adds: bool = False
) -> None:
    """`store` or `atomic_add` to a tensor: remember what it covers, and check it against the tensor's `ensures`."""
    edges = {e.axis: _placed(e) for e in view.edges}
    fixed = dict(view.fixed)
    axes = range(len(view.tensor.axes))
    shape = view.shape  # outside the slice unless static
    box = Box(
        site.number,
        tuple(edges[a].base if a in edges else fixed[a] for a in axes),
        tuple(edges[a].extent.const if a in edges else 1 for a in axes),
        (*(Window(str(a), lo, hi) for a, lo, hi in view.windows), *_windows_of_picks(view)),
        given=state.hypotheses(),
    )
    through = tuple((e.axis, e.pick.tensor) for e in view.edges if e.pick is not None)
    state.open = (*state.open, Write(view.tensor.name, box, adds, through))
    if isinstance(frag, Same) and frag.value == 0.0:
        # Sums that nothing was added to.
        frag = Tile(cx.store.codes(Value(frozenset(), ()), shape), replace(frag.type, shape=shape))
    tile = as_tile(cx, frag)
    for ensures in cx.kernel.ensures:
        if ensures.tensor == view.tensor.name:
            _Store(cx, state, site, view, shape, ensures, adds).check(tile)


def _placed(edge: Edge) -> Edge:
    """An edge of picked rows as the places of their integers."""
    return edge if edge.pick is None else replace(edge, base=edge.pick.base(edge.pick.along) + edge.base)


def _windows_of_picks(view: GlobalView) -> list[Window]:
    picks = [(e, e.pick) for e in view.edges if e.pick is not None]
    return [Window(str(e.axis), w.lo, w.hi) for e, p in picks for w in p.windows(e) if w.axis == p.along]


@dataclass(frozen=True, slots=True)
class _Store:
    cx: Context
    state: State
    site: Site
    view: GlobalView
    shape: tuple[int, ...]
    ensures: Ensures
    adds: bool = False

    @property
    def _scattered(self) -> dict[int, Pick]:
        """The integers that pick along axes of the output, by the axis's number."""
        return {e.axis: e.pick for e in self.view.edges if e.pick is not None}

    @property
    def epilogue(self) -> Obligation:
        return self.cx.registry.get("epilogue", self.site.number)

    def complete(self, axis: str) -> Obligation:
        return self.cx.registry.get("completeness", self.site.number, axis)

    def check(self, tile: Tile | Top) -> None:
        reason = tile.reason if isinstance(tile, Top) else self._unknown(tile)
        if isinstance(tile, Tile) and (tile.codes >= 0).all():
            for value, _ in values_of(tile.codes, self.cx.store):
                self._check_clashes(value)
        if reason:
            self._block(reason)
            return
        assert isinstance(tile, Tile)
        self.epilogue.raise_tier("table")
        rules = Combine(self.cx, self.state, self.site.span)
        whole, tile = (
            tile,
            replace(tile, codes=recoded(self.cx.store, tile.codes, lambda v: closed(rules.materialised(v)))),
        )
        values = [v for v, _ in values_of(tile.codes, self.cx.store)]
        reason = next((v.top for v in values if v.top), "")
        if not reason and self._relative(whole):
            reason = "what is stored is relative to a maximum: multiply by its exponential, or divide by a sum that is"
        if reason:
            self._block(reason)
            return
        for value in values:
            self._check_clashes(value)
            self._check_sums(tile, value)
        # Of zeros that nothing was added to, the sums are missing; their coordinates do not matter then.
        if not self.ensures.over or any(v.origins for v in values):
            for value in values:
                self._check_origins(value)
            self._check_coordinates(tile, values)

    def _relative(self, tile: Tile) -> bool:
        return any(v.scale or v.shift for v, _ in values_of(tile.codes, self.cx.store))

    def _block(self, reason: str) -> None:
        for obligation in (self.epilogue, *(self.complete(o.axis) for o in self.ensures.over)):
            obligation.block(reason)

    def _unknown(self, tile: Tile) -> str:
        if tile.codes.shape != self.shape:
            return f"a fragment of shape {list(tile.codes.shape)} is stored to a view of shape {list(self.shape)}"
        if (tile.codes < 0).any():
            return "some elements are uninitialised"
        values = [v for v, _ in values_of(tile.codes, self.cx.store)]
        if self.adds and self.cx.part is not None and any(self._finished(v) for v in values):
            return "parts of sums are changed before they are added up"
        return next((v.top for v in values if v.top), "")

    def _finished(self, value: Value) -> bool:
        """Whether something was done to a sum along an axis of the contract."""
        return any(fold[0].axis == over.axis for fold in value.folds for over in self.ensures.over)

    def _violated(self, text: str, fix_class: FixClass | None, *, component: str | None = None) -> None:
        finding = self._finding(text, fix_class, component)
        self.cx.violated(self.epilogue, self.state, "table", lambda: finding)

    def _finding(self, text: str, fix_class: FixClass | None, component: str | None = None) -> Finding:
        return Finding(
            text, self.site.span, self.cx.loops(), component=component, fix_class=fix_class,
            matters=(self._in_range((0,) * len(self.shape)),),
        )  # fmt: skip

    # ------------------------------------------------------------------------------------ coordinates

    def _check_coordinates(self, tile: Tile, values: list[Value]) -> None:
        """Each element goes where its free tags say, and is data there."""
        carried = {a for name in self.ensures.uses for a in self.cx.types.params[name].axes}
        for number, axis in enumerate(self.ensures.index):
            if number in self._scattered:
                self._check_scatter(tile, number, axis)
                continue
            if axis not in carried and not any(c.axis == axis for v in values for c in v.comps):
                continue  # an axis of the output alone: the sets of the contract may depend on it
            got = column(tile.codes, axis, self.cx.store, self.state.reduce)
            if got is None:
                self._violated(f"the stored elements carry no tag {axis}", "operand transposed", component=axis)
                continue
            for d in differences(self._destination(number), got):
                self._misplaced(tile, axis, number, got, d)
            for value in values:
                self._check_windows(value, number, axis)
        for value in values:
            self._check_masks(tile, value)
            self._check_extra(tile, value)

    def _check_extra(self, tile: Tile, value: Value) -> None:
        """Coordinates along axes that are no index of the output: looked up, or those of a group."""
        tables = self.cx.store.tables
        coordinates = {c.axis: c.base + int(tables[c.table][0]) for c in value.comps if _steady(tables[c.table])}
        extra = {c.axis for c in value.comps} - {*self.ensures.index, *(p.along for p in self._scattered.values())}
        varying = list[str]()
        for axis in sorted(extra):
            if self._check_lookup(tile, axis):
                continue
            wanted = group_of(self.cx, self.ensures, axis, coordinates)
            if axis in {o.axis for o in self.ensures.over} or axis not in coordinates:
                varying.append(axis)
            elif wanted is None:
                self.epilogue.block(f"the contract does not say which {axis} an element is made of")
            else:
                self._check_group(axis, wanted, coordinates[axis], value)
        if varying:
            self._violated(f"the stored elements still vary with {', '.join(varying)}", "k incomplete")

    def _check_group(self, axis: str, want: Affine, got: Affine, value: Value) -> None:
        same = eq(self.state.reduce(got) - self.state.reduce(want))
        texts = self.cx.shown(want, self.state), self.cx.shown(got, self.state)
        finding = replace(
            self._finding(f"the elements belong to {axis} = {texts[0]} and come from {axis} = {texts[1]}", None, axis),
            want=texts[0], got=texts[1], producer=value.span,
        )  # fmt: skip
        self.cx.must(self.epilogue, self.state, same, "affine", lambda: finding)

    def _check_masks(self, tile: Tile, value: Value) -> None:
        """What is stored inside the tensor must not have been masked."""
        if not value.masks:
            return
        where = located(self.cx, tile, replace(value, masks=()))
        inside = conjunction((*where, *self._own_range()))
        for mask in value.masks:
            finding = self._finding(f"elements without {mask.keep} are masked, and are no data", "bounds guard")
            bad = conjunction((inside, negation(mask.keep)))
            self.cx.must(self.epilogue, self.state, negation(bad), "affine", lambda finding=finding: finding)

    def _own_range(self) -> list[Formula]:
        """The elements' own coordinates along the axes of the output lie inside the tensor."""
        out = list[Formula]()
        edges, fixed = {e.axis: e for e in self.view.edges}, dict(self.view.fixed)
        for number, (axis, extent) in enumerate(zip(self.ensures.index, self.view.tensor.shape, strict=True)):
            at = var(own(axis))
            out += [ge(at), ge(self.cx.evaluate(extent) - at - 1)]
            if number in fixed:
                out.append(eq(at - fixed[number]))
            elif edges[number].pick is None:
                out += [ge(at - edges[number].base), ge(edges[number].base + edges[number].extent - at - 1)]
        return out

    def _check_scatter(self, tile: Tile, number: int, axis: str) -> None:
        """Each element goes to the row that the contract's integers say, at the element's own coordinates."""
        pick = self._scattered[number]
        if wrong := picked_wrongly(self.cx, (f"{pick.tensor}{PICKS}{axis}",)):
            self.epilogue.block(wrong)
            return
        if pick.pad != -1.0:
            text = f"rows beyond {pick.tensor} go to row {pick.pad}"
            finding = replace(self._finding(text, "bounds guard", pick.along), fix="pad=-1")
            self.cx.must(self.epilogue, self.state, pick.all_data(), "affine", lambda: finding)
        got = column(tile.codes, pick.along, self.cx.store, self.state.reduce)
        if got is None:
            self._violated(f"the stored elements carry no tag {pick.along}", "operand transposed", component=pick.along)
            return
        for d in differences(self._destination(number), got):
            self._misplaced(tile, pick.along, number, got, d)

    def _check_lookup(self, tile: Tile, axis: str) -> bool:
        """Whether the contract says where along an axis to read: where, is checked then."""
        known = (*self.ensures.index, *(p.along for p in self._scattered.values()))
        found = looked_up(self.cx, self.state, axis, known, tile)
        if found is not None:
            for d in differences(*found):
                wanted, stored = self.cx.shown(d.want, self.state), self.cx.shown(d.got, self.state)
                finding = Finding(
                    f"{axis} = {stored} where the contract wants {wanted}", self.site.span, self.cx.loops(),
                    element=d.first, want=wanted, got=stored, component=axis,
                    producer=self.cx.origin_span(tile, d.first), wrong=d.count, total=int(d.where.size),
                    fix_class="stage off by n", matters=(self._in_range(d.first),),
                )  # fmt: skip
                self.cx.must(self.epilogue, self.state, negation(d.bad), "table", lambda finding=finding: finding)
        return found is not None

    def _destination(self, number: int) -> Column:
        """The coordinate of each element of the view along one axis of the tensor."""
        base, strides = dict(self.view.fixed).get(number, Affine()), (0,) * len(self.shape)
        for dimension, edge in enumerate(self.view.edges):
            if edge.axis == number:
                base, strides = _placed(edge).base, tuple(int(i == dimension) for i in range(len(self.shape)))
        reduced = self.state.reduce(base)
        local = self.cx.store.tables[self.cx.store.grid(self.shape, strides)].reshape(self.shape)
        return Column((reduced.without_const(),), (base - reduced.const,), None, local + reduced.const)

    def _misplaced(self, tile: Tile, axis: str, number: int, got: Column, d: Difference) -> None:
        cx = self.cx
        thread, slot = cx.holder(tile.type, int(np.ravel_multi_index(d.first, self.shape)), tile.lost)
        want, stored = cx.shown(d.want, self.state), cx.shown(d.got, self.state)
        finding = Finding(
            f"the element stored at {axis} = {want} carries {axis} = {stored}", self.site.span, cx.loops(),
            thread=thread, slot=slot, element=d.first, want=want, got=stored, component=axis,
            producer=cx.origin_span(tile, d.first), wrong=d.count, total=int(d.where.size),
            fix_class=self._coordinate_fix(number, got, d),
            fix=_hint(axis, d.want, d.got), matters=(self._in_range(d.first),),
        )  # fmt: skip
        cx.must(self.epilogue, self.state, negation(d.bad), "table", lambda: finding)

    def _coordinate_fix(self, number: int, got: Column, d: Difference) -> FixClass:
        """Transposed if the tag runs along the other edge of the tile, or follows the other block index."""
        edge = next((i for i, e in enumerate(self.view.edges) if e.axis == number), None)
        if edge is None or got.local.ndim != 2:
            return "bounds guard"
        moves = [bool(np.diff(got.local, axis=a).any()) for a in (0, 1)]
        if moves[1 - edge] and not moves[edge]:
            return "operand transposed"
        if (d.got - d.want).is_const:
            return "stage off by n"
        mine, theirs = self.view.edges[edge].base.variables(), got.bases[0].variables()
        return "operand transposed" if mine - theirs and theirs - mine else "bounds guard"

    def _in_range(self, element: tuple[int, ...]) -> Formula:
        """The element lies inside the tensor."""
        parts = list[Formula]()
        for number, edge in enumerate(self.view.edges):
            at = edge.base + element[number]
            for axis, lo, hi in self.view.windows:
                if axis == edge.axis:
                    parts += [ge(at - lo), ge(hi - at - 1)]
        return conjunction(parts)

    def _check_windows(self, value: Value, number: int, axis: str) -> None:
        """What is stored inside the tensor must come from inside the tensors that it was loaded from."""
        extent = self.cx.evaluate(self.view.tensor.shape[number])
        for window in value.windows:
            if window.axis == axis and (window.lo, window.hi) != (Affine(), extent):
                wide = conjunction((ge(-window.lo), ge(window.hi - extent)))
                tile = [e for e in self.view.edges if e.axis == number]
                near = conjunction(f for e in tile for f in (ge(e.base - window.lo), ge(window.hi - e.base - e.extent)))
                if self.state.evident(near):
                    continue
                text = f"elements with {axis} outside {window.lo} to {window.hi - 1} are padding, not data"
                finding = self._finding(text, "bounds guard", axis)
                self.cx.must(self.epilogue, self.state, wide, "affine", lambda finding=finding: finding)

    # ----------------------------------------------------------------------------------- what went in

    def _check_origins(self, value: Value) -> None:
        if wrong := picked_wrongly(self.cx, value.origins):
            computed = any(o.partition(PICKS)[0] not in self.cx.types.params for o in value.origins if PICKS in o)
            if computed:
                finding = replace(self._finding(wrong, "bounds guard"), sure=False)
                self.cx.violated(self.epilogue, self.state, "smt", lambda: finding)
            else:
                self.epilogue.block(wrong)
        want, origins = frozenset(self.ensures.uses), frozenset(o for o in value.origins if PICKS not in o)
        if origins != want:
            parts = [("without", sorted(want - origins)), ("from", sorted(origins - want))]
            made = " and ".join(f"{word} {', '.join(names)}" for word, names in parts if names)
            finding = self._finding(f"the stored elements were made {made}", "operand transposed")
            finding = replace(finding, ignored=tuple(sorted(want - origins)))
            self.cx.violated(self.epilogue, self.state, "table", lambda: finding)

    def _check_clashes(self, value: Value) -> None:
        """Nothing was combined on the way that does not belong together."""
        for number in sorted(value.clashes):
            clash = self.cx.store.clashes[number]
            finding = replace(
                self._finding(clash.text, None, clash.axis or None), consumer=clash.span, producer=clash.producer,
                want=clash.want, got=clash.got, sure=False,
            )  # fmt: skip
            self.epilogue.need(Goal(clash.facts, Holds(negation(clash.bad)), lambda finding=finding: finding))

    def _check_sums(self, tile: Tile, value: Value) -> None:
        """Each reduced coordinate of the contract, once, in every reduction that went in."""
        scattered = {p.along: p for p in self._scattered.values()}
        for over in self.ensures.over:
            if over.axis in scattered and self.adds:
                self._check_added(over, scattered[over.axis])
                continue
            in_range = self._in_range((0,) * len(self.shape))
            where = (*located(self.cx, tile, value), *self._own_range())
            joint, beside = together(value, over, self.ensures)
            for fold in joint or reductions(value, over.axis) or [()]:
                along = next(o for o in self.ensures.over if o.axis == fold[0].axis) if joint else over
                complete(
                    self.cx, self.state, self.site, fold, along, obligation=self.complete(over.axis), where=where,
                    matters=(in_range,), part=self.cx.part if self.adds else None, beside=beside,
                    sure=bool(fold) and len(value.folds) <= 1,
                )  # fmt: skip
        if any(t.axis == HISTORY_AXIS for f in value.folds for t in f):
            self.epilogue.block("the sums of a loop that has not ended")
        for axis in sorted({f[0].axis for f in value.folds} - {HISTORY_AXIS, *(o.axis for o in self.ensures.over)}):
            self._violated(f"{axis} is summed, which the contract does not ask for", "k incomplete")

    def _check_added(self, over: Over, pick: Pick) -> None:
        """Rows that are added where integers say are summed over the places of those: coverage counts the places."""
        obligation = self.complete(over.axis)
        obligation.raise_tier("structure")
        length = self.cx.assumptions.ranges[over.axis]
        if over.pred is not None or self.cx.evaluate(over.extent) != length:
            obligation.block(f"over({over.axis}, ...) does not name all places of {pick.tensor}")


def _steady(local: Ints) -> bool:
    return bool((local == local[0]).all())


def _hint(axis: str, want: Affine, got: Affine) -> str:
    mine, theirs = sorted(want.variables() - got.variables()), sorted(got.variables() - want.variables())
    if len(mine) == 1 and len(theirs) == 1:
        return f"along {axis}, load and store by the same index: {mine[0]} or {theirs[0]}"
    return ""
