"""Shared memory accesses: what they must respect, and how a failure is described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from argus.dsl.diagnostics import FixClass, Hop, Span
from argus.dsl.ir.types import DTYPE_BYTES, FragType
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Bools, Ints, Tile, Top
from argus.dsl.tags.memory import NO_SITE, Buffer
from argus.dsl.tags.obligations import Action, Conflict, Finding, Kind
from argus.dsl.tags.state import State
from argus.dsl.tags.tables import Places


@dataclass(frozen=True, slots=True, eq=False)
class Touch:
    """One access of one statement to cells of one buffer, element by element.

    Attributes:
        cells: Cell of each element, flat.
        waves: Waves that touch it for that element, as bits.
        places: Which thread does; None for copies, whose threads follow from the address.
    """

    site: Site
    buffer: str
    cells: Ints
    waves: Ints
    places: Places | None


def read_shared(cx: Context, state: State, touch: Touch, shape: tuple[int, ...], made: FragType) -> Tile | Top:
    """Registers from cells. Hazards are recorded; the value is what program order would give."""
    buffer, cells = state.buffers[touch.buffer], touch.cells
    codes = buffer.code[cells]
    failed = ""
    pending = buffer.unread_pending(cells)
    if pending.any():
        _hazard(cx, state, touch, "wait", pending, describe=lambda at: _pending(cx, buffer, touch, at))
    unseen = buffer.reads_unseen_copy(cells, touch.waves)
    if unseen.any():
        _hazard(cx, state, touch, "wait", unseen, describe=lambda at: _unseen(cx, buffer, touch, at))
    early = buffer.reads_unseen_write(cells, touch.waves)
    if early.any():
        _hazard(cx, state, touch, "race", early, describe=lambda at: _race(cx, buffer, touch, at, "writes"))
    empty = codes < 0
    if empty.any():
        init = cx.registry.get("init", touch.site.number)
        _hazard(cx, state, touch, "init", empty, describe=lambda at: _uninitialised(cx, touch, at))
        failed = f"depends on {init.place}"
    for kind in ("wait", "race", "init"):
        if (obligation := cx.registry.find(kind, touch.site.number)) is not None:
            obligation.raise_tier("table")
    buffer.read[cells] |= touch.waves
    buffer.reader[cells] = touch.site.number
    if failed:
        return Top(made, failed)
    return Tile(codes.reshape(shape), made)


def write_shared(cx: Context, state: State, touch: Touch, codes: Ints) -> None:
    """Ordinary stores, one cell an element."""
    buffer, cells = state.buffers[touch.buffer], touch.cells
    pending = buffer.unread_pending(cells)
    if pending.any():
        _hazard(cx, state, touch, "wait", pending, describe=lambda at: _pending(cx, buffer, touch, at))
    _check_overwrite(cx, state, touch, buffer.overwrites_read(cells, touch.waves), "reads")
    _check_overwrite(cx, state, touch, buffer.reads_unseen_write(cells, touch.waves), "writes")
    _check_overwrite(cx, state, touch, buffer.reads_unseen_copy(cells, touch.waves), "copies into")
    cx.registry.get("race", touch.site.number).raise_tier("table")
    buffer.code[cells] = codes.ravel()
    buffer.written[cells] |= touch.waves
    buffer.writer[cells] = touch.site.number


def copy_shared(cx: Context, state: State, touch: Touch, codes: Ints) -> None:
    """Async copies: they may land at once, so nothing of this epoch may still want the cells, not even this wave."""
    buffer, cells = state.buffers[touch.buffer], touch.cells
    pending = buffer.unread_pending(cells)
    if pending.any():
        _hazard(cx, state, touch, "wait", pending, describe=lambda at: _pending(cx, buffer, touch, at))
    read, written = buffer.still_wanted(cells, touch.waves)
    _check_overwrite(cx, state, touch, read, "reads")
    _check_overwrite(cx, state, touch, written, "writes")
    _check_overwrite(cx, state, touch, buffer.reads_unseen_copy(cells, touch.waves), "copies into")
    for kind in ("race", "wait"):
        cx.registry.get(kind, touch.site.number).raise_tier("table")
    buffer.code[cells] = codes.ravel()
    buffer.age[cells] = 0
    buffer.owner[cells] = touch.waves
    buffer.barriers[cells] = 0
    buffer.writer[cells] = touch.site.number


def _check_overwrite(cx: Context, state: State, touch: Touch, bad: Bools, action: Action) -> None:
    if bad.any():
        buffer = state.buffers[touch.buffer]
        _hazard(cx, state, touch, "race", bad, describe=lambda at: _race(cx, buffer, touch, at, action))


def _hazard(
    cx: Context, state: State, touch: Touch, kind: Kind, bad: Bools, *, describe: Callable[[int], Finding]
) -> None:
    at = int(np.argmax(bad))
    found = describe(at)  # now, since the buffers change later
    finding = replace(found, wrong=int(bad.sum()), total=int(bad.size))
    cx.violated(cx.registry.get(kind, touch.site.number), state, "table", lambda: finding)


# ------------------------------------------------------------------------------------------- findings


def _finding(cx: Context, touch: Touch, at: int, text: str, fix_class: FixClass, **more: object) -> Finding:
    shared = cx.buffer(touch.buffer)
    cell = int(touch.cells[at])
    index = tuple(int(i) for i in np.unravel_index(cell, shared.shape))
    thread, slot = touch.places.thread_of(at) if touch.places is not None else (_first_thread(touch.waves[at]), None)
    staged = len(shared.shape) > 2
    return Finding(
        text=text,
        consumer=touch.site.span,
        loops=cx.loops(),
        thread=thread,
        slot=slot,
        buffer=touch.buffer,
        stage=index[0] if staged else None,
        element=index[1:] if staged else index,
        byte=int(cx.byte_offsets(touch.buffer)[cell]),
        fix_class=fix_class,
        **more,  # pyright: ignore[reportArgumentType]
    )


def _first_thread(waves: int | np.int64) -> int:
    bits = int(waves)
    return ((bits & -bits).bit_length() - 1) * 64


def _cell_text(cx: Context, touch: Touch, at: int) -> str:
    index = np.unravel_index(int(touch.cells[at]), cx.buffer(touch.buffer).shape)
    return f"{touch.buffer}[{', '.join(str(int(i)) for i in index)}]"


def _line(span: Span | None) -> str:
    return f"line {span.line}" if span is not None else "an earlier line"


def _writer(cx: Context, buffer: Buffer, cell: int) -> Span | None:
    site = int(buffer.writer[cell])
    return None if site == NO_SITE else cx.span_of(site)


def _pending(cx: Context, buffer: Buffer, touch: Touch, at: int) -> Finding:
    cell = int(touch.cells[at])
    producer = _writer(cx, buffer, cell)
    age = int(buffer.age[cell])
    where = _line(producer)
    text = f"{_cell_text(cx, touch, at)} is used while the copy of {where} into it may be in flight"
    here = touch.site.span.line
    staged = len(cx.buffer(touch.buffer).shape) > 2
    if staged and buffer.barriers[cell] == 0 and producer is not None and producer.line < here:
        # Filled in the very phase that uses it: another stage was meant.
        fix = f"fill another stage of {touch.buffer} at line {producer.line}, or use another at line {here}"
        return _finding(
            cx, touch, at, text, "stage off by n", producer=producer, fix=fix,
            other=Conflict(producer, "copies into", _first_thread(buffer.owner[cell])),
        )  # fmt: skip
    fix = f"commit(), wait(0) and barrier() before line {here}" if age == 0 else f"wait({age - 1}) before line {here}"
    return _finding(
        cx, touch, at, text, "missing wait", producer=producer, fix=fix,
        other=None if producer is None else Conflict(producer, "copies into", _first_thread(buffer.owner[cell])),
    )  # fmt: skip


def _unseen(cx: Context, buffer: Buffer, touch: Touch, at: int) -> Finding:
    cell = int(touch.cells[at])
    producer = _writer(cx, buffer, cell)
    landed = int(buffer.done(2)[cell])
    other = landed & ~int(touch.waves[at]) or landed
    text = (
        f"{_cell_text(cx, touch, at)} was copied by another wave, whose wait says nothing to this one: "
        "no barrier follows the wait"
    )
    fix = f"barrier() after the wait and before line {touch.site.span.line}"
    return _finding(
        cx, touch, at, text, "missing barrier", producer=producer, fix=fix,
        other=None if producer is None else Conflict(producer, "copies into", _first_thread(other)),
    )  # fmt: skip


def _race(cx: Context, buffer: Buffer, touch: Touch, at: int, action: Action) -> Finding:
    cell = int(touch.cells[at])
    who = buffer.done({"writes": 0, "reads": 1, "copies into": 2}[action])
    other_site = int((buffer.reader if action == "reads" else buffer.writer)[cell])
    other = None if other_site == NO_SITE else cx.span_of(other_site)
    waves = int(who[cell]) & ~int(touch.waves[at]) or int(who[cell])
    word = {"reads": "read", "writes": "written", "copies into": "copied into"}[action]
    text = f"{_cell_text(cx, touch, at)} is touched by two waves that no barrier separates: {word} at {_line(other)}"
    return _finding(
        cx, touch, at, text, "missing barrier",
        producer=other if action != "reads" else None,
        other=None if other is None else Conflict(other, action, _first_thread(waves)),
        fix=f"barrier() before line {touch.site.span.line}",
    )  # fmt: skip


def _uninitialised(cx: Context, touch: Touch, at: int) -> Finding:
    shared = cx.buffer(touch.buffer)
    text = f"{_cell_text(cx, touch, at)} is read before anything was written there"
    staged = len(shared.shape) > 2 and shared.shape[0] > 1
    if touch.buffer in cx.guarded:
        return _finding(
            cx, touch, at, text, "bounds guard",
            fix=f"the condition under which {touch.buffer} is filled leaves out a tile that is used",
        )  # fmt: skip
    hops = (Hop(span=shared.span, text=f"{touch.buffer} starts uninitialised"),)
    return _finding(
        cx, touch, at, text, "stage off by n" if staged else "k incomplete", producer=None, hops=hops,
        fix=f"fill {touch.buffer} before line {touch.site.span.line}",
    )  # fmt: skip


def bytes_of(cx: Context, buffer: str) -> int:
    """Bytes of LDS that a buffer takes, padding included."""
    shared = cx.buffer(buffer)
    rows = int(np.prod(shared.shape[:-1], dtype=np.int64))
    return rows * (shared.shape[-1] + shared.pad) * DTYPE_BYTES[shared.dtype]
