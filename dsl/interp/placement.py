"""Tables from register to element for every layout, and how one fragment's registers line up with another's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from argus.dsl.interp.arrays import Bools, Ints
from argus.dsl.interp.fragments import accumulator_tile, operand_tile
from argus.dsl.interp.sites import Slots
from argus.dsl.interp.values import Layout
from argus.dsl.ir.nodes import Dtype
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Accumulator, Linear, OperandMap, Uniform


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a wave sits among those that execute a statement together.

    Attributes:
        position: Of this wave in its team, from 0.
        waves: In the team: the kernel's, or those of a role's group.
        lanes: 64 or 32; 1 where a single lane was elected.
    """

    position: int
    waves: int
    lanes: int


def default_map(shape: tuple[int, ...], dtype: Dtype) -> Linear:
    """16 bytes a lane where the rows allow it, else the largest power of two of elements that divides a row."""
    vector = 16 // DTYPE_BYTES[dtype]
    while shape and shape[-1] % vector:
        vector //= 2
    return Linear(vector if shape else 1)


def slots_of(layout: Layout, seat: Seat) -> Slots:
    """Which element each register of the wave at `seat` holds; coordinates along the kept axes."""
    coords, dims, held = _full(layout.base, layout.shape, seat)
    owned = held
    for axis in range(len(layout.shape)):
        if axis not in layout.kept:
            # Threads that differ only along a lost axis hold equal values: the first of them writes.
            first = coords[axis] == 0
            owned = first if owned is None else owned & first
    return Slots(tuple(coords[a] for a in layout.kept), dims, held, owned)


def _full(base: object, shape: tuple[int, ...], seat: Seat) -> tuple[tuple[Ints, ...], tuple[int, int], Bools | None]:
    match base:
        case Uniform():
            first = np.zeros((seat.lanes, 1), np.bool_)
            first[0, 0] = seat.position == 0
            return (), (seat.lanes, 1), first
        case Linear(vector):
            return _linear(vector, shape, seat)
        case Accumulator():
            tile = accumulator_tile(base, seat.position)
            return _scattered((tile.rows[:, None], tile.columns[None, :]), tile.place, tile.slots, seat)
        case OperandMap():
            tile = operand_tile(base, seat.position)
            k: Ints = np.arange(int(tile.loaded.shape[1]))
            return _scattered((tile.rows[:, None], k[None, :]), tile.loaded, tile.slots, seat)
        case _:
            raise AssertionError(f"no registers for {base}")


def _linear(vector: int, shape: tuple[int, ...], seat: Seat) -> tuple[tuple[Ints, ...], tuple[int, int], Bools | None]:
    """Chunk c = j * threads + t belongs to thread t and fills its slots j * vector and following."""
    size = int(np.prod(shape, dtype=np.intp))
    threads = seat.waves * seat.lanes
    turns = max(1, -(-size // (vector * threads)))
    thread = seat.position * seat.lanes + np.arange(seat.lanes)[:, None, None]
    element = (np.arange(turns)[None, :, None] * threads + thread) * vector + np.arange(vector)[None, None, :]
    element = element.reshape(seat.lanes, turns * vector)
    held = element < size
    coords = np.unravel_index(np.where(held, element, 0), shape)
    return tuple(c.astype(np.intp) for c in coords), element.shape, None if held.all() else held


def _scattered(
    matrix: tuple[Ints, Ints], place: Ints, slots: int, seat: Seat
) -> tuple[tuple[Ints, ...], tuple[int, int], Bools | None]:
    """Turn (row, column) → register into register → (row, column)."""
    dims = (seat.lanes, slots)
    tables: list[Ints] = []
    for coordinate in matrix:
        table = np.zeros(dims, np.intp)
        table.reshape(-1)[place] = np.broadcast_to(coordinate, place.shape)
        tables.append(table)
    assert place.size == table_size(dims), "a matrix instruction leaves registers without an element"
    return tuple(tables), dims, None


def table_size(dims: tuple[int, int]) -> int:
    """Entries of a table by lane and register."""
    return dims[0] * dims[1]


def unite(a: Layout, a_names: tuple[str, ...], b: Layout, b_names: tuple[str, ...]) -> Layout | None:
    """The layout of a pointwise result; None: the two do not broadcast together."""
    if a.uniform or b.uniform:
        return b if a.uniform else a
    if a.base == b.base and a.shape == b.shape:
        return Layout(a.base, a.shape, tuple(sorted({*a.kept, *b.kept})))
    big, names, small, small_names = (
        (a, a_names, b, b_names) if len(a.kept) >= len(b.kept) else (b, b_names, a, a_names)
    )
    return big if match_axes(small, small_names, big, names) is not None else None


def match_axes(
    small: Layout, small_names: tuple[str, ...], big: Layout, big_names: tuple[str, ...]
) -> tuple[int, ...] | None:
    """For each axis of `small` its axis in `big`: by name where both are named, else counted from the last."""
    matched: list[int] = []
    for back, (extent, name) in enumerate(zip(reversed(small.dims), reversed(small_names), strict=True)):
        at = len(big.dims) - 1 - back
        if name and big_names.count(name) == 1:
            at = big_names.index(name)
        if at < 0 or big.dims[at] != extent or at in matched:
            return None
        matched.append(at)
    return tuple(reversed(matched))


def registers_for(small: Slots, axes: tuple[int, ...], big: Slots) -> Ints | None:
    """For each slot of `big` the flat slot of `small`, of the same lane, with its element; -1: the lane lacks it.

    None: slot by slot the same, so nothing needs to move.
    """
    wanted = [big.coords[a] for a in axes]
    if small.dims == big.dims and all(np.array_equal(w, c) for w, c in zip(wanted, small.coords, strict=True)):
        same_held = small.held is None if big.held is None else np.array_equal(small.held, big.held)  # pyright: ignore[reportArgumentType]
        if same_held:
            return None
    result = np.full(big.dims, -1, np.intp)
    for lane in range(big.dims[0]):
        mine = {
            tuple(int(c[lane, s]) for c in small.coords): lane * small.dims[1] + s
            for s in range(small.dims[1])
            if small.held is None or small.held[lane, s]
        }
        for s in range(big.dims[1]):
            result[lane, s] = mine.get(tuple(int(w[lane, s]) for w in wanted), -1)
    return result
