"""What a type is, and the types of views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from argus.dsl.diagnostics import Code
from argus.dsl.ir.nodes import (
    At,
    Cols,
    Dtype,
    Field,
    Gather,
    Ref,
    Rows,
    Shared,
    Space,
    TensorParam,
    TileAt,
    Transposed,
    View,
)
from argus.dsl.ir.report import kernel_error
from argus.dsl.layout import Const, Expr, FragMap

DTYPE_BYTES: Mapping[Dtype, int] = {"f16": 2, "bf16": 2, "f8": 1, "f32": 4, "i8": 1, "i32": 4, "bool": 1}


@dataclass(frozen=True, slots=True)
class ViewType:
    """A view's static type. `axes` holds tag-axis names where they are known, else ''."""

    dtype: Dtype
    shape: tuple[Expr, ...]
    space: Space
    axes: tuple[str, ...]

    @property
    def extents(self) -> tuple[int, ...] | None:
        """The shape, where it is constant."""
        out = tuple(n.value for n in self.shape if isinstance(n, Const))
        return out if len(out) == len(self.shape) else None

    @property
    def bytes(self) -> int:
        """Size of a view of constant shape."""
        extents = self.extents
        assert extents is not None, "a view of symbolic shape has no size"
        return prod(extents) * DTYPE_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class FragType:
    """A fragment's static type; shape () and map `Uniform` for scalars."""

    dtype: Dtype
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    map: FragMap
    regs: Literal["vgpr", "agpr"] = "vgpr"


@dataclass(frozen=True, slots=True)
class Types:
    """Everything a consumer of core form asks about names.

    Attributes:
        buffers: Shared buffers; what their axes are called follows from what is stored (`buffer_axes`).
        sizes: Size symbols in order of first appearance in the signature.
        scalars: Scalar parameters.
        indices: Block indices, group indices, split bounds, loop variables and loaded integers.
        views: Names of tagged views.
    """

    params: Mapping[str, TensorParam]
    buffers: Mapping[str, Shared]
    frags: Mapping[str, FragType]
    sizes: tuple[str, ...]
    scalars: Mapping[str, Dtype] = field(default_factory=dict[str, Dtype])
    indices: tuple[str, ...] = ()
    buffer_axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    views: Mapping[str, ViewType] = field(default_factory=dict[str, ViewType])


def view_type(types: Types, view: View) -> ViewType:
    """The type of a view in core form.

    Raises:
        KernelError: BAD_SHAPE where an operation does not fit the view's axes.
    """
    match view:
        case Ref(name=name):
            return _root(types, name)
        case TileAt(src=src, shape=shape):
            inner = view_type(types, src)
            if len(shape) != len(inner.shape):
                message = f"a tile of {len(shape)} axes of a view of {len(inner.shape)}"
                raise kernel_error(Code.BAD_SHAPE, view.span, message, "give one extent for each axis")
            return ViewType(inner.dtype, tuple(Const(n) for n in shape), inner.space, inner.axes)
        case At(src=src):
            inner = _with_rank(types, view, src, 1)
            return ViewType(inner.dtype, inner.shape[1:], inner.space, inner.axes[1:])
        case Rows(src=src, count=count):
            inner = _with_rank(types, view, src, 1)
            return ViewType(inner.dtype, (Const(count), *inner.shape[1:]), inner.space, inner.axes)
        case Cols(src=src, count=count):
            inner = _with_rank(types, view, src, 2)
            shape = (inner.shape[0], Const(count), *inner.shape[2:])
            return ViewType(inner.dtype, shape, inner.space, inner.axes)
        case Transposed(src=src):
            inner = _with_rank(types, view, src, 2)
            if len(inner.shape) != 2:
                raise kernel_error(Code.BAD_SHAPE, view.span, f".T needs 2 axes, this view has {len(inner.shape)}")
            return ViewType(inner.dtype, inner.shape[::-1], inner.space, inner.axes[::-1])
        case Gather(src=src, index=index):
            inner = _with_rank(types, view, src, 1)
            rows = types.frags.get(index.name) if isinstance(index, Ref) else None
            if rows is None or rows.dtype != "i32" or len(rows.shape) != 1:
                message = "rows are picked by an i32 fragment of one axis"
                raise kernel_error(Code.BAD_DTYPE, view.span, message, "load it: `x.gather(load(slots.tile(64)[b]))`")
            shape = (Const(rows.shape[0]), *inner.shape[1:])
            return ViewType(inner.dtype, shape, inner.space, (rows.axes[0], *inner.axes[1:]))
        case Field():
            raise AssertionError("stages are expanded before views are typed")


def _with_rank(types: Types, view: View, src: View, rank: int) -> ViewType:
    inner = view_type(types, src)
    if len(inner.shape) < rank:
        message = f"this needs a view of at least {rank} axes, the view has {len(inner.shape)}"
        raise kernel_error(Code.BAD_SHAPE, view.span, message)
    return inner


def _root(types: Types, name: str) -> ViewType:
    if name in types.params:
        p = types.params[name]
        return ViewType(p.dtype, p.shape, "global", p.axes)
    if name in types.views:
        return types.views[name]
    buffer = types.buffers[name]
    axes = types.buffer_axes.get(name, ("",) * len(buffer.shape))
    return ViewType(buffer.dtype, tuple(Const(n) for n in buffer.shape), "shared", axes)


def base(view: View) -> Ref:
    """The name at the root of a view."""
    while not isinstance(view, Ref):
        view = view.src
    return view
