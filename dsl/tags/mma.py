"""Matrix instructions: operands must agree on k, and accumulators must keep their coordinates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.diagnostics import FixClass, Span
from argus.dsl.ir import MmaInto
from argus.dsl.layout import Accumulator, OperandMap
from argus.dsl.layout.affine import Formula, conjunction, ge, negation
from argus.dsl.tags.columns import Column, Difference, column, differences, values_of
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Acc, Comp, Side, Term, Tile, Top, Value, Window, add_runs, runs_of
from argus.dsl.tags.obligations import Finding, Obligation
from argus.dsl.tags.state import State
from argus.dsl.targets.atoms import ATOMS


@dataclass(frozen=True, slots=True, eq=False)
class _Operand:
    name: str
    tile: Tile
    values: tuple[Value, ...]
    k: Column


class _Failed(Exception):
    """The obligation is violated: nothing more can be said of the accumulator."""


def mma_into(cx: Context, state: State, site: Site, stmt: MmaInto) -> None:
    """`acc += mma(a, b)`."""
    obligation = cx.registry.get("conformity", site.number)
    acc = state.frags[stmt.acc]
    names = [getattr(x, "name", "?") for x in (stmt.a, stmt.b)]
    a, b = (state.frags[name] for name in names)
    for frag in (acc, a, b):
        if isinstance(frag, Top):
            obligation.block(frag.reason)
            state.frags[stmt.acc] = Top(acc.type, frag.reason)
            return
    if not (isinstance(acc, Acc) and isinstance(a, Tile) and isinstance(b, Tile)):
        reason = f"the operands of line {site.stmt.span.line} are not what an MMA reads in this slice"
        obligation.block(reason)
        state.frags[stmt.acc] = Top(acc.type, reason)
        return
    try:
        state.frags[stmt.acc] = _accumulate(cx, state, obligation, stmt, acc, a, b)
    except _Failed:
        state.frags[stmt.acc] = Top(acc.type, f"depends on {obligation.place}")


def _accumulate(cx: Context, state: State, obligation: Obligation, stmt: MmaInto, acc: Acc, a: Tile, b: Tile) -> Acc:
    obligation.raise_tier("table")
    _check_registers(cx, state, obligation, stmt, acc, a, b)
    axis = _shared_axis(cx, state, obligation, stmt, a, b)
    left, right = (_operand(cx, state, obligation, stmt, x, name, axis) for x, name in ((a, "a"), (b, "b")))
    _check_k(cx, state, obligation, stmt, left, right, axis)
    rows, cols = (_free_side(cx, state, obligation, stmt, x, axis) for x in (left, right))
    for word, old, new in (("row", acc.rows, rows), ("column", acc.cols, cols)):
        _check_kept(cx, state, obligation, stmt, word, old, new)
    origins = acc.origins.union(*(v.origins for v in (*left.values, *right.values)))
    term = _term(left, right, axis)
    return replace(
        acc, rows=acc.rows or rows, cols=acc.cols or cols, origins=origins, open=_with_term(acc.open, term),
        span=stmt.span,
    )  # fmt: skip


def _check_registers(
    cx: Context, state: State, obligation: Obligation, stmt: MmaInto, acc: Acc, a: Tile, b: Tile
) -> None:
    """Both operands must lie in the registers that this accumulator's instruction reads."""
    assert isinstance(acc.type.map, Accumulator)
    packs = [x.type.map.pack if isinstance(x.type.map, OperandMap) else 0 for x in (a, b)]
    for name, side, x, pack in (("first", "a", a, packs[0]), ("second", "b", b, packs[1])):
        if x.type.map == OperandMap(side, acc.type.map, pack) and packs[0] == packs[1]:  # pyright: ignore[reportArgumentType]
            continue
        found = x.type.map
        swapped = isinstance(found, OperandMap) and found.side != side
        text = (
            f"the {name} operand of mma is made for side {found.side!r}, not {side!r}"
            if isinstance(found, OperandMap) and swapped
            else f"the {name} operand of mma lies in registers that this accumulator's instruction reads otherwise"
        )
        fix_class: FixClass = "operand transposed" if swapped else "lane map"
        _fail(cx, state, obligation, stmt, text, fix_class, producer=cx.origin_span(x))


