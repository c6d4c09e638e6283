"""Views resolved: which elements of a tensor or of an LDS object a view's coordinates name.

Both kinds have two axes of their own. A global axis starts somewhere along an axis of the tensor and ends at limits; a
shared one lies within its buffer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from argus.dsl.ir import At, Cols, Field, Gather, Ref, Rows, Shared, TensorParam, TileAt, Transposed, View
from argus.dsl.ir.types import Types
from argus.dsl.layout import Const, Expr, Op
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import constant, simplify
from argus.dsl.lower.gfx942.index import Indices, product


@dataclass(frozen=True, slots=True)
class GlobalAxis:
    """Coordinate c of the view is coordinate `start + c` of the tensor's axis.

    Attributes:
        limits: The tensor's coordinate is valid below each of these (and at 0 or above).
        stride: Elements between neighbours.
        count: Extent of the view along this axis; None: to the end of the tensor.
    """

    start: Expr
    limits: tuple[Expr, ...]
    stride: Expr
    count: int | None

    def shifted(self, by: Expr, count: int) -> GlobalAxis:
        start = simplify(Op("+", (self.start, by)))
        limits = self.limits
        if self.count is not None:
            limits = (*limits, simplify(Op("+", (self.start, Const(self.count)))))
        return replace(self, start=start, limits=limits, count=count)


@dataclass(frozen=True, slots=True)
class GlobalView:
    """Two axes of a tensor, the others fixed; `offset` elements for those."""

    param: TensorParam
    offset: Expr
    axes: tuple[GlobalAxis, ...]


@dataclass(frozen=True, slots=True)
class SharedView:
    """Rows and columns of one LDS object.

    Attributes:
        stage: Leading indices, which choose the object.
        starts: First row and first column.
        shape: Rows and columns of the view before any transposition.
        transposed: The view's axes are (columns, rows).
    """

    name: str
    buffer: Shared
    stage: tuple[Expr, ...]
    starts: tuple[int, int]
    shape: tuple[int, int]
    transposed: bool = False


def root(view: View) -> Ref:
    """The buffer or tensor that a view is of."""
    while not isinstance(view, Ref):
        view = view.src
    return view


def stage_indices(view: View) -> list[Expr]:
    """Fixed leading indices of a view, wherever they stand in it."""
    found: list[Expr] = []
    while not isinstance(view, Ref):
        if isinstance(view, At):
            found.append(view.index)
        view = view.src
    return found


def is_shared(view: View, types: Types) -> bool:
    """Whether a view is of a shared buffer."""
    return root(view).name in types.buffers


def global_view(view: View, types: Types) -> GlobalView:
    """Resolve a view of a tensor.

    Raises:
        KernelError: For views that this path does not lower.
    """
    match view:
        case Ref(name=name):
            param = types.params[name]
            strides = [product(list(param.shape[i + 1 :])) for i in range(len(param.shape))]
            axes = (GlobalAxis(Const(0), (n,), s, None) for n, s in zip(param.shape, strides, strict=True))
            return GlobalView(param, Const(0), tuple(axes))
        case TileAt(src=src, shape=shape, index=index, pad=pad):
            if pad:
                raise unsupported(view, f"a tile of global memory is padded with 0 only, not {pad:g}")
            base = global_view(src, types)
            starts = (simplify(Op("*", (i, Const(n)))) for i, n in zip(index, shape, strict=True))
            axes = (a.shifted(s, n) for a, s, n in zip(base.axes, starts, shape, strict=True))
            return replace(base, axes=tuple(axes))
        case At(src=src, index=index):
            base = global_view(src, types)
            first, *others = base.axes
            at = Op("*", (Op("+", (first.start, index)), first.stride))
            return replace(base, offset=simplify(Op("+", (base.offset, at))), axes=tuple(others))
        case Rows(src=src, start=start, count=count):
            base = global_view(src, types)
            return replace(base, axes=(base.axes[0].shifted(start, count), *base.axes[1:]))
        case Cols(src=src, start=start, count=count):
            base = global_view(src, types)
            return replace(base, axes=(base.axes[0], base.axes[1].shifted(start, count)))
        case Transposed(src=src):
            base = global_view(src, types)
            return replace(base, axes=base.axes[::-1])
        case Gather() | Field():
            raise unsupported(view, "gathered and scattered rows are not lowered yet")


def shared_view(view: View, types: Types, indices: Indices) -> SharedView:
    """Resolve a view of a shared buffer; places inside it must be constants.

    Raises:
        KernelError: For views that this path does not lower.
    """
    match view:
        case Ref(name=name):
            buffer = types.buffers[name]
            return SharedView(name, buffer, (), (0, 0), rows_and_columns(buffer))
        case At(src=src, index=index):
            base = shared_view(src, types, indices)
            if len(base.stage) == len(base.buffer.shape) - 2:
                raise unsupported(view, "one row of a shared buffer is not lowered as a view yet", "use rows(i, 1)")
            return replace(base, stage=(*base.stage, indices.resolve(index)))
        case Rows(src=src, start=start, count=count):
            return _part(view, shared_view(src, types, indices), 0, indices.resolve(start), count)
        case Cols(src=src, start=start, count=count):
            return _part(view, shared_view(src, types, indices), 1, indices.resolve(start), count)
        case TileAt(src=src, shape=shape, index=index):
            base = shared_view(src, types, indices)
            for axis, (n, i) in enumerate(zip(shape, index, strict=True)):
                base = _part(view, base, axis, indices.resolve(Op("*", (i, Const(n)))), n)
            return base
        case Transposed(src=src):
            base = shared_view(src, types, indices)
            return replace(base, transposed=not base.transposed)
        case Gather() | Field():
            raise unsupported(view, "gathered and scattered rows are not lowered yet")


def _part(view: View, base: SharedView, axis: int, start: Expr, count: int) -> SharedView:
    first = constant(start)
    if first is None:
        raise unsupported(view, "a part of a shared buffer starts at a constant")
    axis = 1 - axis if base.transposed else axis
    starts, shape = list(base.starts), list(base.shape)
    if first < 0 or first + count > shape[axis]:
        raise unsupported(view, f"{first} to {first + count - 1} lies outside the {shape[axis]} of this shared view")
    starts[axis] += first
    shape[axis] = count
    return replace(base, starts=(starts[0], starts[1]), shape=(shape[0], shape[1]))


def rows_and_columns(buffer: Shared) -> tuple[int, int]:
    """Of one stage; a buffer of one axis is one row."""
    *others, columns = buffer.shape
    return (others[-1] if others else 1), columns
