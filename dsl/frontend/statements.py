"""Statements, one reader each."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import cast

from argus.dsl.diagnostics import Code, Span
from argus.dsl.frontend.blocks import read_for, read_if, read_with
from argus.dsl.frontend.context import MAX_STATEMENTS, Context
from argus.dsl.frontend.effects import read_effect
from argus.dsl.frontend.forbidden import forbidden
from argus.dsl.frontend.scope import Item, Kind
from argus.dsl.ir.nodes import Assign, Binary, BinaryOp, Frag, Index, Load, MmaInto, Ref, Stmt, Value, View
from argus.dsl.layout import Expr

_AUGMENTED: dict[type[ast.operator], BinaryOp] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}


def read_body(ctx: Context, body: Sequence[ast.stmt]) -> tuple[Stmt, ...]:
    """The statements of a block, in the scope that is open."""
    out: list[Stmt] = []
    for node in body:
        ctx.statements += 1
        if ctx.statements > MAX_STATEMENTS:
            message = f"a kernel has more than {MAX_STATEMENTS:,} statements"
            raise ctx.error(Code.LIMIT, node, message, "use loops")
        out += _read(ctx, node)
    return tuple(out)


def _read(ctx: Context, node: ast.stmt) -> Sequence[Stmt]:
    match node:
        case ast.Assign():
            return _assign(ctx, node)
        case ast.AugAssign():
            return [_augmented(ctx, node)]
        case ast.Expr(value=ast.Call() as call):
            return [read_effect(ctx, call)]
        case ast.Expr(value=value):
            raise _bare(ctx, value)
        case ast.For():
            return [read_for(ctx, node, read_body)]
        case ast.With():
            return [read_with(ctx, node, read_body)]
        case ast.If():
            return [read_if(ctx, node, read_body)]
        case ast.Pass():
            return []
        case _:
            raise forbidden(ctx, node)


def _bare(ctx: Context, value: ast.expr) -> Exception:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return ctx.error(Code.FORBIDDEN, value, "a text is no statement", "write a comment with #")
    if isinstance(value, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
        return forbidden(ctx, value)
    return ctx.error(Code.FORBIDDEN, value, "a value on its own does nothing", "assign it or delete it")


# --------------------------------------------------------------------------------------- assignments


def _assign(ctx: Context, node: ast.Assign) -> Sequence[Stmt]:
    if len(node.targets) > 1:
        raise ctx.error(Code.FORBIDDEN, node, "`a = b = …` assigns twice", "write two assignments")
    targets = _targets(ctx, node.targets[0])
    if len(targets) == 1:
        return [_assign_one(ctx, targets[0], node.value, ctx.span(node))]
    if isinstance(node.value, ast.Tuple):
        return _pairwise(ctx, targets, node.value)
    return [_assign_results(ctx, targets, node)]


def _targets(ctx: Context, node: ast.expr) -> list[ast.Name]:
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    for n in nodes:
        if isinstance(n, ast.Subscript):
            raise ctx.error(Code.FORBIDDEN, n, "memory is not assigned", "write `store(view, x)`")
        if not isinstance(n, ast.Name):
            raise ctx.error(Code.FORBIDDEN, n, "only names are assigned", "write `name = …`")
    names = cast("list[ast.Name]", nodes)
    for i, name in enumerate(names):
        if any(name.id == other.id for other in names[:i]):
            raise ctx.error(Code.BAD_CALL, name, f"`{name.id}` is assigned twice here", "use different names")
    return names


def _pairwise(ctx: Context, targets: list[ast.Name], values: ast.Tuple) -> list[Stmt]:
    if len(targets) != len(values.elts):
        raise ctx.error(Code.BAD_CALL, values, f"{len(targets)} names for {len(values.elts)} values")
    out: list[Stmt] = []
    assigned: set[str] = set()
    for target, value in zip(targets, values.elts, strict=True):
        for inner in ast.walk(value):
            if isinstance(inner, ast.Name) and inner.id in assigned:
                message = f"`{inner.id}` is assigned in the same line: old or new value?"
                raise ctx.error(Code.FORBIDDEN, inner, message, "write two assignments")
        out.append(_assign_one(ctx, target, value, ctx.span(value)))
        assigned.add(target.id)
    return out


def _assign_one(ctx: Context, target: ast.Name, node: ast.expr, span: Span) -> Assign:
    item = ctx.read(ctx, node)
    value, bound = _value(ctx, node, item)
    return Assign(targets=(ctx.bind(target, bound),), value=value, span=span)


def _value(ctx: Context, node: ast.expr, item: Item) -> tuple[Value, Item]:
    """The right-hand side of a single name, and what the name then stands for."""
    match item.kind:
        case Kind.INDEX:
            return Index(expr=cast("Expr", item.value), span=ctx.span(node)), item
        case Kind.VIEW if item.rank == 0:
            # One element of memory: the only thing to do with it is to read it.
            return _loaded(Load(view=cast("View", item.value), span=ctx.span(node)), item)
        case Kind.FRAG if isinstance(item.value, Load) and item.rank == 0:
            return _loaded(item.value, item)
        case Kind.ALLOCATION:
            return cast("Value", item.value), Item(Kind.VIEW, dtype=item.dtype, rank=item.rank)
        case Kind.INDICES if item.rank == 1:
            return cast("Value", item.value), Item(Kind.INDEX)
        case Kind.INDICES | Kind.RESULTS:
            raise ctx.error(Code.BAD_CALL, node, f"this gives {item.rank} results", "write `a, b, … = …`")
        case Kind.STAGE:
            raise ctx.error(Code.BAD_SPACE, node, "a stage keeps the name that `with` gave it")
        case Kind.RING | Kind.BAR if isinstance(item.value, Ref):
            raise ctx.error(Code.BAD_SPACE, node, f"{item.kind} keeps its name")
        case _:
            return cast("Value", item.value), item


def _loaded(value: Load, item: Item) -> tuple[Value, Item]:
    # A loaded i32 scalar is the same in every lane, so it serves as an index.
    return value, Item(Kind.INDEX if item.dtype == "i32" else Kind.FRAG)


def _assign_results(ctx: Context, targets: list[ast.Name], node: ast.Assign) -> Assign:
    item = ctx.read(ctx, node.value)
    if item.kind not in (Kind.INDICES, Kind.RESULTS) or item.rank != len(targets):
        got = item.rank if item.kind in (Kind.INDICES, Kind.RESULTS) else 1
        plural = "s" if got != 1 else ""
        raise ctx.error(Code.BAD_CALL, node.value, f"{len(targets)} names for {got} result{plural}")
    kind = Kind.INDEX if item.kind is Kind.INDICES else Kind.FRAG
    names = tuple(ctx.bind(target, Item(kind)) for target in targets)
    return Assign(targets=names, value=cast("Value", item.value), span=ctx.span(node))


def _augmented(ctx: Context, node: ast.AugAssign) -> Stmt:
    (target,) = _targets(ctx, node.target)
    op = _AUGMENTED.get(type(node.op))
    if op is None:
        raise forbidden(ctx, node.op, node)
    item = ctx.lookup(target)
    name = ctx.identifier(target.id, target)
    if item.kind is Kind.INDEX:
        message = f"`{name}` is an integer; integers are assigned once"
        hint = "write 0.0 where a number is meant; else use another name"
        raise ctx.error(Code.FORBIDDEN, node, message, hint)
    if item.kind is not Kind.FRAG:
        raise ctx.wrong_kind(target, Kind.FRAG, item)
    if name in ctx.fixed:
        raise ctx.error(
            Code.FORBIDDEN, target, f"`{name}` is {ctx.fixed[name]} and keeps its meaning", "use another name"
        )
    span = ctx.span(node)
    if _is_mma(node.value):
        if op != "+":
            raise ctx.error(Code.BAD_CALL, node, "an MMA adds", "write `acc += mma(a, b)`")
        call = cast("ast.Call", node.value)
        args = ctx.arguments(call, "a, b")
        return MmaInto(acc=name, a=ctx.frag(args["a"]), b=ctx.frag(args["b"]), span=span)
    value = Binary(op=op, lhs=Ref(name=name, span=ctx.span(target)), rhs=ctx.frag(node.value), span=span)
    return Assign(targets=(name,), value=cast("Frag", value), span=span)


def _is_mma(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "mma"