def _fail(
    cx: Context,
    state: State,
    obligation: Obligation,
    stmt: MmaInto,
    text: str,
    fix_class: FixClass,
    *,
    producer: Span | None,
    fix: str = "",
) -> None:
    loops = cx.loops()
    cx.violated(
        obligation, state, "table",
        lambda: Finding(text, stmt.span, loops, producer=producer, fix_class=fix_class, fix=fix),
    )  # fmt: skip
    raise _Failed


def _shared_axis(cx: Context, state: State, obligation: Obligation, stmt: MmaInto, a: Tile, b: Tile) -> str:
    """The axis summed over: one that both operands carry, and that the contract reduces."""
    have = [frozenset(c.axis for v, _ in values_of(x.codes, cx.store) for c in v.comps) for x in (a, b)]
    common = have[0] & have[1]
    chosen = common & cx.reduced_axes or common
    if len(chosen) != 1:
        text = (
            f"the operands share no tag axis: {_listed(have[0])} against {_listed(have[1])}"
            if not chosen
            else f"the operands share several tag axes, {_listed(chosen)}, and the contract names none of them alone"
        )
        _fail(cx, state, obligation, stmt, text, "operand transposed", producer=cx.origin_span(a))
    return next(iter(chosen))


def _listed(axes: Iterable[str]) -> str:
    return ", ".join(sorted(axes)) or "none"


def _operand(
    cx: Context, state: State, obligation: Obligation, stmt: MmaInto, tile: Tile, name: str, axis: str
) -> _Operand:
    values = values_of(tile.codes, cx.store)
    for value, _ in values:
        if value.top:
            obligation.block(value.top)
            raise _Failed
    k = column(tile.codes, axis, cx.store, state.reduce)
    if k is None:
        _fail(cx, state, obligation, stmt, f"some elements of operand {name!r} carry no tag {axis}", "operand transposed",
              producer=cx.origin_span(tile))  # fmt: skip
    assert k is not None
    return _Operand(name, tile, tuple(v for v, _ in values), k)


def _check_k(
    cx: Context, state: State, obligation: Obligation, stmt: MmaInto, a: _Operand, b: _Operand, axis: str
) -> None:
    """For each k slot every row of A and every column of B must carry the same k."""
    reference = a.k.part((slice(0, 1),))
    for x in (a, b):
        found = list(differences(reference, x.k))
        if not found:
            continue
        for d in found:
            thread, slot = _place(cx, x.tile, d.first)
            element = d.first
            text = f"k tags differ at the MMA: operand {x.name!r} carries another {axis} than the first row of 'a'"
            if x is b:
                text = f"k tags differ at the MMA: operands 'a' and 'b' carry different {axis} in the same k slot"
            fix_class, fix = _classify(cx, a, b, x, d, axis)
            finding = Finding(
                text, stmt.span, cx.loops(), thread=thread, slot=slot, element=element, want=d.want, got=d.got,
                component=axis, producer=cx.origin_span(x.tile, element), wrong=d.count, total=int(d.where.size),
                pattern=_pattern(d), fix_class=fix_class, fix=fix, matters=_visible(cx, a, b, d),
                hops=_hops(cx, x.tile, element, stmt.span),
            )  # fmt: skip
            _violated_if(cx, state, obligation, d.bad, finding)
        raise _Failed


def _violated_if(cx: Context, state: State, obligation: Obligation, bad: Formula, finding: Finding) -> None:
    """The obligation fails where `bad` holds."""
    cx.must(obligation, state, negation(bad), "table", lambda: finding)


def _place(cx: Context, tile: Tile, element: tuple[int, ...]) -> tuple[int, int]:
    flat = int(np.ravel_multi_index(element, tile.codes.shape))
    return cx.places(tile.type).thread_of(flat)


