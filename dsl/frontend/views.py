"""Views: `x.tile(…)[…]`, `x[i]`, `x.T`, and the methods of views and fragments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal, cast

from argus.dsl.diagnostics import Code
from argus.dsl.frontend import words
from argus.dsl.frontend.context import Context
from argus.dsl.frontend.forbidden import forbidden
from argus.dsl.frontend.scope import Item, Kind
from argus.dsl.ir.nodes import (
    AsOperand,
    At,
    Cast,
    Cols,
    Coordinate,
    Field,
    Frag,
    Gather,
    Operand,
    Ref,
    Rows,
    TileAt,
    Transposed,
    View,
)
from argus.dsl.ir.report import did_you_mean
from argus.dsl.layout import Expr

MAX_EXTENT = 1 << 20


def read_subscript(ctx: Context, node: ast.Subscript) -> Item:
    """A tile, a leading index fixed, or an element of an integer tensor.

    Raises:
        KernelError: If the indices do not fit what is indexed.
    """
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for index in indices:
        if isinstance(index, ast.Slice | ast.Starred):
            raise forbidden(ctx, index)
    if isinstance(node.value, ast.Call) and _method(node.value) == "tile":
        return _tile(ctx, node, node.value, indices)
    item = ctx.read(ctx, node.value)
    if item.kind is not Kind.VIEW:
        raise ctx.wrong_kind(node.value, Kind.VIEW, item)
    if len(indices) > item.rank:
        message = f"{len(indices)} indices for a view of {_axes(item.rank)}"
        raise ctx.error(Code.BAD_SHAPE, node, message)
    view = cast("View", item.value)
    for index in indices:
        view = At(src=view, index=ctx.index(index), span=ctx.span(node))
    return Item(Kind.VIEW, view, item.dtype, item.rank - len(indices))


def _tile(ctx: Context, node: ast.Subscript, call: ast.Call, indices: list[ast.expr]) -> Item:
    src = _receiver(ctx, call)
    if src.kind is not Kind.VIEW:
        raise ctx.wrong_kind(cast("ast.Attribute", call.func).value, Kind.VIEW, src)
    args = ctx.arguments(call, "*shape, pad=")
    shape = tuple(ctx.constant(n, "a tile's extent", high=MAX_EXTENT) for n in args.rest)
    if len(shape) != src.rank:
        message = f"a tile of {_axes(len(shape))} of a view of {_axes(src.rank)}"
        raise ctx.error(
            Code.BAD_SHAPE, call, message, "give one extent for each axis; fix leading axes first: `x[i].tile(…)`"
        )
    if len(indices) != len(shape):
        message = f"{len(indices)} indices for a tile of {_axes(len(shape))}"
        raise ctx.error(Code.BAD_SHAPE, node.slice, message, "give one tile index for each axis")
    pad = args.get("pad")
    view = TileAt(
        src=cast("View", src.value),
        shape=shape,
        index=tuple(ctx.index(i) for i in indices),
        pad=0.0 if pad is None else ctx.number(pad, "pad"),
        span=ctx.span(node),
    )
    return Item(Kind.VIEW, view, src.dtype, src.rank)


def _axes(rank: int) -> str:
    return "1 axis" if rank == 1 else f"{rank} axes"


def read_attribute(ctx: Context, node: ast.Attribute) -> Item:
    """A stage's buffer, a view's transpose, or an axis of a fragment as its coordinate.

    Raises:
        KernelError: If there is no such attribute.
    """
    item = ctx.read(ctx, node.value)
    name = ctx.identifier(node.attr, node)
    match item.kind:
        case Kind.STAGE:
            return _field(ctx, node, name, item)
        case Kind.VIEW if name == "T":
            if item.rank != 2:
                raise ctx.error(Code.BAD_SHAPE, node, f".T needs 2 axes, this view has {item.rank}")
            view = Transposed(src=cast("View", item.value), span=ctx.span(node))
            return Item(Kind.VIEW, view, item.dtype, item.rank)
        case Kind.VIEW if name in words.VIEW_METHODS:
            raise ctx.error(Code.BAD_CALL, node, f"`.{name}` is called: `x.{name}(…)`")
        case Kind.FRAG if name in words.FRAG_METHODS:
            raise ctx.error(Code.BAD_CALL, node, f"`.{name}` is called: `x.{name}(…)`")
        case Kind.FRAG:
            return _coordinate(ctx, node, name, item)
        case _:
            known = (*words.VIEW_METHODS, "T") if item.kind is Kind.VIEW else ()
            hint = did_you_mean(name, known) or (f"views have .{', .'.join(known)}" if known else "")
            raise ctx.error(Code.UNKNOWN_NAME, node, f"{item.kind} has no `.{name}`", hint)


def _field(ctx: Context, node: ast.Attribute, name: str, stage: Item) -> Item:
    if name not in stage.buffers:
        hint = did_you_mean(name, stage.buffers) or f"it has {', '.join(stage.buffers)}"
        raise ctx.error(Code.UNKNOWN_NAME, node, f"the ring has no buffer `{name}`", hint)
    dtype, rank = stage.buffers[name]
    return Item(Kind.VIEW, Field(src=cast("Ref", stage.value), name=name, span=ctx.span(node)), dtype, rank)


def _coordinate(ctx: Context, node: ast.Attribute, name: str, item: Item) -> Item:
    if not isinstance(item.value, Ref):
        raise ctx.error(Code.BAD_CALL, node, f"`.{name}` is read from a named fragment", "give the value a name first")
    check_axis(ctx, node, name)
    return Item(Kind.FRAG, Coordinate(src=item.value, axis=name, span=ctx.span(node)))


def check_axis(ctx: Context, node: ast.AST, name: str) -> None:
    """Refuse an axis that neither the signature nor a `tag` names."""
    if name in ctx.tags or ctx.open_names:
        return
    hint = did_you_mean(name, (*ctx.tags, *words.FRAG_METHODS)) or f"axes are {', '.join(ctx.tags) or 'not named'}"
    raise ctx.error(Code.UNKNOWN_NAME, node, f"`{name}` is no axis of this kernel", hint)


# ------------------------------------------------------------------------------------------- methods


def read_method(ctx: Context, call: ast.Call) -> Item:
    """`x.method(…)`."""
    func = cast("ast.Attribute", call.func)
    item = _receiver(ctx, call)
    name = ctx.identifier(func.attr, func)
    reader = _METHODS.get((item.kind, name))
    if reader is not None:
        return reader(ctx, call, item)
    if (item.kind, name) == (Kind.VIEW, "tile"):
        raise ctx.error(Code.BAD_CALL, call, "a tile needs its index", "write `x.tile(…)[i, j]`")
    if item.kind is Kind.RING and name in ("fill", "use"):
        raise ctx.error(Code.BAD_CALL, call, f"`.{name}()` opens a block", f"write `with r.{name}() as st:`")
    known = {Kind.VIEW: words.VIEW_METHODS, Kind.FRAG: words.FRAG_METHODS, Kind.RING: ("fill", "use")}.get(
        item.kind, ()
    )
    hint = did_you_mean(name, known) or (f"it has .{', .'.join(known)}" if known else "")
    if name in words.VIEW_METHODS + words.FRAG_METHODS:
        kind = Kind.VIEW if name in words.VIEW_METHODS else Kind.FRAG
        raise ctx.error(Code.BAD_SPACE, func.value, f"`.{name}` needs {kind}, this is {item.kind}", hint)
    raise ctx.error(Code.UNKNOWN_NAME, call, f"{item.kind} has no `.{name}`", hint)


def _receiver(ctx: Context, call: ast.Call) -> Item:
    return ctx.read(ctx, cast("ast.Attribute", call.func).value)


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _slab(ctx: Context, call: ast.Call, item: Item, node: type[Rows] | type[Cols]) -> Item:
    axis = 0 if node is Rows else 1
    if item.rank <= axis:
        raise ctx.error(Code.BAD_SHAPE, call, f"this view has {_axes(item.rank)}", "")
    args = ctx.arguments(call, "start, count")
    start, count = ctx.index(args["start"]), ctx.constant(args["count"], "a count", high=MAX_EXTENT)
    view = node(src=cast("View", item.value), start=start, count=count, span=ctx.span(call))
    return Item(Kind.VIEW, view, item.dtype, item.rank)


def _gather(ctx: Context, call: ast.Call, item: Item, *, scatter: bool) -> Item:
    args = ctx.arguments(call, "index")
    if item.rank < 1:
        raise ctx.error(Code.BAD_SHAPE, call, "this view has no rows to pick from")
    index = ctx.frag(args["index"])
    view = Gather(src=cast("View", item.value), index=index, scatter=scatter, span=ctx.span(call))
    return Item(Kind.VIEW, view, item.dtype, item.rank)


def _operand(ctx: Context, call: ast.Call, item: Item) -> Item:
    args = ctx.arguments(call, "side, acc, ks, pack=")
    side, acc, ks = _operand_place(ctx, args["side"], args["acc"], args["ks"])
    pack = args.get("pack")
    if item.kind is Kind.FRAG and not isinstance(item.value, Ref):
        raise ctx.error(
            Code.BAD_CALL, call, "an operand is read from a view or a named fragment", "give the value a name first"
        )
    frag = Operand(
        src=cast("View", item.value),
        side=side,
        acc=acc,
        ks=ks,
        pack=1 if pack is None else ctx.constant(pack, "pack", high=16),
        span=ctx.span(call),
    )
    return Item(Kind.FRAG, frag)


def _as_operand(ctx: Context, call: ast.Call, item: Item) -> Item:
    args = ctx.arguments(call, "side, acc, ks")
    side, acc, ks = _operand_place(ctx, args["side"], args["acc"], args["ks"])
    return Item(Kind.FRAG, AsOperand(src=cast("Frag", item.value), side=side, acc=acc, ks=ks, span=ctx.span(call)))


def _operand_place(ctx: Context, side: ast.expr, acc: ast.expr, ks: ast.expr) -> tuple[Literal["a", "b"], str, Expr]:
    which = cast("Literal['a', 'b']", ctx.text(side, "the side", ("a", "b")))
    return which, ctx.ref(acc, Kind.FRAG).name, ctx.index(ks)


def _to(ctx: Context, call: ast.Call, item: Item) -> Item:
    args = ctx.arguments(call, "dtype")
    return Item(Kind.FRAG, Cast(src=cast("Frag", item.value), dtype=ctx.dtype(args["dtype"]), span=ctx.span(call)))


def _index_to(ctx: Context, call: ast.Call, item: Item) -> Item:
    receiver = cast("ast.Attribute", call.func).value
    return _to(ctx, call, Item(Kind.FRAG, ctx.as_frag(receiver, item)))


_METHODS: dict[tuple[Kind, str], Callable[[Context, ast.Call, Item], Item]] = {
    (Kind.VIEW, "rows"): lambda ctx, call, item: _slab(ctx, call, item, Rows),
    (Kind.VIEW, "cols"): lambda ctx, call, item: _slab(ctx, call, item, Cols),
    (Kind.VIEW, "gather"): lambda ctx, call, item: _gather(ctx, call, item, scatter=False),
    (Kind.VIEW, "scatter"): lambda ctx, call, item: _gather(ctx, call, item, scatter=True),
    (Kind.VIEW, "operand"): _operand,
    (Kind.FRAG, "operand"): _operand,
    (Kind.FRAG, "as_operand"): _as_operand,
    (Kind.FRAG, "to"): _to,
    (Kind.INDEX, "to"): _index_to,
}
