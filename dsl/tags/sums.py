"""What was reduced on the way to an element, against the sets that the contract or an assertion asks for.

A value may be made of several reductions along one axis (a numerator and a denominator): each must be the set that is
asked for. Sets may depend on the element's own free coordinates; those are symbols here, bounded by where the elements
lie.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from argus.dsl.ir import AssertComplete, Ensures, Over
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import Expr, names
from argus.dsl.layout.affine import TRUE, Formula, affine, conjunction, formula, ge, var
from argus.dsl.tags.combine import values_in
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import HISTORY_AXIS, Fold, Same, Tile, Top, Value, closed, own, substitute_term
from argus.dsl.tags.obligations import POINTS, CoversOnce, Finding, Goal, Holds, Obligation
from argus.dsl.tags.parts import Part
from argus.dsl.tags.state import State
from argus.dsl.tags.values import as_tile


def reductions(value: Value, axis: str) -> list[Fold]:
    """All reductions that went into a value along an axis, or maybe along it; the same one once."""
    return sorted((fold for fold in closed(value).folds if fold[0].axis in (axis, HISTORY_AXIS)), key=str)


def together(value: Value, over: Over, ensures: Ensures) -> tuple[list[Fold], tuple[tuple[str, Expr], ...]]:
    """The reductions along several axes at once, one of them that of `over`; and the other axes with their extents."""
    found = [f for f in closed(value).folds if any(t.beside for t in f)]
    axes = {f: tuple(axis for axis, _ in f[0].beside) for f in found}
    mine = sorted((f for f in found if over.axis in (f[0].axis, *axes[f])), key=str)
    extents = {o.axis: o.extent for o in ensures.over}
    if not mine or any((f[0].axis, axes[f]) != (mine[0][0].axis, axes[mine[0]]) for f in mine):
        return [], ()
    if any(axis not in extents for axis in axes[mine[0]]):
        return [], ()
    return mine, tuple((axis, extents[axis]) for axis in axes[mine[0]])


def complete(
    cx: Context,
    state: State,
    site: Site,
    fold: Fold,
    over: Over,
    *,
    obligation: Obligation,
    where: Iterable[Formula] = (),
    matters: tuple[Formula, ...] = (),
    part: Part | None = None,
    beside: tuple[tuple[str, Expr], ...] = (),
    sure: bool = True,
    inside: Formula | None = None,
) -> None:
    """The reduction holds each coordinate of `over` exactly once (an extreme: at least once), and no other.

    `where` bounds the free coordinates of the elements, `own` symbols. Of a `part`, only what is in it is asked for.
    With `beside` each combination with a coordinate along those axes is asked for once. `inside` takes the place of the
    predicate of `over`, as a formula of `POINTS[0]`.
    """
    mine = tuple(substitute_term(t, state.rewriting) for t in fold)
    extent = state.reduce(cx.evaluate(over.extent))
    if inside is None:
        # Whatever the text calls its loops: in the contract an axis is an axis.
        coordinates = {a: var(own(a)) for a in _axes(cx)} | {over.axis: var(POINTS[0])}
        inside = TRUE if over.pred is None else formula(over.pred, coordinates)
    inside = state.reduce_formula(inside)
    obligation.raise_tier("affine")
    if any(t.axis == HISTORY_AXIS for t in fold):
        obligation.block("the sums of a loop that has not ended")
        return
    which = "" if over.pred is None else f" with {show_expr(over.pred)}"
    finding = Finding(
        f"not each {over.axis} below {extent}{which} is summed exactly once", site.span, cx.loops(),
        component=over.axis, fix_class="k incomplete", matters=matters, want=f"each of 0 to {extent - 1} once",
        producer=next((t.span for t in fold if t.span.line), None), sure=sure,
    )  # fmt: skip
    if not fold:
        finding = replace(finding, got="never", element=(0,))
    once = all(t.op == "sum" for t in mine)
    across = tuple((axis, state.reduce(cx.evaluate(extent))) for axis, extent in beside)
    if any(tuple(a for a, _ in t.beside) != tuple(a for a, _ in across) for t in mine):
        obligation.block(f"some of what is summed along {over.axis} is summed along other axes as well")
        return
    free = inside != TRUE or any(t.masks for t in mine)
    facts = (*state.hypotheses(), *(state.reduce_formula(f) for f in where if free))
    if part is None:
        obligation.need(Goal(facts, CoversOnce(mine, extent, inside, over.axis, once, across), lambda: finding))
        return
    if part.tangled((t.base for t in mine), (d.guard for t in mine for d in t.domains)):
        obligation.block("a range that is split and then cut into tiles is outside this slice of the checker")
        return
    step = part.step(t.base for t in mine) or 1
    text = f"the parts do not sum each {over.axis} below {extent} exactly once"
    partial = replace(finding, text=text, want="", matters=(conjunction((*matters, part.real())), *matters))
    inside = conjunction((inside, part.window(step, var(POINTS[0]))))
    obligation.need(Goal(facts, CoversOnce(mine, extent, inside, over.axis, once, across), lambda: partial))
    if mine:  # a part that holds nothing adds nothing
        obligation.need(Goal(facts, Holds(state.reduce_formula(part.reach(step, extent))), lambda: partial))


def located(cx: Context, tile: Tile, value: Value) -> tuple[Formula, ...]:
    """Where the free coordinates of a tile's elements lie, as far as they are data."""
    out = list[Formula]()
    for comp in value.comps:
        local = cx.store.tables[comp.table][(tile.codes & 0xFFFFF).ravel()]
        at = var(own(comp.axis))
        out += [ge(at - comp.base - int(local.min())), ge(comp.base + int(local.max()) - at)]
    for window in value.windows:
        if any(c.axis == window.axis for c in value.comps):
            at = var(own(window.axis))
            out += [ge(at - window.lo), ge(window.hi - at - 1)]
    return (*out, *(m.keep for m in value.masks))


