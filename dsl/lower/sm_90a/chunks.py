"""Tiles dealt to threads in chunks of eight 16-bit elements: background copies, loads to registers, stores to shared.

Chunk c of a tile, counted row by row, belongs to thread c mod T of the T that run the statement: the interpreter deals
them so, and who waits for a group of copies has its own chunks alone.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from argus.dsl.ir import CopyAsync, Load, Node, Ref, Store, TensorParam, TileAt, View
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import ZERO, Const, Expr, Linear, Op
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import never_negative, resolve, simplify
from argus.dsl.lower.sm_90a.context import LANES, Context, Registers
from argus.dsl.lower.sm_90a.expr import c_name
from argus.dsl.lower.sm_90a.mma import address
from argus.dsl.lower.sm_90a.shared import SharedView, row_bytes, shared_view

ELEMENTS = 8  # of a chunk: 16 bytes
PAIRS = 4  # registers of one
SHARED_ROWS = 128  # bytes that share a permutation


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of a matrix in global memory: where it starts, and its extents.

    Attributes:
        width: Elements, up to a chunk, that the pitch and so every chunk's address is a multiple of.
    """

    tensor: TensorParam
    row: Expr
    column: Expr
    shape: tuple[int, int]
    width: int


def copy(ctx: Context, node: CopyAsync) -> None:
    """`copy_async(shared, tile, via="cp")`: zeros where the tile lies outside the tensor."""
    tile, inside = tile_of(ctx, node.src, node), shared_view(node.dst, ctx.types.buffers)
    _demand_rows(ctx, node, inside, tile.shape)
    if tile.width < 2:
        raise unsupported(node, "cp.async moves at least 4 bytes", "load and store, or an even pitch in the contract")
    with _each(ctx, tile.shape):
        place = _chunk_place(ctx, inside)
        ctx.out.add(f"copy_chunk<{tile.width}>({place}, {_chunk_of(ctx, tile)});")


