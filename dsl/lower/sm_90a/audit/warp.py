"""Events, as core form means them, of what lanes do each for itself: chunks, matrices read, mma.sync, pairs stored."""

from __future__ import annotations

from collections.abc import Iterator

from argus.dsl.ir import CopyAsync, Load, MmaInto, Operand, Ref, Store, TileAt, View
from argus.dsl.layout import Accumulator, OperandMap, evaluate
from argus.dsl.lower.sm_90a.audit.events import Place
from argus.dsl.lower.sm_90a.audit.thread import WARP, Thread, bytes_of, corner_of, root
from argus.dsl.targets.atoms import ATOMS

CHUNK = 8  # 16-bit elements


def warpgroup(t: Thread, acc: str) -> bool:
    """Whether an accumulator is wgmma's."""
    where = t.types.frags[acc].map
    assert isinstance(where, Accumulator)
    return ATOMS[where.atom].waves > 1


def zeroed(t: Thread, acc: str) -> None:
    """Each accumulator atom set to zero."""
    rows, columns = _own(t, _accumulator(t, acc))
    for i in range(len(rows) * len(columns) // 128):
        t.add("zero", (acc, i))


def copied(t: Thread, s: CopyAsync) -> None:
    """The chunks of an asynchronous copy that this lane starts."""
    for _, row, column in _dealt(t, corner_of(t, s.dst)[1]):
        t.add("chunk copy", _place(t, s.dst, row, column), *_element(t, s.src, row, column))


def loaded(t: Thread, target: str, node: Load) -> None:
    """The chunks that this lane loads into registers."""
    t.turns.add(target)
    for turn, row, column in _dealt(t, list(t.types.frags[target].shape)):
        t.add("chunk load", (target, turn), *_element(t, node.view, row, column))


def stored(t: Thread, s: Store) -> None:
    """The chunks that this lane stores from registers."""
    assert isinstance(s.value, Ref)
    for turn, row, column in _dealt(t, corner_of(t, s.view)[1]):
        t.add("chunk store", _place(t, s.view, row, column), (s.value.name, turn))


def read(t: Thread, target: str, node: Operand) -> None:
    """The row whose address this lane gives to each `ldmatrix.x4`: row lane % 8 of matrix lane // 8.

    Matrix i of A's sixteen rows holds rows 8 * (i % 2) and k 8 * (i // 2); of B's, rows 8 * (i // 2) and k 8 * (i % 2).
    """
    kind = t.types.frags[target].map
    assert isinstance(kind, OperandMap)
    matrix, j = divmod(t.lane, 8)
    own = _own(t, kind.acc)[0 if node.side == "a" else 1]
    by_row, by_k = (matrix % 2, matrix // 2) if node.side == "a" else (matrix // 2, matrix % 2)
    for i, start in enumerate(range(own.start, own.stop, 16)):
        column = 16 * evaluate(node.ks, t.env) + 8 * by_k
        t.add("matrices", (target, i), _place(t, node.src, start + 8 * by_row + j, column))


def multiplied(t: Thread, s: MmaInto) -> None:
    """Atom (p, q) of the warp's part from rows 16p of A and columns 8q of B, two atoms' columns in each quad."""
    assert isinstance(s.a, Ref)
    assert isinstance(s.b, Ref)
    rows, columns = _own(t, _accumulator(t, s.acc))
    across = len(columns) // 8
    for p in range(len(rows) // 16):
        for q in range(across):
            a, b = (s.a.name, p, 0), (s.b.name, q // 2, 2 * (q % 2))
            t.add("mma sync", t.types.frags[s.a.name].dtype, (s.acc, p * across + q), a, b)


def written(t: Thread, s: Store) -> None:
    """Pairs of the accumulator's columns: of atom row 8h + lane // 4, columns 2 * (lane % 4) and the next."""
    assert isinstance(s.value, Ref)
    name, _ = t.values[s.value.name]
    acc = _accumulator(t, s.value.name)
    wide = ATOMS[acc.atom].waves > 1
    rows, columns = _own(t, acc)
    across = len(columns) // 8
    starts = range(rows.start, rows.stop, 64 if wide else 16)
    for p, start in enumerate(starts):
        for q in range(across):
            for h in range(2):
                row, column = start + 8 * h + t.lane // 4, columns.start + 8 * q + 2 * (t.lane % 4)
                atom, register = (p, 4 * q + 2 * h) if wide else (p * across + q, 2 * h)
                pair = (name, atom, register), (name, atom, register + 1)
                t.add("pair", *_element(t, s.view, row, column), pair)


def _accumulator(t: Thread, name: str) -> Accumulator:
    where = t.types.frags[name].map
    assert isinstance(where, Accumulator)
    return where


def _own(t: Thread, acc: Accumulator) -> tuple[range, range]:
    """Rows and columns of the tile that are this wave's; a warpgroup's rows are 16 of each 64, from the first here."""
    seat = t.wave - t.first
    if ATOMS[acc.atom].waves > 1:
        return range(16 * (seat % 4), acc.m), range(acc.n)
    i, j = divmod(seat, acc.grid[1])
    height, width = acc.m // acc.grid[0], acc.n // acc.grid[1]
    return range(i * height, (i + 1) * height), range(j * width, (j + 1) * width)


def _dealt(t: Thread, shape: list[int]) -> Iterator[tuple[int, int, int]]:
    """This thread's chunks of a tile: turn, row, column of its first element."""
    threads, number = t.team * WARP, t.number - t.first * WARP
    for turn, chunk in enumerate(range(number, shape[0] * shape[1] // CHUNK, threads)):
        row, column = divmod(chunk * CHUNK, shape[1])
        yield turn, row, column


def _element(t: Thread, view: View, row: int, column: int) -> tuple[object, ...]:
    """Tensor, row, column and the tensor's extents."""
    assert isinstance(view, TileAt)
    name = root(view)
    (i, j), (rows, columns) = (evaluate(e, t.env) for e in view.index), view.shape
    (tensor,) = (p for p in t.kernel.params if p.name == name)
    shape = tuple(evaluate(n, t.env) for n in getattr(tensor, "shape", ()))
    return name, i * rows + row, j * columns + column, *shape


def _place(t: Thread, view: View, row: int, column: int) -> Place:
    """Where an element of a shared view lies, permutation of its row's chunks included."""
    corner, _ = corner_of(t, view)
    buffer = t.types.buffers[root(view)]
    row, column = corner[-2] + row, corner[-1] + column
    chunk = column // CHUNK
    if buffer.swizzle is not None:
        chunks = buffer.shape[-1] // CHUNK
        chunk ^= row // (8 // chunks) % chunks
    return Place(root(view), bytes_of(t, root(view), [*corner[:-2], row, 0]) + 16 * chunk)
