"""Reads and writes of tensors through buffer instructions.

An address is a 64-bit base, rebased for each tile; `voff`, the lane's byte offset in the tile; and `soff`, the byte
offset of the tile along the contiguous axis, uniform over the wave. A lane that must not touch memory has a `voff`
beyond the buffer's end: such reads give zero and such writes vanish. `soff` takes no part in that check. Both are 32
bits: a tile's rows, and a tensor's, stay below 2^31 bytes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from argus.dsl.ir import Node, View
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import ZERO, Const, Expr, Op, names
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import never_negative, simplify
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.context import Context
from argus.dsl.lower.gfx942.index import product
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import GlobalAxis, GlobalView, global_view

# Half of the offset space away from both ends: no small addend brings it back into the buffer.
NOWHERE = -(2**31)
LANE_BYTES = 4
BUFFER_TYPES = {4: ("b32", "float32"), 8: ("b64", "float32x2"), 16: ("b128", "float32x4")}


@dataclass(frozen=True, slots=True)
class Tile:
    """A two-dimensional view of a tensor, ready for access.

    Attributes:
        minor: Which of the view's axes is contiguous in memory.
    """

    view: GlobalView
    minor: int
    node: Node

    @property
    def bytes(self) -> int:
        return DTYPE_BYTES[self.view.param.dtype]

    @property
    def axes(self) -> tuple[GlobalAxis, GlobalAxis]:
        return self.view.axes[0], self.view.axes[1]


def tile(ctx: Context, view: View) -> Tile:
    """Resolve a view of a tensor.

    Raises:
        KernelError: If it has not two axes, one of them contiguous.
    """
    resolved = global_view(view, ctx.types)
    axes = (
        replace(a, start=ctx.indices.resolve(a.start), limits=tuple(map(ctx.indices.resolve, a.limits)))
        for a in resolved.axes
    )
    resolved = replace(resolved, offset=ctx.indices.resolve(resolved.offset), axes=tuple(axes))
    if len(resolved.axes) != 2:
        raise unsupported(view, f"a view of {len(resolved.axes)} axes is not lowered yet", "use a tile of two axes")
    for minor in (1, 0):
        if resolved.axes[minor].stride == Const(1):
            return Tile(resolved, minor, view)
    raise unsupported(view, "neither axis of this view is contiguous in memory")


def pointer(ctx: Context, t: Tile) -> Tir:
    """The tile's base address: everything but its place along the contiguous axis."""
    major = t.axes[1 - t.minor]
    start = simplify(Op("+", (t.view.offset, Op("*", (major.start, major.stride)))))
    source = ctx.tensors[t.view.param.name]
    if not ctx.indices.invariant(start):
        return tir.address(source, ctx.indices.wide(start))
    base = ctx.bound.get((t.view.param.name, start))
    if base is None:
        base = ctx.emit.bind(f"{t.view.param.name}_tile", ctx.indices.wide(start), "int64")
        ctx.bound[t.view.param.name, start] = base
    return tir.address(source, base)


def scalar_offset(ctx: Context, t: Tile, more: Expr = ZERO) -> Tir:
    """`soff` in bytes: the tile's place along the contiguous axis, and `more` elements."""
    elements = Op("+", (t.axes[t.minor].start, more))
    return ctx.indices.value(Op("*", (elements, Const(t.bytes))))


def lane_offset(ctx: Context, t: Tile, coordinates: tuple[Tir, Tir]) -> Tir:
    """`voff` in bytes, without any mask."""
    row, column = coordinates[1 - t.minor], coordinates[t.minor]
    pitch = ctx.indices.value(product([t.axes[1 - t.minor].stride, Const(t.bytes)]))
    return row * pitch + column * t.bytes


def hoisted_offset(ctx: Context, t: Tile, coordinates: tuple[Tir, Tir], key: Hashable, exists: Tir | None) -> Tir:
    """`voff` computed once, masked along the major axis where its place is fixed, and where `exists` fails."""

    def value() -> Tir:
        conditions = [] if exists is None else [exists]
        if fixed_major(ctx, t):
            conditions += inside(ctx, t.axes[1 - t.minor], coordinates[1 - t.minor])
        return masked(lane_offset(ctx, t, coordinates), conditions)

    return ctx.emit.hoist(key, f"{t.view.param.name}_at", value)


def fixed_major(ctx: Context, t: Tile) -> bool:
    """Whether the tile stays at its place along the non-contiguous axis through all loops."""
    return ctx.indices.invariant(t.axes[1 - t.minor].start)


def identity(ctx: Context, t: Tile) -> Hashable:
    """What of a tile its hoisted offsets depend on."""
    major = t.axes[1 - t.minor]
    place = (major.start, major.limits) if fixed_major(ctx, t) else None
    return (t.view.param.name, t.minor, major.stride, place)


def remaining_masks(ctx: Context, t: Tile, coordinates: tuple[Tir, Tir]) -> list[Tir]:
    """Conditions that `hoisted_offset` leaves to each access."""
    found: list[Tir] = []
    for i, axis in enumerate(t.axes):
        hoisted = i != t.minor and fixed_major(ctx, t)
        if not hoisted:
            found += inside(ctx, axis, coordinates[i])
    return found


def inside(ctx: Context, axis: GlobalAxis, coordinate: Tir, more: Expr = ZERO) -> list[Tir]:
    """Conditions under which coordinate + more lies inside the axis, each one comparison with a scalar."""
    start = simplify(Op("+", (axis.start, more)))
    found = [coordinate < ctx.indices.value(Op("-", (limit, start))) for limit in axis.limits]
    if not never_negative(ctx.indices.resolve(start)):
        found.append(coordinate >= ctx.indices.value(Op("-", (ZERO, start))))
    return found


def masked(offset: Tir, conditions: list[Tir]) -> Tir:
    """The offset where all conditions hold, else one that the buffer descriptor rejects."""
    condition = tir.both(conditions)
    return offset if condition is None else tir.select(condition, offset, tir.i32(NOWHERE))


def check_vector(ctx: Context, t: Tile, vector: int) -> None:
    """Vectors along the contiguous axis must lie inside or outside as a whole, and on 4-byte addresses.

    Raises:
        KernelError: If the sizes are not known to be such.
    """
    minor, major = t.axes[t.minor], t.axes[1 - t.minor]
    for e in (*minor.limits, minor.start, major.stride, t.view.offset):
        if not ctx.facts.divides(vector, e):
            hint = ", ".join(f"{n} % {vector} == 0" for n in sorted(names(e)) if n in ctx.types.sizes)
            raise unsupported(
                t.node,
                f"{vector} elements of {t.view.param.name} at a time need sizes that are known to be multiples of it",
                f"state where({hint}), or use narrower vectors" if hint else "use narrower vectors",
            )


def read(ctx: Context, t: Tile, offsets: tuple[Tir, Tir], size: int, dtype: str) -> Tir:
    """`size` bytes a lane from (voff, soff), as a vector of `dtype` registers."""
    name, made = BUFFER_TYPES[size]
    raw = tir.call(made, f"argus_buffer_load_{name}", pointer(ctx, t), *offsets)
    return raw if dtype == made else tir.reinterpret(dtype, raw)


def write(ctx: Context, t: Tile, value: Tir, offsets: tuple[Tir, Tir], size: int) -> None:
    """`size` bytes a lane to (voff, soff)."""
    name, wanted = BUFFER_TYPES[size]
    raw = value if str(value.ty.dtype) == wanted else tir.reinterpret(wanted, value)
    ctx.emit.call(f"argus_buffer_store_{name}", pointer(ctx, t), raw, *offsets)