def load(ctx: Context, target: str, node: Load) -> None:
    """Chunks of a tile in registers, zeros where it lies outside the tensor."""
    kind = ctx.types.frags[target]
    if kind.map != Linear(ELEMENTS):
        raise unsupported(node, f"loads are lowered {ELEMENTS} elements a lane", "delete `map=` and `like=`")
    tile = tile_of(ctx, node.view, node)
    turns = -(-_chunks(tile.shape) // _threads(ctx))
    name = c_name(target)
    ctx.registers[target] = Registers(name, kind, packed=True, atoms=turns, count=PAIRS)
    ctx.out.array("uint32_t", name, turns, PAIRS)
    with _each(ctx, tile.shape):
        ctx.out.add(f"load_chunk<{tile.width}>({name}[turn], {_chunk_of(ctx, tile)});")


def store(ctx: Context, node: Store, src: Registers, view: SharedView) -> None:
    """`store(shared, x)` of chunks."""
    rows, columns = src.type.shape
    _demand_rows(ctx, node, view, (rows, columns))
    with _each(ctx, (rows, columns)):
        ctx.out.add(f"store_chunk({_chunk_place(ctx, view)}, {src.name}[turn]);")


def tile_of(ctx: Context, view: View, node: Node) -> Tile:
    """A tile of a matrix of 16-bit elements.

    Raises:
        KernelError: For other views, other pads than zeros, and starts that may be negative.
    """
    match view:
        case TileAt(src=Ref(name=name), shape=(rows, columns), index=(i, j), pad=pad) if pad == 0:
            tensor = ctx.maps.params[name]
        case _:
            raise unsupported(
                node, "only zero-padded tiles of a matrix are lowered here", "A.tile(rows, columns)[i, j]"
            )
    if DTYPE_BYTES[tensor.dtype] != 2:
        raise unsupported(node, f"tiles of {tensor.dtype} are not lowered for sm_90a yet", "16-bit types are")
    row, column = (simplify(Op("*", (resolve(e, ctx.known), Const(n)))) for e, n in ((i, rows), (j, columns)))
    if not never_negative(row) or not never_negative(column):
        raise unsupported(node, "a tile whose index may be negative is not lowered yet")
    width = ELEMENTS
    while any(ctx.facts.divisor(e) % width for e in (tensor.shape[-1], column)):
        width //= 2
    ctx.pointers[name] = tensor
    return Tile(tensor, row, column, (rows, columns), width)


def permuted(view: SharedView, row: str) -> str:
    """What the chunks of a row are permuted by, given its number; "" where they are not."""
    swizzle = view.buffer.swizzle
    if swizzle is None:
        return ""
    chunks = row_bytes(view.buffer) // 16
    shared_rows = SHARED_ROWS // row_bytes(view.buffer)
    return f"({row} / {shared_rows} % {chunks})" if shared_rows > 1 else f"({row} % {chunks})"


def demand_hardware(ctx: Context, node: Node, view: SharedView) -> None:
    """Rows whose chunks lie as a hardware swizzle puts them, or in order.

    Raises:
        KernelError: For other swizzles, and views that start where theirs does not repeat.
    """
    swizzle, pitch = view.buffer.swizzle, row_bytes(view.buffer)
    if pitch % 16:
        raise unsupported(node, "rows of a shared buffer are multiples of 16 bytes here", "another pad")
    if swizzle is None:
        return
    if swizzle.hardware != {128: "b128", 64: "b64", 32: "b32"}.get(pitch):
        raise unsupported(node, "here a row is as wide as its swizzle", "64 elements and b128, or 32 and b64")
    if ctx.facts.divisor(resolve(view.row, ctx.known)) % 8:
        raise unsupported(node, "the view starts at a multiple of 8 rows, where the swizzle repeats")


def _demand_rows(ctx: Context, node: Node, view: SharedView, shape: tuple[int, int]) -> None:
    demand_hardware(ctx, node, view)
    if view.columns != ZERO or view.shape != shape or shape[1] != view.buffer.shape[-1] or shape[1] % ELEMENTS:
        raise unsupported(node, "chunks fill whole rows of a shared buffer", "a tile as wide as the buffer")


def _threads(ctx: Context) -> int:
    return ctx.program.group * LANES


def _chunks(shape: tuple[int, int]) -> int:
    return shape[0] * shape[1] // ELEMENTS


@contextmanager
def _each(ctx: Context, shape: tuple[int, int]) -> Generator[None]:
    """A loop over this thread's chunks: `turn`, and the chunk's `row` and `column` in its tile."""
    threads, chunks, first = _threads(ctx), _chunks(shape), ctx.program.first * LANES
    thread = "threadIdx.x" if ctx.program.group == ctx.kernel.waves else f"(threadIdx.x - {first}) % {threads}"
    ctx.out.add("#pragma unroll")
    with ctx.out.scope(f"for (int turn = 0; turn < {-(-chunks // threads)}; ++turn)"):
        ctx.out.add(f"const uint32_t part = turn * {threads} + {thread};")
        ctx.out.add(f"const uint32_t row = part / {shape[1] // ELEMENTS};")
        ctx.out.add(f"const uint32_t column = part % {shape[1] // ELEMENTS};")
        if chunks % threads == 0:
            yield
            return
        with ctx.out.scope(f"if (part < {chunks})"):
            yield


def _chunk_place(ctx: Context, view: SharedView) -> str:
    moved = permuted(view, "row")
    column = f"(column ^ {moved})" if moved else "column"
    return f"{address(ctx, view.name, view.offset)} + row * {row_bytes(view.buffer)} + {column} * 16"


def _chunk_of(ctx: Context, tile: Tile) -> str:
    """Tensor, row and column of the chunk's first element, and the tensor's extents."""
    row = f"{ctx.c(tile.row)} + row"
    column = f"{ctx.c(tile.column)} + column * {ELEMENTS}"
    return f"{c_name(tile.tensor.name)}, {row}, {column}, {extents(ctx, tile.tensor)}"


def extents(ctx: Context, tensor: TensorParam) -> str:
    """A tensor's extents as arguments."""
    return ", ".join(ctx.c(n) for n in tensor.shape)
