"""Where a view's elements lie: cells of a shared buffer, or coordinates of a global tensor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from argus.dsl.ir import At, Cols, Gather, Ref, Rows, Shared, TensorParam, TileAt, Transposed, View
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Expr
from argus.dsl.layout.affine import TRUE, Affine, Formula, conjunction, ge
from argus.dsl.tags.domain import Comp, Ints, Store, Window

Evaluate = Callable[[Expr], Affine]


class Outside(Exception):
    """A view outside the slice; the message names the construct."""


@dataclass(frozen=True, slots=True)
class Need:
    """What must hold for a sub-view to lie inside its source; `text` says it in the source's words."""

    formula: Formula
    text: str


# --------------------------------------------------------------------------------------------- shared


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells of one buffer, in the view's shape; -1 where a tile reaches beyond its source (padding)."""

    buffer: str
    index: Ints
    pad: float
    needs: tuple[Need, ...]
    key: tuple[object, ...]

    @property
    def flat(self) -> Ints:
        return self.index.ravel()


class SharedViews:
    """Resolves views of shared buffers; a view met again with the same indices is looked up."""

    def __init__(self, buffers: dict[str, Shared]) -> None:
        self._buffers = buffers
        self._known: dict[tuple[object, ...], Cells] = {}

    def resolve(self, view: View, constant: Callable[[Expr, str], int]) -> Cells:
        """Cells of a view whose indices `constant` evaluates; it raises `Outside` where they are symbolic."""
        steps: list[tuple[str, tuple[int, ...], View]] = []
        node: View = view
        while not isinstance(node, Ref):
            steps.append((*_step(node, constant), node))
            node = node.src
        key: tuple[object, ...] = (node.name, *((name, numbers) for name, numbers, _ in reversed(steps)))
        if key not in self._known:
            self._known[key] = self._build(node.name, list(reversed(steps)), key)
        return self._known[key]

    def _build(self, name: str, steps: list[tuple[str, tuple[int, ...], View]], key: tuple[object, ...]) -> Cells:
        shape = self._buffers[name].shape
        index = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape)
        pad, needs = 0.0, list[Need]()
        for kind, numbers, node in steps:
            if kind == "T":
                index = np.swapaxes(index, -1, -2)
            elif kind == "tile":
                assert isinstance(node, TileAt)
                pad = node.pad
                index = _tile(index, node.shape, numbers)
            else:
                axis, (start, count) = (0, (numbers[0], 1)) if kind == "at" else (("rows", "cols").index(kind), numbers)
                extent = index.shape[axis]
                if not (start >= 0 and start + count <= extent):
                    text = f"{_SPELLED[kind]} {start}" + (f" to {start + count - 1}" if kind != "at" else "")
                    return Cells(name, index[:0], pad, (Need(ge(Affine(-1)), f"{text} of {extent}"),), key)
                index = index[start] if kind == "at" else index.take(np.arange(start, start + count), axis)
        return Cells(name, np.ascontiguousarray(index), pad, tuple(needs), key)


_SPELLED = {"at": "index", "rows": "rows", "cols": "columns"}


def _step(node: View, constant: Callable[[Expr, str], int]) -> tuple[str, tuple[int, ...]]:
    match node:
        case At(index=index):
            return "at", (constant(index, "index"),)
        case Rows(start=start, count=count):
            return "rows", (constant(start, "first row"), count)
        case Cols(start=start, count=count):
            return "cols", (constant(start, "first column"), count)
        case Transposed():
            return "T", ()
        case TileAt(index=index):
            return "tile", tuple(constant(i, "tile index") for i in index)
        case _:
            raise Outside(f"the view {type(node).__name__}")


def _tile(index: Ints, shape: tuple[int, ...], at: tuple[int, ...]) -> Ints:
    out = np.full(shape, -1)
    source, target = list[slice](), list[slice]()
    for extent, size, i in zip(index.shape, shape, at, strict=True):
        first, last = max(0, i * size), min(extent, (i + 1) * size)
        if first >= last:
            return out
        source.append(slice(first, last))
        target.append(slice(first - i * size, last - i * size))
    out[tuple(target)] = index[tuple(source)]
    return out


def byte_offsets(buffer: Shared) -> Ints:
    """Byte offset of each logical element of a buffer, swizzle and pad applied, row-major over its shape."""
    width = DTYPE_BYTES[buffer.dtype]
    columns = buffer.shape[-1]
    rows = int(np.prod(buffer.shape[:-1], dtype=np.int64))
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    if buffer.swizzle is not None:
        swizzle = buffer.swizzle
        turn = row // swizzle.rows_for((columns + buffer.pad) * width) % swizzle.chunks
        chunk = column // swizzle.unit
        chunk = chunk // swizzle.chunks * swizzle.chunks + ((chunk % swizzle.chunks) ^ turn)
        column = chunk * swizzle.unit + column % swizzle.unit
    return (row * (columns + buffer.pad) + column).ravel() * width


# --------------------------------------------------------------------------------------------- global


PICKS = ">"  # `slot>t`: the coordinate along t is what slot says


class Pick(Protocol):
    """What a vector of integers picks: see `argus.dsl.tags.gather`."""

    @property
    def length(self) -> int: ...

    def windows(self, edge: Edge) -> tuple[Window, ...]:
        """Where elements that lie along `edge` are data."""
        ...

    def needs(self, extent: Affine) -> tuple[Need, ...]:
        """What must hold for all that it picks to lie within an extent."""
        ...

    def comps(self, edge: Edge, rows: Ints, store: Store) -> tuple[Comp, ...]:
        """The components of elements that lie in these rows of the view, as places along `edge`."""
        ...

    @property
    def pad(self) -> float | None:
        """The integer beyond the tensor."""
        ...

    def all_data(self) -> Formula:
        """No place lies beyond the tensor of the integers."""
        ...

    @property
    def tensor(self) -> str:
        """The tensor of the integers."""
        ...

    @property
    def along(self) -> str:
        """The axis of that tensor along which they lie."""
        ...

    def base(self, axis: str) -> Affine:
        """The coordinate of the first."""
        ...


