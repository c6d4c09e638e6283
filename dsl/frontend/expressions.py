"""Any expression to an `Item`: literals, names, operators; subscripts, attributes and calls are handed on.

Integers and fragments share Python's operators. Two integers give an index expression, any fragment makes the result a
fragment.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import cast

from argus.dsl.diagnostics import Code
from argus.dsl.frontend.calls import read_call
from argus.dsl.frontend.context import MAX_DEPTH, MAX_INT, Context
from argus.dsl.frontend.forbidden import forbidden
from argus.dsl.frontend.scope import Item, Kind
from argus.dsl.frontend.views import read_attribute, read_subscript
from argus.dsl.ir.nodes import Binary, BinaryOp, Ref, Scalar, Unary
from argus.dsl.layout import ZERO, Const, Expr, Op, OpKind, Var

_BINARY: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def read(ctx: Context, node: ast.expr) -> Item:
    """Read one expression.

    Raises:
        KernelError: For everything the language does not have, and for depth.
    """
    reader = _READERS.get(type(node))
    if reader is None:
        raise forbidden(ctx, node)
    ctx.depth += 1
    if ctx.depth > MAX_DEPTH:
        message = f"an expression is nested more than {MAX_DEPTH} deep"
        raise ctx.error(Code.LIMIT, node, message, "name the inner parts")
    item = reader(ctx, node)
    ctx.depth -= 1
    return item


def _constant(ctx: Context, node: ast.Constant) -> Item:
    value = node.value
    if isinstance(value, bool) or value is None or value is Ellipsis:
        raise ctx.error(Code.FORBIDDEN, node, f"the language has no {value}", "compare, or write 0 and 1")
    if isinstance(value, int):
        if value > MAX_INT:
            raise ctx.error(
                Code.LIMIT, node, "an integer literal is larger than 2**31 - 1", "index arithmetic is 32 bits wide"
            )
        return Item(Kind.INDEX, Const(value))
    if isinstance(value, float):
        return Item(Kind.FRAG, Scalar(value=value, span=ctx.span(node)))
    if isinstance(value, str):
        raise ctx.error(Code.BAD_SPACE, node, "a text is no value here", "texts name sides, operators and roles only")
    raise ctx.error(
        Code.FORBIDDEN, node, f"the language has no {type(value).__name__} literals", "write an integer or a float"
    )


def _name(ctx: Context, node: ast.Name) -> Item:
    if node.id == "inf":
        return Item(Kind.FRAG, Scalar(value=float("inf"), span=ctx.span(node)))
    item = ctx.lookup(node)
    name = ctx.identifier(node.id, node)
    value = Var(name) if item.kind is Kind.INDEX else Ref(name=name, span=ctx.span(node))
    return Item(item.kind, value, item.dtype, item.rank, item.buffers)


def _unary(ctx: Context, node: ast.UnaryOp) -> Item:
    item = read(ctx, node.operand)
    span = ctx.span(node)
    match node.op, item:
        case ast.USub(), Item(value=Const(value)):
            return Item(Kind.INDEX, Const(-value))
        case ast.USub(), Item(value=Scalar(value=value)):
            return Item(Kind.FRAG, Scalar(value=-value, span=span))
        case ast.USub(), Item(Kind.INDEX):
            return Item(Kind.INDEX, Op("-", (ZERO, cast("Expr", item.value))))
        case ast.Not(), Item(Kind.INDEX):
            return Item(Kind.INDEX, Op("not", (cast("Expr", item.value),)))
        case ast.Invert(), Item(Kind.INDEX):
            raise ctx.error(Code.FORBIDDEN, node, "the language has no `~` on integers", "write `not` for a condition")
        case ast.UAdd(), _:
            raise ctx.error(Code.FORBIDDEN, node, "the language has no unary `+`", "delete it")
        case ast.USub(), _:
            return Item(Kind.FRAG, Unary(op="neg", src=ctx.as_frag(node.operand, item), span=span))
        case _:
            return Item(Kind.FRAG, Unary(op="not", src=ctx.as_frag(node.operand, item), span=span))


def _bin_op(ctx: Context, node: ast.BinOp) -> Item:
    op = _BINARY.get(type(node.op))
    if op is None:
        raise forbidden(ctx, node.op, node)
    return _combine(ctx, node, op, node.left, node.right)


def _compare(ctx: Context, node: ast.Compare) -> Item:
    sides = [node.left, *node.comparators]
    links: list[Item] = []
    for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
        op = _BINARY.get(type(operator))
        if op is None:
            raise forbidden(ctx, operator, node)
        links.append(_combine(ctx, node, op, left, right))
    if len(links) > 1 and any(link.kind is not Kind.INDEX for link in links):
        raise ctx.error(Code.FORBIDDEN, node, "comparisons of fragments are not chained", "write `(a < b) & (b < c)`")
    return _fold("and", links)


def _bool_op(ctx: Context, node: ast.BoolOp) -> Item:
    items = [read(ctx, value) for value in node.values]
    for value, item in zip(node.values, items, strict=True):
        if item.kind is Kind.FRAG:
            hint = "write `(a < b) & (c < d)`, with `|` for or"
            raise ctx.error(
                Code.NOT_UNIFORM, value, "`and`, `or` are for integers; this differs from lane to lane", hint
            )
        if item.kind is not Kind.INDEX:
            raise ctx.wrong_kind(value, Kind.INDEX, item)
    return _fold("and" if isinstance(node.op, ast.And) else "or", items)


def _fold(op: OpKind, items: list[Item]) -> Item:
    result = items[0]
    for item in items[1:]:
        result = Item(Kind.INDEX, Op(op, (cast("Expr", result.value), cast("Expr", item.value))))
    return result


def _combine(ctx: Context, node: ast.expr, op: str, left: ast.expr, right: ast.expr) -> Item:
    lhs, rhs = read(ctx, left), read(ctx, right)
    if lhs.kind is rhs.kind is Kind.INDEX and op != "/":
        if op in "&|":
            word = "and" if op == "&" else "or"
            raise ctx.error(
                Code.FORBIDDEN, node, f"the language has no `{op}` on integers", f"write `{word}` for conditions"
            )
        return Item(Kind.INDEX, Op(cast("OpKind", op), (cast("Expr", lhs.value), cast("Expr", rhs.value))))
    if op in ("//", "%"):
        other, item = (left, lhs) if lhs.kind is not Kind.INDEX else (right, rhs)
        raise ctx.error(Code.BAD_SPACE, other, f"`{op}` is for integers, this is {item.kind}", "fragments have + - * /")
    frags = ctx.as_frag(left, lhs), ctx.as_frag(right, rhs)
    return Item(Kind.FRAG, Binary(op=cast("BinaryOp", op), lhs=frags[0], rhs=frags[1], span=ctx.span(node)))


# Each reader takes the one node type that it is listed under.
_READERS = cast(
    "dict[type[ast.expr], Callable[[Context, ast.expr], Item]]",
    {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.UnaryOp: _unary,
        ast.BinOp: _bin_op,
        ast.Compare: _compare,
        ast.BoolOp: _bool_op,
        ast.Attribute: read_attribute,
        ast.Subscript: read_subscript,
        ast.Call: read_call,
    },
)
