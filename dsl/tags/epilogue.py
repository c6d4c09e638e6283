"""Stores to outputs against the contract: coordinates, origins, and what was summed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.dsl.diagnostics import FixClass
from argus.dsl.ir import AssertComplete, Ensures, Over
from argus.dsl.layout.affine import Affine, Formula, conjunction, ge, negation
from argus.dsl.tags.columns import Column, column, differences, values_of
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Acc, Domain, Same, Term, Tile, Top, Value
from argus.dsl.tags.obligations import Box, CoversOnce, Finding, Goal, Obligation
from argus.dsl.tags.state import State, Write
from argus.dsl.tags.values import as_tile
from argus.dsl.tags.views import GlobalView


def store_output(cx: Context, state: State, site: Site, view: GlobalView, frag: Tile | Acc | Same | Top) -> None:
    """`store` to a tensor that some `ensures` speaks of."""
    shape = view.shape
    edges = {e.axis: e for e in view.edges}
    fixed = dict(view.fixed)
    axes = range(len(view.tensor.axes))
    box = Box(
        site.number,
        tuple(edges[a].base if a in edges else fixed[a] for a in axes),
        tuple(edges[a].extent.const if a in edges else 1 for a in axes),
        tuple(replace(w, axis=str(a)) for a in axes for n, lo, hi in view.windows if n == a for w in _window(lo, hi)),
        given=state.hypotheses(),
    )
    state.open = (*state.open, Write(view.tensor.name, box))
    for ensures in cx.kernel.ensures:
        if ensures.tensor == view.tensor.name:
            _check(cx, state, site, view, shape, as_tile(cx, frag), ensures)


def _window(lo: Affine, hi: Affine):  # noqa: ANN202
    from argus.dsl.tags.domain import Window

    return (Window("", lo, hi),)


def _check(
    cx: Context, state: State, site: Site, view: GlobalView, shape: tuple[int, ...], tile: Tile | Top, ensures: Ensures
) -> None:
    epilogue = cx.registry.get("epilogue", site.number)
    complete = {over.axis: cx.registry.get("completeness", site.number, over.axis) for over in ensures.over}
    reason = tile.reason if isinstance(tile, Top) else _unknown(cx, tile)
    if reason:
        for obligation in (epilogue, *complete.values()):
            obligation.block(reason)
        return
    assert isinstance(tile, Tile)
    epilogue.raise_tier("table")
    _check_coordinates(cx, state, site, view, shape, tile, ensures, epilogue)
    for value, _ in values_of(tile.codes, cx.store):
        _check_origins(cx, state, site, value, ensures, epilogue)
        _check_sums(cx, state, site, value, ensures, complete)


def _unknown(cx: Context, tile: Tile) -> str:
    if (tile.codes < 0).any():
        return "some elements are uninitialised"
    return next((v.top for v, _ in values_of(tile.codes, cx.store) if v.top), "")


def _check_coordinates(
    cx: Context,
    state: State,
    site: Site,
    view: GlobalView,
    shape: tuple[int, ...],
    tile: Tile,
    ensures: Ensures,
    obligation: Obligation,
) -> None:
    """Each element goes where its free tags say."""
    for number, axis in enumerate(ensures.index):
        want = _destination(cx, state, view, shape, number)
        got = column(tile.codes, axis, cx.store, state.reduce)
        if got is None:
            text = f"the stored elements carry no tag {axis}"
            cx.violated(obligation, state, "table", _simple(cx, site, text, None, component=axis))
            continue
        for d in differences(want, got):
            thread, slot = cx.places(tile.type).thread_of(int(np.ravel_multi_index(d.first, shape)))
            finding = Finding(
                f"the element stored at {axis} = {cx.shown(d.want)} carries {axis} = {cx.shown(d.got)}",
                site.stmt.span, cx.loops(), thread=thread, slot=slot, element=d.first, want=d.want, got=d.got,
                component=axis, producer=cx.origin_span(tile, d.first), wrong=d.count, total=int(d.where.size),
                fix_class=_coordinate_fix(cx, state, view, shape, tile, ensures, d.bad),
                fix=_coordinate_hint(axis, d.want, d.got),
                matters=(_in_range(cx, view, d.first),),
            )  # fmt: skip
            bad = conjunction((d.bad, _in_range(cx, view, d.first))) if d.count == 1 else d.bad
            cx.must(obligation, state, negation(bad), "table", lambda finding=finding: finding)
        _check_windows(cx, state, site, view, tile, number, axis, obligation)
    extra = {c.axis for v, _ in values_of(tile.codes, cx.store) for c in v.comps} - set(ensures.index)
    if extra:
        text = f"the stored elements still vary with {', '.join(sorted(extra))}"
        cx.violated(obligation, state, "table", _simple(cx, site, text, "k incomplete"))


def _destination(cx: Context, state: State, view: GlobalView, shape: tuple[int, ...], axis: int) -> Column:
    for number, edge in enumerate(view.edges):
        if edge.axis == axis:
            strides = tuple(int(i == number) for i in range(len(shape)))
            base, table = edge.base, cx.store.grid(shape, strides)
            break
    else:
        base, table = dict(view.fixed)[axis], cx.store.grid(shape, (0,) * len(shape))
    reduced = state.reduce(base)
    local = cx.store.tables[table].reshape(shape)
    return Column((reduced.without_const(),), (base - reduced.const,), None, local + reduced.const)


def _in_range(cx: Context, view: GlobalView, element: tuple[int, ...]) -> Formula:
    """The element lies inside the tensor."""
    parts = list[Formula]()
    for number, edge in enumerate(view.edges):
        at = edge.base + element[number]
        for axis, lo, hi in view.windows:
            if axis == edge.axis:
                parts += [ge(at - lo), ge(hi - at - 1)]
    return conjunction(parts)


def _coordinate_fix(
    cx: Context,
    state: State,
    view: GlobalView,
    shape: tuple[int, ...],
    tile: Tile,
    ensures: Ensures,
    bad: Formula,
) -> FixClass:
    """Transposed if swapping destination axes would mend it or moves tags across axes."""
    del bad
    if len(ensures.index) == 2 and len(shape) == 2:
        for number, axis in enumerate(ensures.index):
            got = column(tile.codes, axis, cx.store, state.reduce)
            if got is None:
                continue
            along_rows = bool((got.local != got.local[:1]).any())
            edge = next((i for i, e in enumerate(view.edges) if e.axis == number), None)
            if edge is not None and along_rows != (edge == 0):
                return "operand transposed"
        return "operand transposed" if _swapped_tiles(cx, state, view, tile, ensures) else "bounds guard"
    return "bounds guard"


def _swapped_tiles(cx: Context, state: State, view: GlobalView, tile: Tile, ensures: Ensures) -> bool:
    """Whether the destination's block symbols are those of the other axis."""
    for number, axis in enumerate(ensures.index):
        got = column(tile.codes, axis, cx.store, state.reduce)
        edge = next((e for e in view.edges if e.axis == number), None)
        if got is not None and edge is not None and got.bases[0].variables() != state.reduce(edge.base).variables():
            return True
    return False


