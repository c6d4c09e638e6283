"""Loads, stores and copies: shapes, dtypes, spaces, and what the copy engines can move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from argus.dsl.diagnostics import Code, Diagnostic
from argus.dsl.ir.divides import Multiples, divisor
from argus.dsl.ir.nodes import (
    Assign,
    AtomicAdd,
    Cols,
    CopyAsync,
    Gather,
    Load,
    Node,
    Ref,
    Stmt,
    Store,
    TileAt,
    Transposed,
    View,
)
from argus.dsl.ir.report import diagnostic
from argus.dsl.ir.rewrite import walk
from argus.dsl.ir.shapes import DTYPE_BYTES, Types, ViewType, base, view_type
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import Const, Expr

# One wave instruction moves 4 bytes a lane to 256 contiguous bytes of LDS.
DMA_BYTES = 4
DMA_SEGMENT_BYTES = 256
TMA_BOX = 256
TMA_BYTES = 16
ATOMIC_DTYPES = ("f16", "bf16", "f32", "i32")


def memory_problems(types: Types, node: Stmt, known: Multiples) -> Iterator[Diagnostic]:
    """What is wrong with the memory that one statement touches."""
    match node:
        case Assign(value=Load(view=view)):
            yield from _picks(view, Code.BAD_CALL, scatter=False)
        case Store(view=view):
            yield from _picks(view, Code.BAD_CALL, scatter=True)
            yield from _stored(types, node)
        case AtomicAdd(view=view):
            yield from _picks(view, Code.BAD_CALL, scatter=True)
            yield from _stored(types, node)
            if (dtype := view_type(types, view).dtype) not in ATOMIC_DTYPES:
                yield diagnostic(Code.BAD_DTYPE, node.span, f"no atomic adds {dtype}", "accumulate in f32")
        case CopyAsync():
            yield from _copy(types, node, known)
        case _:
            pass


def _picks(view: View, code: Code, *, scatter: bool) -> Iterator[Diagnostic]:
    for node in walk(cast("Node", view)):
        if isinstance(node, Gather) and node.scatter != scatter:
            have, want = ("gather", "scatter") if scatter else ("scatter", "gather")
            verb = "written" if scatter else "read"
            yield diagnostic(
                code, node.span, f"rows that are {verb} are picked by {want}", f"write `.{want}(…)`, not `.{have}(…)`"
            )


def _stored(types: Types, node: Store | AtomicAdd) -> Iterator[Diagnostic]:
    view = view_type(types, node.view)
    frag = types.frags.get(node.value.name) if isinstance(node.value, Ref) else None
    shape, dtype = (frag.shape, frag.dtype) if frag is not None else ((), "f32")
    if view.extents is None:
        message = "what is stored to must have a constant shape"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, "store to a tile: `store(C.tile(64, 64)[i, j], x)`")
    elif view.extents != shape:
        message = f"a fragment of shape {list(shape)} is stored to a view of shape {list(view.extents)}"
        hint = "a transposed view? use .T" if view.extents == shape[::-1] else "the shapes must be equal"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, hint)
    elif view.dtype != dtype:
        message = f"{dtype} is stored to memory of {view.dtype}"
        yield diagnostic(Code.BAD_DTYPE, node.span, message, f"convert: x.to({view.dtype})")


# ----------------------------------------------------------------------------------- asynchronous copies


def _copy(types: Types, node: CopyAsync, known: Multiples) -> Iterator[Diagnostic]:
    dst, src = view_type(types, node.dst), view_type(types, node.src)
    yield from _picks(node.src, Code.BAD_CALL, scatter=False)
    outward = node.via == "tma" and (dst.space, src.space) == ("global", "shared")
    if not outward and (dst.space, src.space) != ("shared", "global"):
        message = f"copy_async goes from global to shared memory, this from {src.space} to {dst.space}"
        yield diagnostic(Code.BAD_SPACE, node.span, message, "use load and store")
        return
    if dst.extents is None or src.extents is None:
        yield diagnostic(Code.BAD_SHAPE, node.span, "what is copied must have a constant shape", "copy a tile")
        return
    if dst.extents != src.extents:
        message = f"a copy of shape {list(src.extents)} to shape {list(dst.extents)}"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, "the shapes must be equal")
    elif dst.dtype != src.dtype:
        message = f"a copy of {src.dtype} to memory of {dst.dtype}"
        yield diagnostic(Code.BAD_DTYPE, node.span, message, "copies do not convert: load, .to(…), store")
    elif node.via == "tma":
        inside, outside = (node.src, node.dst) if outward else (node.dst, node.src)
        yield from _tma(types, node, inside, outside, known)
    else:
        yield from _words(types, node, known)
        if node.via == "dma":
            yield from _segments(types, node, dst)


def _words(types: Types, node: CopyAsync, known: Multiples) -> Iterator[Diagnostic]:
    """Each lane moves 4 bytes: neighbours in a row of the tensor, at an address that is a multiple of 4."""
    src = view_type(types, node.src)
    per_word = DMA_BYTES // DTYPE_BYTES[src.dtype]
    if per_word == 1:
        return
    if any(isinstance(n, Transposed) for n in walk(cast("Node", node.src))):
        message = f"a lane moves {DMA_BYTES} bytes, but {src.dtype} neighbours are not adjacent in a transposed view"
        yield diagnostic(
            Code.BAD_SHAPE, node.span, message, "copy it as it lies and transpose the shared buffer: `As.T`"
        )
        return
    yield from _aligned(types, node, node.src, known, elements=per_word, unit_bytes=DMA_BYTES)


def _segments(types: Types, node: CopyAsync, dst: ViewType) -> Iterator[Diagnostic]:
    """Each wave instruction fills 256 contiguous bytes of LDS."""
    buffer = types.buffers[base(node.dst).name]
    element = DTYPE_BYTES[dst.dtype]
    row_bytes = cast("tuple[int, ...]", dst.extents)[-1] * element if dst.shape else element
    if any(isinstance(n, Transposed | Gather) for n in walk(cast("Node", node.dst))):
        yield diagnostic(
            Code.BAD_SHAPE, node.span, "a direct copy fills LDS in order, not transposed", "use load and store"
        )
        return
    gaps = buffer.pad or (dst.shape and dst.shape[-1] != Const(buffer.shape[-1]))
    if gaps and row_bytes % DMA_SEGMENT_BYTES:
        message = f"a direct copy fills {DMA_SEGMENT_BYTES} bytes of LDS without a gap, rows here have {row_bytes}"
        hint = "delete `pad=` and use swizzle=xor(…), or use load and store" if buffer.pad else "copy whole rows"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, hint)
    elif dst.bytes % DMA_SEGMENT_BYTES:
        message = f"a direct copy moves a multiple of {DMA_SEGMENT_BYTES} bytes, this is {dst.bytes}"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, "use a larger tile, or load and store")


def _tma(types: Types, node: CopyAsync, inside: View, outside: View, known: Multiples) -> Iterator[Diagnostic]:
    shared = view_type(types, inside)
    extents = cast("tuple[int, ...]", shared.extents)
    element = DTYPE_BYTES[shared.dtype]
    buffer = types.buffers[base(inside).name]
    if any(isinstance(n, Transposed | Gather) for v in (inside, outside) for n in walk(cast("Node", v))):
        yield diagnostic(
            Code.BAD_SHAPE, node.span, "TMA copies a box as it lies", "copy it untransposed and read `As.T`"
        )
        return
    if not extents or max(extents) > TMA_BOX:
        message = f"a TMA box has extents of 1 to {TMA_BOX}, this is {list(extents)}"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, "split it into several copies")
    elif extents[-1] * element % TMA_BYTES:
        message = f"rows of a TMA box are multiples of {TMA_BYTES} bytes, these have {extents[-1] * element}"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, f"a multiple of {TMA_BYTES // element} elements")
    elif buffer.pad or extents[-1] != buffer.shape[-1]:
        yield diagnostic(
            Code.BAD_SHAPE, node.span, "TMA fills whole rows without padding", "delete `pad=`, copy whole rows"
        )
    else:
        yield from _aligned(types, node, outside, known, elements=TMA_BYTES // element, unit_bytes=TMA_BYTES)


def _aligned(
    types: Types, node: CopyAsync, view: View, known: Multiples, *, elements: int, unit_bytes: int
) -> Iterator[Diagnostic]:
    """Rows of the tensor start at multiples of `elements`, and so does the part that is copied."""
    shape = view_type(types, base(view)).shape
    pitch = shape[-1]
    if len(shape) > 1 and divisor(pitch, known) % elements:
        message = (
            f"rows of `{base(view).name}` have {show_expr(pitch)} elements, which need not be a multiple of {elements}"
        )
        hint = f"the contract must say where({show_expr(pitch)} % {elements} == 0); else use load and store"
        yield diagnostic(Code.BAD_SIZE, node.span, message, hint)
        return
    for start in _column_starts(view):
        if divisor(start, known) % elements:
            message = f"the copy need not start at a multiple of {unit_bytes} bytes in its row"
            yield diagnostic(Code.BAD_SHAPE, node.span, message, f"start at multiples of {elements} elements")
            return
    extents = view_type(types, view).extents
    if extents and extents[-1] % elements:
        message = f"rows of {extents[-1]} elements are no multiple of {unit_bytes} bytes"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, f"copy multiples of {elements} elements")


def _column_starts(view: View) -> Iterator[Expr]:
    """Where along the last axis each step of a view starts, in elements."""
    while not isinstance(view, Ref):
        match view:
            case TileAt(shape=shape, index=index):
                yield index[-1] * shape[-1]
            case Cols(start=start):
                yield start
            case _:
                pass
        view = view.src