def _hops(cx: Context, tile: Tile, element: tuple[int, ...], consumer: Span) -> tuple[object, ...]:
    return cx.hops(
        (cx.origin_span(tile, element), "loaded from global memory"), (consumer, "multiplied")
    )  # fmt: skip


def _pattern(d: Difference) -> str:
    """Where the wrong elements lie, in words."""
    if d.where.all():
        return "all elements"
    rows, cols = d.where.any(axis=1), d.where.any(axis=0)
    if d.where[:, cols].all():
        wrong = np.flatnonzero(cols)
        return f"k slots {wrong[0]} to {wrong[-1]}" if len(wrong) > 1 else f"k slot {wrong[0]}"
    if d.where[rows].all():
        wrong = np.flatnonzero(rows)
        return f"rows {wrong[0]} to {wrong[-1]}" if len(wrong) > 1 else f"row {wrong[0]}"
    return ""


def _visible(cx: Context, a: _Operand, b: _Operand, d: Difference) -> tuple[Formula, ...]:
    """The mistake shows when both factors are data and not padding; else when one is."""
    row = min(d.first[0], a.tile.codes.shape[0] - 1, b.tile.codes.shape[0] - 1)
    index = (row, d.first[1])
    inside = [conjunction(_inside(cx, x.tile, index)) for x in (a, b)]
    return (conjunction(inside), inside[0], inside[1])


def _inside(cx: Context, tile: Tile, index: tuple[int, ...]) -> list[Formula]:
    """The element lies in every window of its value."""
    code = int(tile.codes[index])
    value = cx.store.values[code >> 20]
    found: list[Formula] = []
    for window in value.windows:
        comp = next((c for c in value.comps if c.axis == window.axis), None)
        if comp is not None:
            at = comp.base + int(cx.store.tables[comp.table][code & 0xFFFFF])
            found += [ge(at - window.lo), ge(window.hi - at - 1)]
    return found


def _classify(cx: Context, a: _Operand, b: _Operand, x: _Operand, d: Difference, axis: str) -> tuple[FixClass, str]:
    """What kind of slip makes these k tags differ."""
    for operand in (a, b):
        varies = (operand.k.local != operand.k.local[:1]).any()
        free = [c for v in operand.values for c in v.comps if c.axis != axis]
        if varies and free:
            return "operand transposed", f"operand {operand.name!r} needs the transposed view: rows by {axis}"
    gap = d.got - d.want
    line = cx.origin_span(x.tile, d.first)
    where = f" (loaded at line {line.line})" if line is not None else ""
    if not gap.is_const or a.k.bases != b.k.bases or gap.const % _depth(cx, (a, b), axis) == 0:
        return (
            "stage off by n",
            f"{axis} is off by {cx.shown(gap)}: read the stage, or load the tile{where}, of this step",
        )
    if d.where.all():
        return "k incomplete", f"{axis} is off by {gap.const}: use the same k-step for both operands"
    return "lane map", f"operands 'a' and 'b' spread {axis} differently over lanes"


def _depth(cx: Context, operands: Iterable[_Operand], axis: str) -> int:
    """How many k the tiles behind the operands hold."""
    tables = [cx.store.tables[c.table] for x in operands for v in x.values for c in v.comps if c.axis == axis]
    return max(int(np.ptp(t)) + 1 for t in tables)