def _coordinate_hint(axis: str, want: Affine, got: Affine) -> str:
    mine, theirs = sorted(want.variables() - got.variables()), sorted(got.variables() - want.variables())
    if mine and theirs:
        return f"index the {axis} axis of the stored tile by {theirs[0]} instead of {mine[0]}, or load by {mine[0]}"
    return ""


def _check_windows(
    cx: Context,
    state: State,
    site: Site,
    view: GlobalView,
    tile: Tile,
    number: int,
    axis: str,
    obligation: Obligation,
) -> None:
    """What is stored inside the tensor must come from inside the tensors it was loaded from."""
    inside = [ge(at - lo) for at, lo, _ in _ends(view, number)[:1]] + [
        ge(hi - at - 1) for at, _, hi in _ends(view, number)
    ]
    for value, _ in values_of(tile.codes, cx.store):
        for window in value.windows:
            if window.axis != axis:
                continue
            known = {(lo, hi) for a, lo, hi in view.windows if a == number}
            if (window.lo, window.hi) in known:
                continue
            for base, lo_hi in ((e.base, e.extent) for e in view.edges if e.axis == number):
                first, last = base, base + lo_hi - 1
                fine = conjunction((ge(first - window.lo), ge(window.hi - last - 1)))
                bounded = conjunction((ge(-window.lo), ge(window.hi - cx.evaluate(view.tensor.shape[number]))))
                if state.evident(fine) or state.evident(bounded):
                    continue
                text = f"elements with {axis} outside {window.lo} to {window.hi - 1} are padding, not data"
                finding = _simple(cx, site, text, "bounds guard", component=axis)
                cx.must(obligation, state, bounded, "smt", finding)
    del inside


