"""Where shared buffers and mbarriers lie, and what views of the buffers mean in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from argus.dsl.ir import Assign, At, Cols, Kernel, MBar, Node, Ref, Rows, Shared, View
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import ZERO, Const, Expr, Op
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import simplify

# The 128-byte swizzle permutes by address bits 7 to 9, so tiles start at multiples of what it repeats in.
SWIZZLE_BYTES = 1024
PLAIN_BYTES = 128
MBAR_BYTES = 8


@dataclass(frozen=True, slots=True)
class Placement:
    """Byte offsets from the aligned start of dynamic shared memory.

    Attributes:
        total: Bytes to ask for: the start is aligned by the kernel itself.
    """

    buffers: Mapping[str, int]
    mbars: Mapping[str, int]
    total: int


def place(kernel: Kernel) -> Placement:
    """Buffers in order of the text, then mbarriers."""
    buffers: dict[str, int] = {}
    mbars: dict[str, int] = {}
    at = 0
    for s in kernel.body:
        match s:
            case Assign(targets=(name,), value=Shared() as buffer):
                align = SWIZZLE_BYTES if buffer.swizzle is not None else PLAIN_BYTES
                at = -(-at // align) * align
                buffers[name] = at
                at += buffer_bytes(buffer)
            case _:
                pass
    at = -(-at // MBAR_BYTES) * MBAR_BYTES
    for s in kernel.body:
        match s:
            case Assign(targets=(name,), value=MBar(count=count)):
                mbars[name] = at
                at += MBAR_BYTES * count
            case _:
                pass
    return Placement(buffers, mbars, at + SWIZZLE_BYTES)


def buffer_bytes(buffer: Shared) -> int:
    """Bytes of a buffer, all stages, padding included."""
    size = row_bytes(buffer)
    for extent in buffer.shape[:-1]:
        size *= extent
    return size


def row_bytes(buffer: Shared) -> int:
    """Bytes from row to row."""
    return (buffer.shape[-1] + buffer.pad) * DTYPE_BYTES[buffer.dtype]


@dataclass(frozen=True, slots=True)
class SharedView:
    """Rows of a buffer, and consecutive columns of them.

    Attributes:
        offset: Bytes from the buffer's start to the first row.
        row: Number of that row in its stage.
        columns: First column, in elements.
        shape: Extents left.
    """

    name: str
    buffer: Shared
    offset: Expr
    row: Expr
    columns: Expr
    shape: tuple[int, ...]


def shared_view(view: View, buffers: Mapping[str, Shared]) -> SharedView:
    """A view of shared memory.

    Raises:
        KernelError: For transposed, tiled and gathered ones.
    """
    match view:
        case Ref(name=name):
            return SharedView(name, buffers[name], ZERO, ZERO, ZERO, buffers[name].shape)
        case At(src=src, index=index):
            inner = shared_view(src, buffers)
            if len(inner.shape) <= 2:
                raise unsupported(view, "a single row of a shared buffer is not lowered for sm_90a yet")
            stage = row_bytes(inner.buffer)
            for extent in inner.shape[1:-1]:
                stage *= extent
            return replace(inner, offset=_sum(inner.offset, index, stage), shape=inner.shape[1:])
        case Rows(src=src, start=start, count=count):
            inner = _tile(shared_view(src, buffers), view)
            offset = _sum(inner.offset, start, row_bytes(inner.buffer))
            return replace(inner, offset=offset, row=_sum(inner.row, start, 1), shape=(count, inner.shape[1]))
        case Cols(src=src, start=start, count=count):
            inner = _tile(shared_view(src, buffers), view)
            return replace(inner, columns=_sum(inner.columns, start, 1), shape=(inner.shape[0], count))
        case _:
            raise unsupported(view, "this view of shared memory is not lowered for sm_90a yet", "use [i], rows or cols")


def _tile(inner: SharedView, node: Node) -> SharedView:
    if len(inner.shape) != 2:
        raise unsupported(node, f"rows and columns of a view of {len(inner.shape)} axes are not lowered yet")
    return inner


def _sum(base: Expr, index: Expr, step: int) -> Expr:
    return simplify(Op("+", (base, Op("*", (index, Const(step))))))
