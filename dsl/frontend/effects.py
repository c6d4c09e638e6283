"""Calls that stand on a line of their own: stores, copies, waits, barriers, assertions, policies."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal, cast

from argus.dsl.diagnostics import Code
from argus.dsl.frontend import words
from argus.dsl.frontend.context import Context
from argus.dsl.frontend.scope import Item, Kind
from argus.dsl.frontend.views import check_axis
from argus.dsl.ir.nodes import (
    Arrive,
    AssertComplete,
    AssertMatch,
    AtomicAdd,
    AwaitPhase,
    Barrier,
    Commit,
    Component,
    Copy,
    CopyAsync,
    Fence,
    MmaWait,
    Priority,
    SchedBarrier,
    SchedGroup,
    Shift,
    Stmt,
    Store,
    Via,
    Wait,
)
from argus.dsl.ir.report import did_you_mean
from argus.dsl.layout import ZERO, Expr, Var


def read_effect(ctx: Context, call: ast.Call) -> Stmt:
    """A call used as a statement."""
    if isinstance(call.func, ast.Name):
        name = ctx.identifier(call.func.id, call.func)
        reader = _READERS.get(name)
        if reader is not None:
            return reader(ctx, call)
        if name in words.CONTRACT:
            hint = "move it to the top of the kernel, before the first statement"
            raise ctx.error(Code.CONTRACT, call, f"`{name}` belongs to the contract", hint)
        if name not in words.FUNCTIONS and ctx.scope.get(name) is None:
            hint = did_you_mean(name, words.FUNCTIONS) or "statements are listed in the language reference"
            raise ctx.error(Code.UNKNOWN_NAME, call.func, f"the language has no function `{name}`", hint)
    ctx.read(ctx, call)
    raise ctx.error(Code.FORBIDDEN, call, "this value is not used", "assign it: `x = …`, or delete it")


# -------------------------------------------------------------------------------------------- memory


def _store(ctx: Context, call: ast.Call) -> Store:
    args = ctx.arguments(call, "view, x, via=, stage=")
    via, stage = args.get("via"), args.get("stage")
    how = "direct" if via is None else ctx.text(via, "via", ("direct", "tma"))
    if (how == "tma") != (stage is not None):
        raise ctx.error(
            Code.BAD_CALL, call, 'via="tma" and stage= come together', "stage= is the shared buffer it passes through"
        )
    return Store(
        view=ctx.view(args["view"]),
        value=ctx.frag(args["x"]),
        via=cast("Literal['direct', 'tma']", how),
        stage=None if stage is None else ctx.view(stage),
        span=ctx.span(call),
    )


def _atomic_add(ctx: Context, call: ast.Call) -> AtomicAdd:
    args = ctx.arguments(call, "view, x")
    return AtomicAdd(view=ctx.view(args["view"]), value=ctx.frag(args["x"]), span=ctx.span(call))


def _copy(ctx: Context, call: ast.Call) -> Copy:
    args = ctx.arguments(call, "dst, src")
    return Copy(dst=ctx.view(args["dst"]), src=ctx.view(args["src"]), span=ctx.span(call))


def _copy_async(ctx: Context, call: ast.Call) -> CopyAsync:
    args = ctx.arguments(call, "dst, src, via=, across=")
    node, given = args.get("via"), args.get("across")
    if node is not None:
        via = cast("Via", ctx.text(node, "via", ("dma", "cp", "tma")))
    elif ctx.target == "sm_90a":
        hint = 'write via="tma" for boxes, via="cp" for copies by the threads'
        raise ctx.error(Code.BAD_CALL, call, "sm_90a copies in two ways, and `via=` says which", hint)
    else:
        via = "dma"
    across = "block" if given is None else ctx.text(given, "across", ("block", "cluster"))
    return CopyAsync(
        dst=ctx.view(args["dst"]),
        src=ctx.view(args["src"]),
        via=via,
        across=cast("Literal['block', 'cluster']", across),
        span=ctx.span(call),
    )


# ------------------------------------------------------------------------------------------- waiting


def _commit(ctx: Context, call: ast.Call) -> Commit:
    ctx.arguments(call, "")
    return Commit(span=ctx.span(call))


def _wait(ctx: Context, call: ast.Call) -> Wait:
    args = ctx.arguments(call, "n")
    return Wait(pending=ctx.constant(args["n"], "the number of pending groups", low=0, high=63), span=ctx.span(call))


def _barrier(ctx: Context, call: ast.Call) -> Barrier:
    waves = ctx.arguments(call, "waves=").get("waves")
    return Barrier(waves=None if waves is None else ctx.constant(waves, "waves", high=64), span=ctx.span(call))


def _shift(ctx: Context, call: ast.Call) -> Shift:
    args = ctx.arguments(call, "waves")
    return Shift(waves=ctx.constant(args["waves"], "waves", high=64), span=ctx.span(call))


def _fence(ctx: Context, call: ast.Call) -> Fence:
    args = ctx.arguments(call, "what")
    ctx.text(args["what"], "the fence", ("async",))
    return Fence(span=ctx.span(call))


def _bar(ctx: Context, node: ast.expr) -> tuple[str, Expr]:
    if isinstance(node, ast.Subscript):
        return ctx.ref(node.value, Kind.BAR).name, ctx.index(node.slice)
    return ctx.ref(node, Kind.BAR).name, ZERO


def _arrive(ctx: Context, call: ast.Call) -> Arrive:
    args = ctx.arguments(call, "bar, bytes=")
    bar, slot = _bar(ctx, args["bar"])
    size = args.get("bytes")
    size_bytes = None if size is None else ctx.constant(size, "bytes", high=(1 << 20) - 1)
    return Arrive(bar=bar, bytes=size_bytes, slot=slot, span=ctx.span(call))


def _await_phase(ctx: Context, call: ast.Call) -> AwaitPhase:
    args = ctx.arguments(call, "bar, i")
    bar, slot = _bar(ctx, args["bar"])
    return AwaitPhase(bar=bar, completion=ctx.index(args["i"]), slot=slot, span=ctx.span(call))


def _mma_wait(ctx: Context, call: ast.Call) -> MmaWait:
    args = ctx.arguments(call, "n")
    return MmaWait(
        pending=ctx.constant(args["n"], "the number of pending batches", low=0, high=63), span=ctx.span(call)
    )


# ---------------------------------------------------------------------------------------- assertions


def _component(ctx: Context, node: ast.expr) -> Component:
    function = None
    at = node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function = ctx.identifier(node.func.id, node.func)
        if len(node.args) != 1 or node.keywords:
            raise ctx.error(Code.BAD_CALL, node, "a function of one tag component", f"write `{function}(x.k)`")
        if function in words.RESERVED:
            raise ctx.error(
                Code.BAD_CALL,
                node.func,
                f"`{function}` is a word of the language",
                "use a function of your own contract",
            )
        node = node.args[0]
    if not isinstance(node, ast.Attribute):
        raise ctx.error(Code.BAD_CALL, node, "a tag component is needed", "write `x.k`: the coordinate along axis k")
    axis = ctx.identifier(node.attr, node)
    src = ctx.frag(node.value)
    check_axis(ctx, node, axis)
    return Component(src=src, axis=axis, function=function, span=ctx.span(at))


def _assert_match(ctx: Context, call: ast.Call) -> AssertMatch:
    args = ctx.arguments(call, "x, y")
    differ = cast("ast.Name", call.func).id == "assert_differ"
    x, y = _component(ctx, args["x"]), _component(ctx, args["y"])
    return AssertMatch(x=x, y=y, differ=differ, span=ctx.span(call))


def _of_coordinates(ctx: Context, node: ast.expr) -> Expr:
    """An index expression in which the fragment's own coordinates go by the names of their axes."""
    with ctx.scope.block():
        for axis in ctx.tags:
            if ctx.scope.get(axis) is None:
                ctx.scope.bind_here(axis, Item(Kind.INDEX, Var(axis)))
        return ctx.index(node)


