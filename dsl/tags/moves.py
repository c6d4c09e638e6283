"""Registers read in another way, or moved between lanes: as operands, under another map, from another lane.

The tables here are the checker's own. A lane's consecutive accumulator registers run down the rows of an MFMA and
along the columns of a wgmma, so that axis is an operand's k when the registers are read as one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from argus.dsl.ir import AsOperand, Operand
from argus.dsl.ir.types import FragType
from argus.dsl.layout import Accumulator, OperandMap
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Acc, Fragment, Ints, Same, Stat, Tile, Top
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.pointwise import Pointwise
from argus.dsl.tags.state import State
from argus.dsl.tags.tables import LANES
from argus.dsl.tags.values import as_tile
from argus.dsl.tags.views import Outside
from argus.dsl.targets.atoms import ATOMS


def as_operand(cx: Context, state: State, site: Site, node: AsOperand, made: FragType, *, frag: Fragment) -> Fragment:
    """`x.as_operand(side, acc, ks)`: element by element, what the registers that the instruction reads hold."""
    tile = _data(cx, state, site, frag, made)
    if isinstance(tile, Top):
        return tile
    source, target = tile.type.map, made.map
    if not isinstance(source, Accumulator) or not isinstance(target, OperandMap):
        raise Outside("as_operand(...) of registers that are no accumulator's")
    step = state.reduce(cx.evaluate(node.ks))
    if not step.is_const:
        raise Outside("a symbolic k-step")
    slots = _slots(cx, source, target.acc, step.const)
    held = cx.places(tile.type).element
    wanted = cx.places(made).element
    if slots is None or len(slots) != wanted.shape[1]:
        raise Outside(f"registers of {source.atom} as an operand of {target.acc.atom}")
    codes = np.full(int(np.prod(made.shape)), -1, np.int64)
    flat = tile.codes.ravel()[held[:, slots]]
    codes[wanted] = flat
    if not np.array_equal(codes[wanted], flat):
        return Top(made, f"waves hold different elements for one operand at line {site.span.line}")
    return Tile(codes.reshape(made.shape), made)


def _slots(cx: Context, source: Accumulator, target: Accumulator, step: int) -> Ints | None:
    """Registers of one k-step: of each atom along the operand's side, the run that holds the step."""
    atom, reader = ATOMS[source.atom], ATOMS[target.atom]
    if cx.kernel.target != "gfx942":
        return None
    down, across = source.m // source.grid[0] // atom.m, source.n // source.grid[1] // atom.n
    row, inside = divmod(step * reader.k, atom.m)
    run = inside // reader.k * reader.k_lane + np.arange(reader.k_lane)
    if row >= down:
        return None
    first = row * across + np.arange(across)
    return (first[:, None] * atom.d_regs + run).ravel()


def operand_of_registers(
    cx: Context, state: State, site: Site, node: Operand, made: FragType, *, frag: Fragment
) -> Fragment:
    """`x.operand(side, acc, ks)` of a fragment: each lane takes what it already holds."""
    tile = _data(cx, state, site, frag, made)
    if isinstance(tile, Top):
        return tile
    step = state.reduce(cx.evaluate(node.ks))
    if not step.is_const:
        raise Outside("a symbolic k-step")
    depth = made.shape[1]
    columns = np.arange(step.const * depth, (step.const + 1) * depth)
    if columns[0] < 0 or columns[-1] >= tile.codes.shape[1]:
        return Top(made, f"k-step {step.const} lies beyond the fragment of line {site.span.line}")
    number = np.arange(tile.codes.size).reshape(tile.codes.shape)[:, columns].ravel()
    held, wanted = cx.places(tile.type, tile.lost).element, cx.places(made).element
    if any(not set(number[w].tolist()) <= set(h.tolist()) for h, w in zip(held, wanted, strict=True)):
        text = f"a lane lacks elements of the operand that it should read at line {site.span.line}"
        return _scattered(cx, state, site, made, text)
    return Tile(np.ascontiguousarray(tile.codes[:, columns]), made)


def relayout(cx: Context, state: State, site: Site, made: FragType, *, frag: Fragment) -> Fragment:
    """`relayout(x, map)`: within each wave."""
    if isinstance(frag, Same):
        return replace(frag, type=made)
    tile = _data(cx, state, site, frag, made)
    if isinstance(tile, Top):
        return tile
    before, after = cx.places(tile.type, tile.lost), cx.places(made)
    for mine, wanted in zip(*(p.element.reshape(-1, LANES * p.element.shape[1]) for p in (before, after)), strict=True):
        if not set(wanted[wanted >= 0].tolist()) <= set(mine.tolist()):
            text = f"a wave lacks elements that its lanes should get at line {site.span.line}"
            return _scattered(cx, state, site, made, text)
    return replace(frag, type=made) if isinstance(frag, Stat) else replace(tile, type=made, lost=())


def shuffle(cx: Context, site: Site, frag: Fragment, lane: Fragment, made: FragType) -> Fragment:
    """`shuffle(x, lane)` with one lane for all."""
    if isinstance(frag, Same):
        return replace(frag, type=made)
    if not (isinstance(lane, Same) and lane.form is not None and lane.form.is_const and isinstance(frag, Tile)):
        raise Outside("shuffle(...) by lanes that differ")
    source = lane.form.const
    if not 0 <= source < LANES:
        return Top(made, f"line {site.span.line} takes from lane {source}, which does not exist")
    held = cx.places(frag.type, frag.lost).element
    threads = np.arange(len(held)) // LANES * LANES + source
    codes = np.full(frag.codes.size, -1, np.int64)
    moved = np.where(held >= 0, frag.codes.ravel()[held[threads]], -1)
    codes[held[held >= 0]] = moved[held >= 0]
    if not np.array_equal(codes[held[held >= 0]], moved[held >= 0]) or (codes < 0).any():
        return Top(made, f"line {site.span.line} leaves lanes with different elements in one place")
    return Tile(codes.reshape(frag.codes.shape), made)


def _data(cx: Context, state: State, site: Site, frag: Fragment, made: FragType) -> Tile | Top:
    plain = Pointwise(cx, state, site, made).plain(frag) if not isinstance(frag, Acc) else frag
    tile = as_tile(cx, plain)
    return replace(tile, type=made) if isinstance(tile, Top) else tile


def _scattered(cx: Context, state: State, site: Site, made: FragType, text: str) -> Top:
    obligation = cx.registry.find("conformity", site.number)
    if obligation is None:
        return Top(made, text)
    finding = Finding(text, site.span, cx.loops(), fix_class="lane map")
    cx.violated(obligation, state, "table", lambda: finding)
    return Top(made, f"depends on {obligation.place}")
