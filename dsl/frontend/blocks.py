"""Statements that hold statements: loops, branches, roles, ring stages."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import cast

from argus.dsl.diagnostics import Code, Span
from argus.dsl.frontend.calls import read_order
from argus.dsl.frontend.context import Context
from argus.dsl.frontend.scope import Item, Kind
from argus.dsl.ir.nodes import Elect, Fill, For, If, Role, Stmt, Use
from argus.dsl.ir.report import did_you_mean
from argus.dsl.layout import ZERO, Expr

MAX_BLOCKS = 20
MAX_UNROLL = 4096
ReadBody = Callable[[Context, Sequence[ast.stmt]], tuple[Stmt, ...]]


def _block(ctx: Context, node: ast.stmt, body: Sequence[ast.stmt], read_body: ReadBody) -> tuple[Stmt, ...]:
    ctx.depth += 1
    if ctx.depth > MAX_BLOCKS:
        raise ctx.error(
            Code.LIMIT, node, f"blocks are nested more than {MAX_BLOCKS} deep", "join conditions with `and`"
        )
    out = read_body(ctx, body)
    ctx.depth -= 1
    return out


# --------------------------------------------------------------------------------------------- loops


def read_for(ctx: Context, node: ast.For, read_body: ReadBody) -> For:
    """A loop over range, unroll or tiles.

    Raises:
        KernelError: For other loops, and names or arguments that do not fit.
    """
    if node.orelse:
        raise ctx.error(
            Code.FORBIDDEN, node.orelse[0], "the language has no `else` of loops", "write it after the loop"
        )
    call = node.iter
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        hint = "write range(n), range(a, b), unroll(n) or tiles(m, n)"
        raise ctx.error(Code.FORBIDDEN, node.iter, "loops run over range, unroll or tiles", hint)
    names = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    spelled = [ctx.name_of(name, "a loop variable") for name in names]
    if len(set(spelled)) < len(spelled):
        raise ctx.error(Code.BAD_CALL, node.target, "two loop variables have one name", "use different names")
    kind = call.func.id
    order = "rows"
    match kind:
        case "range":
            bounds = _range(ctx, call)
        case "unroll":
            args = ctx.arguments(call, "n")
            ctx.constant(args["n"], "the count of an unrolled loop", high=MAX_UNROLL)
            bounds = (ZERO, ctx.index(args["n"]))
        case "tiles":
            args = ctx.arguments(call, "*counts, order=")
            if not 1 <= len(args.rest) <= 3:
                raise ctx.error(Code.BAD_CALL, call, "a grid has one, two or three counts")
            bounds, order = tuple(ctx.index(n) for n in args.rest), read_order(ctx, args.get("order"))
        case _:
            hint = did_you_mean(kind, ("range", "unroll", "tiles")) or "write range(n), unroll(n) or tiles(m, n)"
            raise ctx.error(Code.FORBIDDEN, call, f"loops do not run over `{kind}`", hint)
    want = len(bounds) if kind == "tiles" else 1
    if len(names) != want:
        raise ctx.error(Code.BAD_CALL, node.target, f"{len(names)} names for {want} loop variable{'s' * (want > 1)}")
    with ctx.scope.block():
        targets = tuple(_loop_variable(ctx, cast("ast.Name", name)) for name in names)
        if kind == "tiles" and ctx.source.core:
            ctx.scope.bind(f"{targets[0]}.n", Item(Kind.INDEX))
        body = _block(ctx, node, node.body, read_body)
    return For(targets=targets, kind=kind, bounds=bounds, body=body, order=order, span=ctx.source.header(node, call))


def _loop_variable(ctx: Context, node: ast.Name) -> str:
    name = ctx.identifier(node.id, node)
    if ctx.scope.get(name) is not None and name not in ctx.fixed:
        raise ctx.error(Code.FORBIDDEN, node, f"`{name}` has a value here already", "use another loop variable")
    return ctx.bind(node, Item(Kind.INDEX))


def _range(ctx: Context, call: ast.Call) -> tuple[Expr, Expr]:
    if len(call.args) > 2:
        raise ctx.error(Code.FORBIDDEN, call, "the language has no step of `range`", "multiply the loop variable")
    if len(call.args) == 2:
        args = ctx.arguments(call, "start, stop")
        return ctx.index(args["start"]), ctx.index(args["stop"])
    return ZERO, ctx.index(ctx.arguments(call, "stop")["stop"])


# ------------------------------------------------------------------------------------------ branches


def read_if(ctx: Context, node: ast.If, read_body: ReadBody) -> If:
    """A branch on a condition that is the same for all lanes.

    Raises:
        KernelError: If lanes may differ.
    """
    item = ctx.read(ctx, node.test)
    if item.kind is Kind.FRAG:
        hint = "lanes differ by select(…), mask(…) and pads"
        raise ctx.error(Code.NOT_UNIFORM, node.test, "this condition differs from lane to lane", hint)
    if item.kind is not Kind.INDEX:
        raise ctx.wrong_kind(node.test, Kind.INDEX, item)
    with ctx.scope.block():
        body = _block(ctx, node, node.body, read_body)
    with ctx.scope.block():
        orelse = _block(ctx, node, node.orelse, read_body)
    return If(condition=cast("Expr", item.value), body=body, orelse=orelse, span=ctx.source.header(node, node.test))


# ---------------------------------------------------------------------------------------------- with


def read_with(ctx: Context, node: ast.With, read_body: ReadBody) -> Stmt:
    """A `with` block: fill and use of a ring, roles, elect.

    Raises:
        KernelError: For any other.
    """
    if len(node.items) != 1:
        raise ctx.error(Code.FORBIDDEN, node.items[1].context_expr, "one block a `with`", "nest two `with`")
    item = node.items[0]
    call, name = item.context_expr, item.optional_vars
    if name is not None and not isinstance(name, ast.Name):
        raise ctx.error(Code.FORBIDDEN, name, "`as` gives one plain name")
    match call:
        case ast.Call(func=ast.Name(id="role")):
            return _role(ctx, node, call, name, read_body)
        case ast.Call(func=ast.Name(id="elect")):
            ctx.arguments(call, "")
            if name is not None:
                raise ctx.error(Code.BAD_CALL, name, "elect() gives no value", "delete `as …`")
            with ctx.scope.block():
                return Elect(body=_block(ctx, node, node.body, read_body), span=_with_header(ctx, node))
        case ast.Call(func=ast.Attribute(attr="fill" | "use")):
            return _stage(ctx, node, call, name, read_body)
        case _:
            hint = (
                'write `with r.fill() as st:`, `with r.use() as st:`, `with role("load", waves=4):` or `with elect():`'
            )
            raise ctx.error(Code.FORBIDDEN, call, "`with` opens a ring's stage, a role or elect()", hint)


def _with_header(ctx: Context, node: ast.With) -> Span:
    item = node.items[0]
    return ctx.source.header(node, item.optional_vars or item.context_expr)


def _role(ctx: Context, node: ast.With, call: ast.Call, target: ast.Name | None, read_body: ReadBody) -> Role:
    args = ctx.arguments(call, "name, waves, regs=, groups=")
    name = ctx.identifier(ctx.text(args["name"], "a role's name"), args["name"])
    regs, groups = args.get("regs"), args.get("groups")
    with ctx.scope.block():
        if target is not None and ctx.scope.get(ctx.identifier(target.id, target)) is not None:
            raise ctx.error(Code.FORBIDDEN, target, f"`{target.id}` has a value here already", "use another name")
        return Role(
            name=name,
            waves=ctx.constant(args["waves"], "waves", high=64),
            regs=None if regs is None else ctx.constant(regs, "regs", high=512),
            groups=1 if groups is None else ctx.constant(groups, "groups", high=64),
            index=None if target is None else ctx.bind(target, Item(Kind.INDEX)),
            body=_block(ctx, node, node.body, read_body),
            span=_with_header(ctx, node),
        )


def _stage(ctx: Context, node: ast.With, call: ast.Call, target: ast.Name | None, read_body: ReadBody) -> Fill | Use:
    func = cast("ast.Attribute", call.func)
    ring = ctx.ref(func.value, Kind.RING).name
    if target is None:
        raise ctx.error(Code.BAD_CALL, call, "the stage needs a name", f"write `with {ring}.{func.attr}() as st:`")
    buffers = ctx.lookup(cast("ast.Name", func.value)).buffers
    keep = ctx.arguments(call, "keep=" if func.attr == "use" else "").get("keep")
    held = 0 if keep is None else ctx.constant(keep, "keep", low=0, high=64)
    stage = _stage_name(ctx, target)
    # What a use computes stays, since its block always runs on the same waves; the stage and its views do not.
    with ctx.scope.block():
        ctx.scope.bind(stage, Item(Kind.STAGE, buffers=buffers))
        if func.attr == "fill":
            return Fill(
                ring=ring, stage=stage, body=_block(ctx, node, node.body, read_body), span=_with_header(ctx, node)
            )
        body = _block(ctx, node, node.body, read_body)
        kept = ctx.scope.innermost()
    for name, item in kept.items():
        if item.kind in (Kind.FRAG, Kind.INDEX):
            ctx.scope.bind_here(name, item)
    return Use(ring=ring, stage=stage, body=body, keep=held, span=_with_header(ctx, node))


def _stage_name(ctx: Context, target: ast.Name) -> str:
    name = ctx.identifier(target.id, target)
    if ctx.scope.get(name) is not None:
        raise ctx.error(Code.FORBIDDEN, target, f"`{name}` has a value here already", "use another name for the stage")
    with ctx.scope.block():
        return ctx.bind(target, Item(Kind.STAGE))
