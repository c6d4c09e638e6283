"""Calls that give a value: allocations, block indices, loads, accumulators and arithmetic on fragments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal, cast

from argus.dsl.diagnostics import Code
from argus.dsl.frontend import words
from argus.dsl.frontend.context import Arguments, Context
from argus.dsl.frontend.forbidden import forbidden
from argus.dsl.frontend.scope import Item, Kind
from argus.dsl.frontend.views import MAX_EXTENT, check_axis, read_method
from argus.dsl.ir.nodes import (
    Binary,
    Block,
    Dtype,
    Frag,
    Load,
    Mask,
    MBar,
    MmaAcc,
    Node,
    OnlineSoftmax,
    Reduce,
    Relayout,
    Ring,
    Select,
    Shared,
    Shuffle,
    Split,
    Tagged,
    Unary,
    UnaryOp,
    View,
)
from argus.dsl.ir.report import did_you_mean
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Expr, Linear, Op, OpKind, Swizzle, Var

CHUNK_BYTES = 16  # what a swizzle permutes, unless told otherwise


def read_call(ctx: Context, node: ast.Call) -> Item:
    """Any call in a place where a value is wanted."""
    if isinstance(node.func, ast.Attribute):
        return read_method(ctx, node)
    if not isinstance(node.func, ast.Name):
        raise forbidden(ctx, node.func)
    name = ctx.identifier(node.func.id, node.func)
    reader = _READERS.get(name)
    if reader is not None:
        return reader(ctx, node)
    raise _no_value(ctx, node, name)


def _no_value(ctx: Context, node: ast.Call, name: str) -> Exception:
    if name in words.STATEMENTS | words.CONTRACT:
        return ctx.error(Code.BAD_CALL, node, f"`{name}` gives no value", "write it on a line of its own")
    if name in words.LOOPS:
        return ctx.error(Code.BAD_CALL, node, f"`{name}` belongs to a loop", f"write `for i in {name}(…):`")
    if name == "mma":
        return ctx.error(Code.BAD_CALL, node, "`mma` adds to an accumulator", "write `acc += mma(a, b)`")
    if name in ("role", "elect"):
        return ctx.error(Code.BAD_CALL, node, f"`{name}` opens a block", f"write `with {name}(…):`")
    if name in ("xor", "linear", "over", "kernel", *words.DTYPES):
        hint = {"xor": "write `swizzle=xor(…)`", "linear": "write `map=linear(v)`"}.get(name, "")
        if name in words.DTYPES:
            hint = f"write `x.to({name})`"
        return ctx.error(Code.BAD_CALL, node, f"`{name}` is no function that gives a value", hint)
    if ctx.scope.get(name) is not None:
        return ctx.error(Code.BAD_CALL, node, f"`{name}` is not a function")
    hint = did_you_mean(name, words.FUNCTIONS) or "the functions of the language are listed in its reference"
    return ctx.error(Code.UNKNOWN_NAME, node.func, f"the language has no function `{name}`", hint)


# --------------------------------------------------------------------------------- memory and indices


def _shared(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "dtype, *shape, swizzle=, pad=")
    dtype = ctx.dtype(args["dtype"])
    if dtype == "bool":
        raise ctx.error(Code.BAD_DTYPE, args["dtype"], "memory holds no bool", "use i8 or i32")
    if not args.rest:
        raise ctx.error(Code.BAD_CALL, call, "a shared buffer needs a shape", "for example shared(f16, 128, 32)")
    shape = tuple(ctx.constant(n, "an extent", high=MAX_EXTENT) for n in args.rest)
    swizzle, pad = args.get("swizzle"), args.get("pad")
    buffer = Shared(
        dtype=dtype,
        shape=shape,
        swizzle=None if swizzle is None else _swizzle(ctx, swizzle, DTYPE_BYTES[dtype]),
        pad=0 if pad is None else ctx.constant(pad, "pad", low=0, high=MAX_EXTENT),
        span=ctx.span(call),
    )
    return Item(Kind.ALLOCATION, buffer, dtype, len(shape))


def _swizzle(ctx: Context, node: ast.expr, element_bytes: int) -> Swizzle:
    match node:
        case ast.Name(id="b32" | "b64" | "b128" as name):
            # The hardware permutes 16-byte chunks within rows of 32, 64 or 128 bytes.
            return Swizzle(int(name[1:]) // CHUNK_BYTES, CHUNK_BYTES // element_bytes, hardware=name)
        case ast.Call(func=ast.Name(id="xor")):
            args = ctx.arguments(node, "chunks, unit=, rows=")
            chunks = ctx.constant(args["chunks"], "chunks", high=1024)
            if chunks & (chunks - 1):
                raise ctx.error(Code.BAD_CALL, args["chunks"], f"chunks is {chunks}, but must be a power of two")
            unit, rows = args.get("unit"), args.get("rows")
            return Swizzle(
                chunks,
                CHUNK_BYTES // element_bytes if unit is None else ctx.constant(unit, "unit", high=1024),
                None if rows is None else ctx.constant(rows, "rows", high=1024),
            )
        case _:
            hint = "write xor(chunks), b32, b64 or b128"
            raise ctx.error(Code.BAD_CALL, node, "a swizzle is needed", hint)


def _ring(ctx: Context, call: ast.Call) -> Item:
    if len(call.args) != 1:
        raise ctx.error(
            Code.BAD_CALL,
            call,
            "a ring takes the number of stages, then named buffers",
            "ring(3, As=shared(…), Bs=shared(…))",
        )
    stages = ctx.constant(call.args[0], "the number of stages", high=64)
    buffers: list[tuple[str, Shared]] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ctx.unpacked(keyword.value)
        item = ctx.read(ctx, keyword.value)
        if not isinstance(item.value, Shared):
            raise ctx.error(Code.BAD_CALL, keyword.value, "a ring's buffer is a shared(…)")
        name = ctx.identifier(keyword.arg, keyword)
        if name in words.NO_AXES:
            raise ctx.error(Code.FORBIDDEN, keyword, f"`{name}` is a method of rings and views", "use another name")
        buffers.append((name, item.value))
    if not buffers:
        raise ctx.error(Code.BAD_CALL, call, "a ring needs at least one buffer", "ring(3, As=shared(…), Bs=shared(…))")
    kinds: dict[str, tuple[Dtype, int]] = {name: (b.dtype, len(b.shape)) for name, b in buffers}
    return Item(Kind.RING, Ring(stages=stages, buffers=tuple(buffers), span=ctx.span(call)), buffers=kinds)


def _mbar(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "arrivals, count=")
    count = args.get("count")
    bar = MBar(
        arrivals=ctx.constant(args["arrivals"], "the number of arrivals", high=1024),
        count=1 if count is None else ctx.constant(count, "count", high=64),
        span=ctx.span(call),
    )
    return Item(Kind.BAR, bar)


def _block(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "*counts, order=")
    if not 1 <= len(args.rest) <= 3:
        raise ctx.error(
            Code.BAD_CALL, call, "a grid has one, two or three counts", "bm, bn = block(cdiv(M, 128), cdiv(N, 128))"
        )
    counts = tuple(ctx.index(n) for n in args.rest)
    block = Block(counts=counts, order=read_order(ctx, args.get("order")), span=ctx.span(call))
    return Item(Kind.INDICES, block, rank=len(counts))


def read_order(ctx: Context, node: ast.expr | None) -> str:
    """`order=` in normal form: `rows`, `xcd(8)`."""
    match node:
        case None:
            return "rows"
        case ast.Name(id=name) if name in words.ORDERS:
            return name
        case ast.Call(func=ast.Name(id="xcd" | "group_m" as name)):
            args = ctx.arguments(node, "n")
            return f"{name}({ctx.constant(args['n'], 'n', high=65536)})"
        case _:
            hint = f"one of {', '.join(words.ORDERS)}, xcd(n), group_m(n)"
            if isinstance(node, ast.Name):
                hint = did_you_mean(node.id, words.ORDERS) or hint
            raise ctx.error(Code.BAD_CALL, node, "an order of blocks is needed", hint)


def _split(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "n, parts")
    split = Split(n=ctx.index(args["n"]), parts=ctx.index(args["parts"]), span=ctx.span(call))
    return Item(Kind.INDICES, split, rank=2)


# ----------------------------------------------------------------------------------------- fragments


def _frag(node: Frag) -> Item:
    return Item(Kind.FRAG, node)


def _load(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "view, map=, like=")
    item = ctx.view_item(args["view"])
    node, like = args.get("map"), args.get("like")
    if node is not None and like is not None:
        raise ctx.error(Code.BAD_CALL, call, "`map=` and `like=` both say which lane takes what", "delete one")
    value = Load(
        view=cast("View", item.value),
        map=None if node is None else _map(ctx, node),
        like=None if like is None else ctx.ref(like, Kind.FRAG),
        span=ctx.span(call),
    )
    return Item(Kind.FRAG, value, item.dtype, item.rank)


def _map(ctx: Context, node: ast.expr) -> Linear:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "linear":
        args = ctx.arguments(node, "vector")
        return Linear(ctx.constant(args["vector"], "the vector", high=64))
    raise ctx.error(Code.BAD_CALL, node, "a map is needed", "write linear(v): v consecutive elements a lane")


def _mma_acc(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "atom, m, n, grid=, regs=")
    regs = args.get("regs")
    return _frag(
        MmaAcc(
            atom=ctx.text(args["atom"], "the atom"),
            m=ctx.constant(args["m"], "m", high=MAX_EXTENT),
            n=ctx.constant(args["n"], "n", high=MAX_EXTENT),
            grid=_grid(ctx, args),
            regs="vgpr" if regs is None else cast("Literal['vgpr', 'agpr']", ctx.text(regs, "regs", ("vgpr", "agpr"))),
            span=ctx.span(call),
        )
    )


def _grid(ctx: Context, args: Arguments) -> tuple[int, int]:
    match args.get("grid"):
        case None:
            return (1, 1)
        case ast.Tuple(elts=[rows, cols]):
            return ctx.constant(rows, "wave rows", high=64), ctx.constant(cols, "wave columns", high=64)
        case node:
            raise ctx.error(Code.BAD_CALL, node, "grid is a pair", "grid=(2, 2): waves along m, waves along n")


def _select(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "condition, x, y")
    condition, x, y = (ctx.frag(args[name]) for name in ("condition", "x", "y"))
    return _frag(Select(condition=condition, x=x, y=y, span=ctx.span(call)))


def _mask(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "x, pred, fill")
    x, pred = ctx.frag(args["x"]), ctx.frag(args["pred"])
    return _frag(Mask(src=x, pred=pred, fill=ctx.number(args["fill"], "fill"), span=ctx.span(call)))


def _reduce(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "op, x, axis, across=")
    op = cast("Literal['sum', 'max', 'min']", ctx.text(args["op"], "the operator", ("sum", "max", "min")))
    src, axis = ctx.frag(args["x"]), _axis(ctx, args["axis"])
    across = args.get("across")
    where = "wave" if across is None else ctx.text(across, "across", ("wave", "block"))
    return _frag(Reduce(op=op, src=src, axis=axis, across=cast("Literal['wave', 'block']", where), span=ctx.span(call)))


def _axis(ctx: Context, node: ast.expr) -> str:
    axis = ctx.identifier(ctx.text(node, "an axis"), node)
    check_axis(ctx, node, axis)
    return axis


def _relayout(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "x, map")
    return _frag(Relayout(src=ctx.frag(args["x"]), map=_map(ctx, args["map"]), span=ctx.span(call)))


def _shuffle(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "x, lane")
    return _frag(Shuffle(src=ctx.frag(args["x"]), lane=ctx.frag(args["lane"]), span=ctx.span(call)))


def _online_softmax(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "s, mx, l, axis")
    s, mx, total = (ctx.frag(args[name]) for name in ("s", "mx", "l"))
    value = OnlineSoftmax(s=s, mx=mx, l=total, axis=_axis(ctx, args["axis"]), span=ctx.span(call))
    return Item(Kind.RESULTS, value, rank=4)


def _tag(ctx: Context, call: ast.Call) -> Item:
    if len(call.args) != 1 or not call.keywords:
        raise ctx.error(Code.BAD_CALL, call, "tag takes a value, then named components", "x = tag(x, k=kt * 32)")
    item = ctx.read(ctx, call.args[0])
    if item.kind not in (Kind.VIEW, Kind.FRAG):
        raise ctx.wrong_kind(call.args[0], Kind.FRAG, item)
    components: list[tuple[str, Expr]] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ctx.unpacked(keyword.value)
        name = ctx.identifier(keyword.arg, keyword)
        if name in words.NO_AXES:
            raise ctx.error(
                Code.FORBIDDEN, keyword, f"`{name}` is a method and cannot name an axis", "use another name"
            )
        with ctx.scope.block():
            for axis in ctx.tags:
                ctx.scope.bind_here(axis, Item(Kind.INDEX, Var(axis)))
            components.append((name, ctx.index(keyword.value)))
        ctx.tags[name] = None
    value = Tagged(src=cast("Node", item.value), components=tuple(components), span=ctx.span(call))  # pyright: ignore[reportArgumentType]
    return Item(item.kind, value, item.dtype, item.rank)


def _unary(ctx: Context, call: ast.Call) -> Item:
    op = cast("UnaryOp", cast("ast.Name", call.func).id)
    args = ctx.arguments(call, "x")
    return _frag(Unary(op=op, src=ctx.frag(args["x"]), span=ctx.span(call)))


def _extremum(ctx: Context, call: ast.Call) -> Item:
    """`min` and `max`, of integers or of fragments."""
    op = cast("Literal['min', 'max']", cast("ast.Name", call.func).id)
    args = ctx.arguments(call, "x, y, *more")
    nodes = (args["x"], args["y"], *args.rest)
    items = [ctx.read(ctx, node) for node in nodes]
    result = items[0]
    for i, item in enumerate(items[1:], 1):
        if result.kind is item.kind is Kind.INDEX:
            result = Item(Kind.INDEX, Op(op, (cast("Expr", result.value), cast("Expr", item.value))))
        else:
            lhs, rhs = ctx.as_frag(nodes[0], result), ctx.as_frag(nodes[i], item)
            result = _frag(Binary(op=op, lhs=lhs, rhs=rhs, span=ctx.span(call)))
    return result


def _cdiv(ctx: Context, call: ast.Call) -> Item:
    args = ctx.arguments(call, "n, d")
    op: OpKind = "cdiv"
    return Item(Kind.INDEX, Op(op, (ctx.index(args["n"]), ctx.index(args["d"]))))


_READERS: dict[str, Callable[[Context, ast.Call], Item]] = {
    "shared": _shared,
    "ring": _ring,
    "mbar": _mbar,
    "block": _block,
    "split": _split,
    "load": _load,
    "mma_acc": _mma_acc,
    "select": _select,
    "mask": _mask,
    "reduce": _reduce,
    "relayout": _relayout,
    "shuffle": _shuffle,
    "online_softmax": _online_softmax,
    "tag": _tag,
    "min": _extremum,
    "max": _extremum,
    "cdiv": _cdiv,
    **dict.fromkeys(words.UNARY, _unary),
}