def _ends(view: GlobalView, number: int) -> list[tuple[Affine, Affine, Affine]]:
    return [(e.base, lo, hi) for e in view.edges if e.axis == number for a, lo, hi in view.windows if a == number]


def _check_origins(
    cx: Context, state: State, site: Site, value: Value, ensures: Ensures, obligation: Obligation
) -> None:
    want = set(ensures.uses)
    if value.origins != want:
        missing, extra = sorted(want - value.origins), sorted(value.origins - want)
        text = "the stored elements were made " + " and ".join(
            part
            for part, names in ((f"without {', '.join(missing)}", missing), (f"from {', '.join(extra)}", extra))
            if names
        )
        cx.violated(obligation, state, "table", _simple(cx, site, text, "operand transposed"))


def _check_sums(
    cx: Context, state: State, site: Site, value: Value, ensures: Ensures, obligations: dict[str, Obligation]
) -> None:
    """Each reduced coordinate of the contract, once."""
    for over in ensures.over:
        complete(cx, state, site, value.reduced, over, obligations[over.axis])
    known = {o.axis for o in ensures.over}
    for axis in sorted({t.axis for t in value.reduced} - known):
        for obligation in obligations.values():
            obligation.block(f"{axis} is summed, which the contract does not ask for")


def complete(
    cx: Context, state: State, site: Site, terms: tuple[Term, ...], over: Over, obligation: Obligation
) -> None:
    """The terms hold each coordinate of `over` exactly once."""
    if over.pred is not None:
        obligation.block(f"over({over.axis}, ..., pred=...) is outside this slice of the checker")
        return
    mine = tuple(_reduced_term(state, t) for t in terms if t.axis == over.axis)
    extent = state.reduce(cx.evaluate(over.extent))
    obligation.raise_tier("affine")
    loops = cx.loops()

    def finding() -> Finding:
        text = f"{over.axis} from 0 to {over.extent_text} - 1" if hasattr(over, "extent_text") else f"each {over.axis}"
        return Finding(
            f"not {text} below {extent} is summed exactly once", site.stmt.span, loops, component=over.axis,
            fix_class="k incomplete",
        )  # fmt: skip

    obligation.need(Goal(state.hypotheses(), CoversOnce(mine, extent), finding))


def _reduced_term(state: State, term: Term) -> Term:
    """The term with what is fixed put in; its bound symbols are its own."""
    from argus.dsl.tags.domain import substitute_term

    return substitute_term(term, state.rewriting)


def assert_complete(cx: Context, state: State, site: Site, stmt: AssertComplete) -> None:
    obligation = cx.registry.get("written", site.number)
    frag = state.frags[stmt.x.name]
    if isinstance(frag, Top):
        obligation.block(frag.reason)
        return
    if not isinstance(frag, Acc):
        obligation.block("assert_complete on a fragment that sums nothing in this slice")
        return
    for axis, extent in stmt.sets:
        complete(cx, state, site, frag.reduced, Over(axis=axis, extent=extent), obligation)


def _simple(cx: Context, site: Site, text: str, fix_class: FixClass | None, *, component: str | None = None):  # noqa: ANN202
    loops = cx.loops()
    return lambda: Finding(text, site.stmt.span, loops, component=component, fix_class=fix_class)


def bind(write: Write, domain: Domain) -> Write:
    return replace(write, box=replace(write.box, domains=(*write.box.domains, domain)))