def assert_complete(cx: Context, state: State, site: Site, stmt: AssertComplete) -> None:
    """`assert_complete(x, axis=range(n))`."""
    obligation = cx.registry.get("written", site.number)
    frag = state.frags[stmt.x.name]
    tile = as_tile(cx, frag)
    if isinstance(tile, Top) or isinstance(frag, Same):
        zero = isinstance(frag, Same) and frag.value == 0.0
        reason = "" if zero else tile.reason if isinstance(tile, Top) else ""
        if not zero:
            obligation.block(reason or f"{stmt.x.name} sums nothing that this slice follows")
            return
        for axis, extent in stmt.sets:
            over, inside = _claimed(cx, axis, extent)
            complete(cx, state, site, (), over, obligation=obligation, inside=inside)
        return
    assert isinstance(tile, Tile)
    for value in values_in(cx, tile):
        if value.top or value.clashes:
            text = cx.store.clashes[min(value.clashes)].text if value.clashes else value.top
            obligation.block(text)
            continue
        for axis, extent in stmt.sets:
            for fold in reductions(value, axis) or [()]:
                over, inside = _claimed(cx, axis, extent)
                where = located(cx, tile, value)
                complete(cx, state, site, fold, over, obligation=obligation, where=where, inside=inside)


def _axes(cx: Context) -> frozenset[str]:
    return frozenset(axis for p in cx.types.params.values() for axis in p.axes if axis)


def _claimed(cx: Context, axis: str, extent: Expr) -> tuple[Over, Formula | None]:
    """The set of `axis=range(extent)`; the extent may speak of the elements' own coordinates."""
    free = names(extent) & _axes(cx) - frozenset(cx.types.indices)
    whole = [e for p in cx.types.params.values() for a, e in zip(p.axes, p.shape, strict=True) if a == axis]
    if not free or not whole:
        return Over(axis=axis, extent=extent), None
    # Then of all that the tensors have along the axis those below the extent, and no others.
    form = affine(extent, {a: var(own(a)) for a in free} | cx.env)
    return Over(axis=axis, extent=whole[0]), ge(form - var(POINTS[0]) - 1)