Gathered = Callable[[str, str], Pick]  # by the name of the integers, along an axis


@dataclass(frozen=True, slots=True)
class Edge:
    """One dimension of a view of a tensor: elements `base` to `base + extent - 1` of tensor axis `axis`.

    With a `pick`, those are places in a vector of integers, which tell the elements of the axis.
    """

    axis: int
    base: Affine
    extent: Affine
    pick: Pick | None = None


@dataclass(frozen=True, slots=True)
class GlobalView:
    """A view of a tensor as coordinates.

    Attributes:
        edges: The view's dimensions.
        fixed: Tensor axes that an index fixed, with their coordinate.
        windows: Coordinates outside are padding; the axis is named by its number.
        padded: Whether a tile bounds the view, so that it may reach outside.
        pad: What reads outside give.
    """

    tensor: TensorParam
    edges: tuple[Edge, ...]
    fixed: tuple[tuple[int, Affine], ...]
    windows: tuple[tuple[int, Affine, Affine], ...]
    pad: float
    needs: tuple[Need, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Static shape.

        Raises:
            Outside: If an extent is symbolic.
        """
        for edge in self.edges:
            if not edge.extent.is_const:
                raise Outside(f"a view of {self.tensor.name} without a tile")
        return tuple(edge.extent.const for edge in self.edges)

    def axis_windows(self) -> tuple[Window, ...]:
        return tuple(Window(self.tensor.axes[axis], lo, hi) for axis, lo, hi in self.windows)


def global_view(view: View, tensor: TensorParam, evaluate: Evaluate, gathered: Gathered | None = None) -> GlobalView:
    """Coordinates of a view of a tensor parameter; `gathered` tells what a vector of integers picks."""
    match view:
        case Gather(src=src, index=index) if gathered is not None and isinstance(index, Ref):
            inner = global_view(src, tensor, evaluate, gathered)
            first = inner.edges[0]
            if first.pick is not None or first.base != Affine() or first.extent != evaluate(tensor.shape[first.axis]):
                raise Outside("a gather from a part of a tensor")
            pick = gathered(index.name, tensor.axes[first.axis])
            edges = (Edge(first.axis, Affine(), Affine(pick.length), pick), *inner.edges[1:])
            windows = tuple(w for w in inner.windows if w[0] != first.axis)
            needs = (*inner.needs, *pick.needs(first.extent))
            return replace(inner, edges=edges, windows=windows, needs=needs)
        case Ref():
            edges = tuple(Edge(i, Affine(), evaluate(extent)) for i, extent in enumerate(tensor.shape))
            windows = tuple((e.axis, Affine(), e.extent) for e in edges)
            return GlobalView(tensor, edges, (), windows, 0.0, ())
        case Transposed(src=src):
            inner = global_view(src, tensor, evaluate, gathered)
            return replace(inner, edges=(inner.edges[1], inner.edges[0], *inner.edges[2:]))
        case TileAt(src=src, shape=shape, index=index, pad=pad):
            inner = global_view(src, tensor, evaluate, gathered)
            edges, windows = list[Edge](), list(inner.windows)
            for edge, size, i in zip(inner.edges, shape, index, strict=True):
                window = (edge.axis, edge.base, edge.base + edge.extent)
                if edge.pick is None and window not in windows:
                    windows.append(window)
                edges.append(replace(edge, base=edge.base + evaluate(i) * size, extent=Affine(size)))
            return replace(inner, edges=tuple(edges), windows=tuple(windows), pad=pad)
        case At(src=src, index=index):
            inner = global_view(src, tensor, evaluate, gathered)
            first, at = inner.edges[0], evaluate(index)
            if first.pick is not None:
                raise Outside("one row of a gather")
            need = _inside(at, Affine(1), first.extent, f"index {at}")
            fixed = (*inner.fixed, (first.axis, first.base + at))
            return replace(inner, edges=inner.edges[1:], fixed=fixed, needs=(*inner.needs, *need))
        case Rows(src=src, start=start, count=count):
            return _part(global_view(src, tensor, evaluate, gathered), 0, evaluate(start), count, "rows")
        case Cols(src=src, start=start, count=count):
            return _part(global_view(src, tensor, evaluate, gathered), 1, evaluate(start), count, "columns")
        case _:
            raise Outside(f"the view {type(view).__name__}")


def _part(inner: GlobalView, axis: int, start: Affine, count: int, word: str) -> GlobalView:
    edge = inner.edges[axis]
    need = _inside(start, Affine(count), edge.extent, f"{word} {start} to {start + (count - 1)}")
    edges = list(inner.edges)
    edges[axis] = replace(edge, base=edge.base + start, extent=Affine(count))
    return replace(inner, edges=tuple(edges), needs=(*inner.needs, *need))


def _inside(start: Affine, count: Affine, extent: Affine, text: str) -> tuple[Need, ...]:
    inside = conjunction((ge(start), ge(extent - start - count)))
    return () if inside == TRUE else (Need(inside, f"{text} of {extent}"),)


def root(view: View) -> str:
    """The buffer or tensor that a view looks at."""
    while not isinstance(view, Ref):
        view = view.src
    return view.name
