"""Transfer rules of the statements that move data: loads, operands, stores, async copies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.dsl.ir import Assign, AtomicAdd, CopyAsync, Operand, Ref, Store, View
from argus.dsl.ir.types import DTYPE_BYTES, FragType
from argus.dsl.layout import OperandMap
from argus.dsl.layout.affine import FALSE, Formula
from argus.dsl.tags.access import Touch, copy_shared, read_shared, write_shared
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Fragment, Ints, Same, Stat, Tile, Top, Value
from argus.dsl.tags.epilogue import store_output
from argus.dsl.tags.gather import integer, rows_of
from argus.dsl.tags.groups import assume_groups
from argus.dsl.tags.mma import k_depth
from argus.dsl.tags.moves import operand_of_registers
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.state import State
from argus.dsl.tags.values import as_tile, global_codes
from argus.dsl.tags.views import Cells, GlobalView, Need, Outside, root


def load(cx: Context, state: State, site: Site, view: View, made: FragType, *, lost: tuple[int, ...] = ()) -> Fragment:
    """`load(view, map=)`; `lost` are extents of axes of the fragment that it is like."""
    if not made.shape:
        return _scalar(cx, state, site, view, made)
    if root(view) in cx.types.params:
        at = _global(cx, state, site, view)
        return Tile(global_codes(cx, at, at.shape, site.span), made, lost=lost)
    cells = _cells(cx, state, site, view)
    if cells is None:
        return Top(made, f"depends on {cx.registry.get('bounds', site.number).place}")
    places = cx.places(made, lost)
    cx.note_access(site, cells.buffer, cells.flat, made, direction="read", lost=lost)
    found = read_shared(cx, state, Touch(site, cells.buffer, cells.flat, places.waves, places), made.shape, made)
    return replace(found, lost=lost) if isinstance(found, Tile) else found


def _scalar(cx: Context, state: State, site: Site, view: View, made: FragType) -> Fragment:
    """One element, the same in every lane; an integer may serve as an index from here on."""
    if root(view) not in cx.types.params:
        raise Outside("a scalar loaded from shared memory")
    _global(cx, state, site, view)
    if made.dtype == "i32":
        assert isinstance(site.stmt, Assign)
        cx.env[site.stmt.targets[0]] = integer(cx, view)
    return Same(made)


def operand(cx: Context, state: State, site: Site, value: Operand, made: FragType) -> Fragment:
    """`view.operand(side, acc, ks, pack=)`: all rows of the view, and the columns of one k-step."""
    src = value.src
    if isinstance(src, Ref) and src.name not in cx.types.buffers and src.name not in cx.types.params:
        return operand_of_registers(cx, state, site, value, made, frag=state.frags[src.name])
    if not isinstance(made.map, OperandMap):
        raise Outside("an operand without a register map")
    width = k_depth(made.map.acc, value.pack)
    step = state.reduce(cx.evaluate(value.ks))
    if not step.is_const:
        raise Outside("a symbolic k-step")
    columns = slice(step.const * width, (step.const + 1) * width)
    depends = Top(made, f"depends on {cx.registry.get('bounds', site.number).place}")
    if root(src) in cx.types.params:
        at = _global(cx, state, site, src)
        if not _fits(cx, state, site, src, columns, depth=at.shape[1]):
            return depends
        return Tile(np.ascontiguousarray(global_codes(cx, at, at.shape, site.span)[:, columns]), made)
    cells = _cells(cx, state, site, src)
    if cells is None or not _fits(cx, state, site, src, columns, depth=cells.index.shape[1]):
        return depends
    if cells.index.shape[0] != made.shape[0]:
        raise Outside("an operand of another height than its accumulator")
    places = cx.places(made)
    index = np.ascontiguousarray(cells.index[:, columns]).ravel()
    cx.note_access(site, cells.buffer, index, made, direction="read", key=columns.start)
    return read_shared(cx, state, Touch(site, cells.buffer, index, places.waves, places), made.shape, made)


def _fits(cx: Context, state: State, site: Site, src: View, columns: slice, *, depth: int) -> bool:
    if columns.start >= 0 and columns.stop <= depth:
        return True
    text = f"k {columns.start} to {columns.stop - 1} of a view that is {depth} deep"
    finding = Finding(
        f"the access leaves its view: {text}", site.span, cx.loops(), fix_class="bounds guard",
        sure=root(src) in cx.types.buffers,  # beyond a tile of a tensor there may be more of the tensor
    )  # fmt: skip
    cx.violated(cx.registry.get("bounds", site.number), state, "affine", lambda: finding)
    return False


def store(cx: Context, state: State, site: Site, stmt: Store, frag: Fragment) -> None:
    """`store(view, x)`."""
    if root(stmt.view) in cx.types.params:
        store_output(cx, state, site, _global(cx, state, site, stmt.view), frag)
        return
    cells = _cells(cx, state, site, stmt.view)
    if cells is None:
        return
    if isinstance(frag, Same) or frag.type is None or frag.type.shape != cells.index.shape:
        raise Outside("a store of uniform or unknown registers to shared memory")
    lost = frag.lost if isinstance(frag, Tile | Stat) else ()
    places = cx.places(frag.type, lost, owned=True)
    cx.note_access(site, cells.buffer, cells.flat, frag.type, direction="write", lost=lost)
    write_shared(cx, state, Touch(site, cells.buffer, cells.flat, places.waves, places), _codes(cx, frag))


def atomic_add(cx: Context, state: State, site: Site, stmt: AtomicAdd, frag: Fragment) -> None:
    """`atomic_add(view, x)`."""
    if root(stmt.view) not in cx.types.params:
        raise Outside("atomic_add(...) to shared memory")
    store_output(cx, state, site, _global(cx, state, site, stmt.view), frag, adds=True)


def _codes(cx: Context, frag: Fragment) -> Ints:
    tile = as_tile(cx, frag)
    if isinstance(tile, Tile):
        return tile.codes
    assert isinstance(tile, Top)
    assert tile.type is not None
    return cx.store.codes(Value(frozenset(), (), top=tile.reason), tile.type.shape)


def copy_async(cx: Context, state: State, site: Site, stmt: CopyAsync) -> None:
    """`copy_async(dst, src, via="dma")`."""
    if stmt.via != "dma" or root(stmt.src) not in cx.types.params:
        raise Outside(f'copy_async(via="{stmt.via}")')
    cells = _cells(cx, state, site, stmt.dst)
    at = _global(cx, state, site, stmt.src)
    if cells is None:
        return
    offsets = cx.byte_offsets(cells.buffer)[cells.flat]
    waves = cx.copy_waves(offsets, DTYPE_BYTES[cx.buffer(cells.buffer).dtype])
    codes = global_codes(cx, at, cells.index.shape, site.span)
    copy_shared(cx, state, Touch(site, cells.buffer, cells.flat, waves, None), codes)


# ---------------------------------------------------------------------------------------------- views


def _global(cx: Context, state: State, site: Site, view: View) -> GlobalView:
    at = cx.global_view(view, lambda name, axis: rows_of(cx, state, name, axis))
    _needs(cx, state, site, at.needs)
    return at


def _cells(cx: Context, state: State, site: Site, view: View) -> Cells | None:
    """The cells of a view of shared memory; None if it leaves its buffer."""
    if root(view) not in cx.types.buffers:
        raise Outside(f"the view {root(view)}")
    cells = cx.shared_views.resolve(view, cx.constant(state))
    _needs(cx, state, site, cells.needs)
    if any(need.formula == FALSE for need in cells.needs):
        return None
    if (cells.index < 0).any():
        raise Outside("a tile that reaches beyond a shared buffer")
    return cells


def _needs(cx: Context, state: State, site: Site, needs: tuple[Need, ...]) -> None:
    cx.registry.get("bounds", site.number).raise_tier("affine" if needs else "structure")
    for need in needs:
        assume_groups(cx, state, need.formula)
        _out_of_bounds(cx, state, site, need.formula, need.text)


def _out_of_bounds(cx: Context, state: State, site: Site, inside: Formula, text: str) -> None:
    finding = Finding(f"the access leaves its view: {text}", site.span, cx.loops(), fix_class="bounds guard")
    cx.must(cx.registry.get("bounds", site.number), state, inside, "affine", lambda: finding)