def _assert_complete(ctx: Context, call: ast.Call) -> AssertComplete:
    if len(call.args) != 1 or not call.keywords:
        raise ctx.error(Code.BAD_CALL, call, "a fragment, then a set for each axis", "assert_complete(acc, k=range(K))")
    x = ctx.ref(call.args[0], Kind.FRAG)
    sets: list[tuple[str, Expr]] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ctx.unpacked(keyword.value)
        axis = ctx.identifier(keyword.arg, keyword)
        check_axis(ctx, keyword, axis)
        match keyword.value:
            case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
                sets.append((axis, _of_coordinates(ctx, stop)))
            case ast.Call(func=ast.Name(id="range"), args=[_, _]):
                message = "a set of reduced coordinates starts at 0"
                raise ctx.error(Code.UNSUPPORTED, keyword.value, message, "write `range(n)`: 0 to n - 1, once each")
            case _:
                raise ctx.error(
                    Code.BAD_CALL, keyword.value, "a set is needed", "write `range(n)`: 0 to n - 1, once each"
                )
    return AssertComplete(x=x, sets=tuple(sets), span=ctx.span(call))


# ------------------------------------------------------------------------------------------ policies


def _sched_group(ctx: Context, call: ast.Call) -> SchedGroup:
    if call.args or not call.keywords:
        raise ctx.error(Code.BAD_CALL, call, "sched_group takes named counts", "sched_group(mfma=2, ds_read=1)")
    counts: list[tuple[str, int]] = []
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ctx.unpacked(keyword.value)
        if keyword.arg not in words.SCHED_KINDS:
            hint = did_you_mean(keyword.arg, words.SCHED_KINDS) or f"one of {', '.join(words.SCHED_KINDS)}"
            raise ctx.error(Code.BAD_CALL, keyword, f"`{keyword.arg}` is no kind of instruction", hint)
        counts.append((keyword.arg, ctx.constant(keyword.value, "a count", high=64)))
    return SchedGroup(counts=tuple(counts), span=ctx.span(call))


def _sched_barrier(ctx: Context, call: ast.Call) -> SchedBarrier:
    ctx.arguments(call, "")
    return SchedBarrier(span=ctx.span(call))


def _priority(ctx: Context, call: ast.Call) -> Priority:
    args = ctx.arguments(call, "n")
    return Priority(level=ctx.constant(args["n"], "a priority", low=0, high=3), span=ctx.span(call))


_READERS: dict[str, Callable[[Context, ast.Call], Stmt]] = {
    "store": _store,
    "atomic_add": _atomic_add,
    "copy": _copy,
    "copy_async": _copy_async,
    "commit": _commit,
    "wait": _wait,
    "barrier": _barrier,
    "shift": _shift,
    "fence": _fence,
    "arrive": _arrive,
    "await_phase": _await_phase,
    "mma_wait": _mma_wait,
    "assert_match": _assert_match,
    "assert_differ": _assert_match,
    "assert_complete": _assert_complete,
    "sched_group": _sched_group,
    "sched_barrier": _sched_barrier,
    "priority": _priority,
}
