"""Kernel text to IR. Text is read as Python syntax and never executed."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, Literal, cast

from argus.dsl.diagnostics import Code, KernelError, Span
from argus.dsl.frontend import words
from argus.dsl.frontend.context import Context
from argus.dsl.frontend.contract import Clauses, read_params
from argus.dsl.frontend.effects import read_effect
from argus.dsl.frontend.expressions import read
from argus.dsl.frontend.forbidden import forbidden
from argus.dsl.frontend.source import Source, python_tree, source_of
from argus.dsl.frontend.statements import read_body
from argus.dsl.ir.nodes import AssertComplete, AssertMatch, Kernel
from argus.dsl.ir.report import did_you_mean, kernel_error

LANG = "argus.dsl.lang"


def parse(text: str, file: str = "<kernel>", *, kernel: str | None = None) -> Kernel:
    """Read one kernel.

    Args:
        text: Python source with one or more functions decorated by `@kernel(…)`.
        file: Shown in diagnostics.
        kernel: Which of several kernels.

    Raises:
        KernelError: For anything that is not a kernel of the language; the diagnostic has place and hint.
    """
    return _parse(source_of(text, file), kernel)


def parse_core(text: str, file: str = "<core>") -> Kernel:
    """Read what `show` prints of a kernel in core form, generated names included."""
    return _parse(source_of(text, file, core=True), None)


def parse_function(fn: Callable[..., Any]) -> Kernel:
    """Read a kernel from the source of a Python function, which is not called.

    Raises:
        KernelError: As `parse`, and where Python knows no source of the function.
    """
    fn = inspect.unwrap(fn)
    file = fn.__code__.co_filename
    try:
        lines, first_line = inspect.getsourcelines(fn)
    except (OSError, TypeError):
        span = Span(file, fn.__code__.co_firstlineno, 1, fn.__code__.co_firstlineno, 2)
        raise kernel_error(
            Code.SYNTAX, span, "the source of this function is not available", "write the kernel in a file"
        ) from None
    text = "".join(lines)
    cut = textwrap.dedent(text)
    indent = len(text.split("\n", 1)[0]) - len(cut.split("\n", 1)[0])
    return _parse(source_of(cut, file, first_line=first_line, indent=indent), fn.__name__)


def parse_assertion(text: str, file: str = "<assertion>") -> AssertMatch | AssertComplete:
    """Read one assertion out of its kernel, such as `assert_match(a.k, b.k)`.

    Names are taken for what their place demands: fragments, or integers.

    Raises:
        KernelError: If it is anything but one assertion.
    """
    source = source_of(text.strip(), file)
    tree = python_tree(source)
    ctx = Context(source, read, open_names=True)
    match tree.body:
        case [ast.Expr(value=ast.Call() as call)]:
            statement = read_effect(ctx, call)
            if isinstance(statement, AssertMatch | AssertComplete):
                return statement
            raise ctx.error(
                Code.BAD_CALL, call, "an assertion is needed", "write assert_match, assert_differ or assert_complete"
            )
        case [node, *_]:
            raise ctx.error(Code.BAD_CALL, node, "one assertion is needed", "for example assert_match(a.k, b.k)")
        case _:
            raise kernel_error(
                Code.SYNTAX, source.at(1, 0), "there is no assertion", "for example assert_match(a.k, b.k)"
            )


# ---------------------------------------------------------------------------------------------- file


def _parse(source: Source, name: str | None) -> Kernel:
    return _kernel(Context(source, read), _choose(source, name))


def _choose(source: Source, name: str | None) -> ast.FunctionDef:
    ctx = Context(source, read)
    kernels: list[ast.FunctionDef] = []
    for i, node in enumerate(python_tree(source).body):
        match node:
            case ast.FunctionDef():
                kernels.append(node)
            case ast.ImportFrom() if _tolerated(node):
                pass
            case ast.Expr(value=ast.Constant(value=str())) if i == 0:
                pass
            case ast.Expr(value=value):
                raise ctx.error(Code.FORBIDDEN, value, "a file holds kernels only", "delete it")
            case ast.Assign():
                raise ctx.error(
                    Code.FORBIDDEN, node, "a file holds kernels only", "write the number where it is needed"
                )
            case ast.If() | ast.For() | ast.With():
                raise ctx.error(Code.FORBIDDEN, node, "a file holds kernels only", "move it into a kernel")
            case _:
                raise forbidden(ctx, node)
    found = [k.name for k in kernels]
    if not kernels:
        hint = 'write `@kernel(target="gfx942", waves=4)` above `def gemm(…):`'
        raise kernel_error(Code.SYNTAX, source.at(1, 0), "there is no kernel here", hint)
    for i, k in enumerate(found):
        if k in found[:i]:
            raise ctx.error(Code.SYNTAX, kernels[i], f"two kernels are called `{k}`", "rename one")
    if name is None:
        if len(kernels) > 1:
            raise ctx.error(
                Code.UNKNOWN_NAME, kernels[1], f"which kernel? there are {', '.join(found)}", "choose one by name"
            )
        return kernels[0]
    if name not in found:
        hint = did_you_mean(name, found) or f"there is {', '.join(found)}"
        raise kernel_error(Code.UNKNOWN_NAME, source.at(1, 0), f"there is no kernel `{name}` here", hint)
    return kernels[found.index(name)]


def _tolerated(node: ast.ImportFrom) -> bool:
    if node.level or any(alias.asname for alias in node.names):
        return False
    return node.module == LANG or (node.module == "__future__" and [a.name for a in node.names] == ["annotations"])


# -------------------------------------------------------------------------------------------- kernel


def _kernel(ctx: Context, node: ast.FunctionDef) -> Kernel:
    name = ctx.identifier(node.name, node)
    target, waves, cluster = _decorator(ctx, node)
    ctx.target = target
    if node.returns is not None:
        raise ctx.error(Code.FORBIDDEN, node.returns, "kernels return nothing", "delete `-> …`")
    params = read_params(ctx, node.args)
    body = node.body
    if (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        body = body[1:]
    clauses = Clauses(ctx, params)
    count = 0
    for statement in body:
        if not _is_clause(statement):
            break
        clauses.read(cast("ast.Call", cast("ast.Expr", statement).value))
        count += 1
    with ctx.scope.block():
        statements = read_body(ctx, body[count:])
    return Kernel(
        name=name,
        target=target,
        waves=waves,
        cluster=cluster,
        params=params,
        where=tuple(clauses.where),
        assume=tuple(clauses.assume),
        ensures=tuple(clauses.ensures),
        body=statements,
        span=_head(ctx, node),
    )


def _head(ctx: Context, node: ast.FunctionDef) -> Span:
    """The `def` line: a kernel as a whole is pointed at by its name."""
    span = ctx.span(node)
    start = span.col + len("def ")
    return Span(span.file, span.line, start, span.line, start + len(node.name))


def _is_clause(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name in words.CONTRACT
        case _:
            return False


def _decorator(ctx: Context, node: ast.FunctionDef) -> tuple[Literal["gfx942", "sm_90a"], int, int]:
    hint = 'write `@kernel(target="gfx942", waves=4)` above `def`'
    if len(node.decorator_list) != 1:
        at = node.decorator_list[1] if node.decorator_list else node
        raise kernel_error(
            Code.FORBIDDEN,
            _head(ctx, node) if at is node else ctx.span(at),
            "a kernel has one decorator, @kernel(…)",
            hint,
        )
    match node.decorator_list[0]:
        case ast.Call(func=ast.Name(id="kernel")) as call:
            args = ctx.arguments(call, "target, waves, cluster=")
        case other:
            raise ctx.error(Code.FORBIDDEN, other, "a kernel's decorator is @kernel(…)", hint)
    target = _target(ctx, args["target"])
    cluster = args.get("cluster")
    return (
        target,
        ctx.constant(args["waves"], "waves", high=64),
        1 if cluster is None else ctx.constant(cluster, "cluster", high=16),
    )


def _target(ctx: Context, node: ast.expr) -> Literal["gfx942", "sm_90a"]:
    try:
        return cast("Literal['gfx942', 'sm_90a']", ctx.text(node, "the target", ("gfx942", "sm_90a")))
    except KernelError as bad:
        raise ctx.error(Code.BAD_TARGET, node, bad.diagnostic.message, bad.diagnostic.hint) from None