def _free_side(cx: Context, state: State, obligation: Obligation, stmt: MmaInto, x: _Operand, axis: str) -> Side:
    """The components other than k, along the operand's rows; they must not vary along k."""
    comps = list[Comp]()
    windows = list[Window]()
    for name in sorted({c.axis for v in x.values for c in v.comps} - {axis}):
        free = column(x.tile.codes, name, cx.store, state.reduce)
        if free is None:
            _fail(cx, state, obligation, stmt, f"some elements of operand {x.name!r} carry no tag {name}",
                  "operand transposed", producer=cx.origin_span(x.tile))  # fmt: skip
        assert free is not None
        found = list(differences(free.part((slice(None), slice(0, 1))), free))
        for d in found:
            thread, slot = _place(cx, x.tile, d.first)
            finding = Finding(
                f"tag {name} of operand {x.name!r} changes along k", stmt.span, cx.loops(), thread=thread, slot=slot,
                element=d.first, want=d.want, got=d.got, component=name, wrong=d.count, total=int(d.where.size),
                producer=cx.origin_span(x.tile, d.first), fix_class="operand transposed", matters=_visible(cx, x, x, d),
            )  # fmt: skip
            _violated_if(cx, state, obligation, d.bad, finding)
        if found:
            raise _Failed
        if free.which is not None:
            obligation.block(f"tag {name} of operand {x.name!r} mixes tiles of unrelated places")
            raise _Failed
        comps.append(Comp(name, free.raw[0].without_const(), cx.store.table(free.local[:, 0] + free.raw[0].const)))
    for value in x.values:
        windows += [w for w in value.windows if w.axis != axis and w not in windows]
    return Side(tuple(comps), tuple(windows))


def _check_kept(
    cx: Context, state: State, obligation: Obligation, stmt: MmaInto, word: str, old: Side | None, new: Side
) -> None:
    """Accumulating must not move an accumulator to other coordinates."""
    if old is None or old == new:
        return
    if [c.axis for c in old.comps] != [c.axis for c in new.comps]:
        text = f"the accumulator's {word}s carry {_listed(c.axis for c in old.comps)}, the operand's {_listed(c.axis for c in new.comps)}"
        _fail(cx, state, obligation, stmt, text, "operand transposed", producer=None)
    failed = False
    for want, got in zip(old.comps, new.comps, strict=True):
        for d in differences(_side_column(cx, state, want), _side_column(cx, state, got)):
            failed = True
            finding = Finding(
                f"the accumulator's {word} tag {want.axis} changes between accumulations", stmt.span, cx.loops(),
                element=d.first, want=d.want, got=d.got, component=want.axis, wrong=d.count, total=int(d.where.size),
                fix_class="stage off by n" if (d.got - d.want).is_const else "operand transposed",
                fix=f"load the operand from the same {want.axis} tile in every iteration",
            )  # fmt: skip
            _violated_if(cx, state, obligation, d.bad, finding)
    if failed:
        raise _Failed


def _side_column(cx: Context, state: State, comp: Comp) -> Column:
    base = state.reduce(comp.base)
    raw = comp.base - base.const
    return Column((base.without_const(),), (raw,), None, cx.store.tables[comp.table] + base.const)


def _term(a: _Operand, b: _Operand, axis: str) -> Term:
    """What this instruction adds to the accumulator's reduced coordinates."""
    local = a.k.local[0]
    assert a.k.which is None or len(set(a.k.which[0].tolist())) == 1
    number = 0 if a.k.which is None else int(a.k.which[0, 0])
    raw = a.k.raw[number]
    windows = {w: None for v in (*a.values, *b.values) for w in v.windows if w.axis == axis}
    pads = [tuple({v.pad for v in x.values}) for x in (a, b)]
    absorbing = any(p == (0.0,) for p in pads) and all(np.isfinite(v) for p in pads for v in p)
    runs = runs_of(local + raw.const)
    return Term(axis, raw.without_const(), runs, windows=tuple(windows), absorbing=absorbing)


def _with_term(terms: tuple[Term, ...], new: Term) -> tuple[Term, ...]:
    """Terms of one place are one term with more runs."""
    for i, term in enumerate(terms):
        if replace(term, runs=()) == replace(new, runs=()):
            return (*terms[:i], replace(term, runs=add_runs(term.runs, new.runs)), *terms[i + 1 :])
    return (*terms, new)


def k_depth(acc: Accumulator, pack: int) -> int:
    """k elements that one operand of `pack` merged steps spans."""
    return ATOMS[acc.atom].k * pack
