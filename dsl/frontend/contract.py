"""The part of a kernel that the task owns: signature, `where`, `assume`, `ensures`."""

from __future__ import annotations

import ast
from typing import cast

from argus.dsl.diagnostics import Code
from argus.dsl.frontend import words
from argus.dsl.frontend.context import Context
from argus.dsl.frontend.forbidden import forbidden
from argus.dsl.frontend.scope import Item, Kind
from argus.dsl.ir.nodes import Assumption, Ensures, Over, Param, ScalarParam, TensorParam
from argus.dsl.ir.report import did_you_mean
from argus.dsl.layout import Expr, Var, names

MAX_PARAMS = 32
SIZE = "a size"
MAX_CLAUSES = 64

# --------------------------------------------------------------------------------------------- signature


def read_params(ctx: Context, node: ast.arguments) -> tuple[Param, ...]:
    """Parameters; binds them, the size symbols and the axis names."""
    for what, extra in (("*args", node.vararg), ("**kwargs", node.kwarg)):
        if extra is not None:
            raise ctx.error(Code.FORBIDDEN, extra, f"kernels take no {what}", "name every parameter")
    for extra in (*node.posonlyargs, *node.kwonlyargs):
        raise ctx.error(Code.FORBIDDEN, extra, "parameters are plain: no `/`, no `*`", "name them in order")
    for default in node.defaults:
        raise ctx.error(Code.FORBIDDEN, default, "parameters have no default", "delete it")
    if not node.args:
        return ()
    if len(node.args) > MAX_PARAMS:
        raise ctx.error(Code.LIMIT, node.args[MAX_PARAMS], f"a kernel has more than {MAX_PARAMS} parameters")
    _bind_sizes(ctx, node.args)
    return tuple(_param(ctx, arg) for arg in node.args)


def _bind_sizes(ctx: Context, args: list[ast.arg]) -> None:
    """Size symbols are the names in extents; they are known before any parameter is read."""
    params = {arg.arg for arg in args}
    for arg in args:
        if not isinstance(arg.annotation, ast.Subscript):
            continue
        for extent in (_axis_extent(entry)[1] for entry in _entries(arg.annotation)):
            for node in ast.walk(extent):
                if not isinstance(node, ast.Name) or node.id in words.INTEGER:
                    continue
                name = ctx.identifier(node.id, node)
                if name in params:
                    raise ctx.error(
                        Code.CONTRACT, node, f"`{name}` is a parameter and a size", "use another name for the size"
                    )
                if name in words.RESERVED:
                    raise ctx.error(Code.FORBIDDEN, node, f"`{name}` is a word of the language", "use another name")
                ctx.fixed[name] = SIZE
                ctx.scope.bind(name, Item(Kind.INDEX))


def _entries(annotation: ast.Subscript) -> list[ast.expr]:
    return annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]


def _axis_extent(entry: ast.expr) -> tuple[ast.expr | None, ast.expr]:
    if isinstance(entry, ast.Slice):
        return entry.lower, entry.upper or ast.Constant(None)
    return None, entry


def _param(ctx: Context, arg: ast.arg) -> Param:
    name = ctx.identifier(arg.arg, arg)
    if name in words.RESERVED:
        raise ctx.error(Code.FORBIDDEN, arg, f"`{name}` is a word of the language", "use another name")
    if name in ctx.fixed:
        raise ctx.error(Code.CONTRACT, arg, f"`{name}` is named twice in the signature", "use another name")
    ctx.fixed[name] = "a parameter"
    match arg.annotation:
        case None:
            raise ctx.error(
                Code.CONTRACT, arg, f"`{name}` has no type", f"write `{name}: f16[m:M, k:K]` or `{name}: f32`"
            )
        case ast.Subscript(value=dtype) as annotation:
            tensor = _tensor(ctx, arg, name, dtype, annotation)
            ctx.scope.bind(name, Item(Kind.VIEW, dtype=tensor.dtype, rank=len(tensor.shape)))
            return tensor
        case annotation:
            dtype = ctx.dtype(annotation)
            if dtype not in ("f32", "i32"):
                raise ctx.error(Code.BAD_DTYPE, annotation, "a scalar parameter is f32 or i32", "write f32 or i32")
            ctx.scope.bind(name, Item(Kind.INDEX if dtype == "i32" else Kind.FRAG))
            return ScalarParam(name=name, dtype=dtype, span=ctx.span(arg))


def _tensor(ctx: Context, arg: ast.arg, name: str, dtype: ast.expr, annotation: ast.Subscript) -> TensorParam:
    kind = ctx.dtype(dtype)
    if kind == "bool":
        raise ctx.error(Code.BAD_DTYPE, dtype, "memory holds no bool", "use i8 or i32")
    axes: list[str] = []
    shape: list[Expr] = []
    entries = _entries(annotation)
    if len(entries) > 5:
        raise ctx.error(Code.LIMIT, annotation, "a tensor has more than 5 axes")
    for entry in entries:
        if isinstance(entry, ast.Slice) and (entry.step is not None or entry.lower is None or entry.upper is None):
            raise ctx.error(Code.CONTRACT, entry, "an axis is `name:extent`", "for example `k:K`")
        label, extent = _axis_extent(entry)
        axis = "" if label is None else _axis(ctx, label)
        if axis and axis in axes:
            raise ctx.error(Code.CONTRACT, entry, f"`{name}` has two axes `{axis}`", "use different names")
        axes.append(axis)
        size = ctx.index(extent)
        if not names(size):
            ctx.constant(extent, "an extent")
        shape.append(size)
    return TensorParam(name=name, dtype=kind, axes=tuple(axes), shape=tuple(shape), span=ctx.span(arg))


def _axis(ctx: Context, node: ast.expr) -> str:
    axis = ctx.name_of(node, "an axis")
    if axis in words.NO_AXES or axis in words.DTYPES:
        raise ctx.error(Code.FORBIDDEN, node, f"`{axis}` is a word of the language", "use another name for the axis")
    if axis in ctx.fixed:
        raise ctx.error(
            Code.CONTRACT, node, f"`{axis}` is {ctx.fixed[axis]} and an axis", "use another name for the axis"
        )
    ctx.tags[axis] = None
    return axis


# ------------------------------------------------------------------------------------------ clauses


class Clauses:
    """What `where`, `assume` and `ensures` said so far."""

    def __init__(self, ctx: Context, params: tuple[Param, ...]) -> None:
        self._ctx = ctx
        self._tensors = {p.name: p for p in params if isinstance(p, TensorParam)}
        self.where: list[Expr] = []
        self.assume: list[Assumption] = []
        self.ensures: list[Ensures] = []

    def read(self, call: ast.Call) -> None:
        """One clause."""
        name = cast("ast.Name", call.func).id
        if name == "ensures":
            self._ensures(call)
            return
        args = self._ctx.arguments(call, "*predicates").rest
        if not args:
            raise self._ctx.error(Code.BAD_CALL, call, f"`{name}` takes at least one predicate", f"{name}(K % 8 == 0)")
        for node in args:
            if name == "where":
                self.where.append(self._where(node))
            else:
                self.assume.append(self._assume(node))
        if len(self.where) + len(self.assume) > MAX_CLAUSES:
            raise self._ctx.error(Code.LIMIT, call, f"a contract has more than {MAX_CLAUSES} predicates")

    def _where(self, node: ast.expr) -> Expr:
        ctx = self._ctx
        item = ctx.read(ctx, node)
        if item.kind is not Kind.INDEX:
            raise ctx.error(Code.CONTRACT, node, "`where` is about sizes", "write assume(…) for data")
        predicate = cast("Expr", item.value)
        for name in sorted(names(predicate)):
            if ctx.fixed.get(name) != SIZE:
                hint = "sizes are the names in the signature's extents"
                raise ctx.error(Code.CONTRACT, node, f"`where` is about sizes, and `{name}` is none", hint)
        return predicate

    # Tags and sizes are the names that a predicate over coordinates may use.
    def _coordinates(self, node: ast.expr) -> Expr:
        ctx = self._ctx
        with ctx.scope.block():
            for axis in ctx.tags:
                ctx.scope.bind_here(axis, Item(Kind.INDEX, Var(axis)))
            return ctx.index(node)

    def _assume(self, node: ast.expr) -> Assumption:
        about: dict[str, None] = {}
        self._check_assumption(node, about, 0)
        return Assumption(text=ast.unparse(node), about=tuple(about), span=self._ctx.span(node))

    def _check_assumption(self, node: ast.expr, about: dict[str, None], depth: int) -> None:
        """Assumptions are kept as text: integers, comparisons, tensors by index, functions without a definition."""
        ctx = self._ctx
        if depth > 20:
            raise ctx.error(Code.LIMIT, node, "a predicate is nested more than 20 deep", "write several predicates")
        match node:
            case ast.Name():
                self._assumed_name(node)
                return
            case ast.Constant(value=int()) if not isinstance(node.value, bool):
                ctx.read(ctx, node)
                return
            case ast.BoolOp(values=parts):
                pass
            case ast.Compare(left=left, comparators=rest, ops=ops):
                for op in ops:
                    if isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn):
                        raise forbidden(ctx, op, node)
                parts = [left, *rest]
            case ast.BinOp(left=left, right=right, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod()):
                parts = [left, right]
            case ast.BinOp(op=op):
                raise forbidden(ctx, op, node)
            case ast.UnaryOp(operand=operand, op=ast.Not() | ast.USub()):
                parts = [operand]
            case ast.Subscript(value=ast.Name() as tensor, slice=index):
                name = ctx.identifier(tensor.id, tensor)
                if name not in self._tensors:
                    raise ctx.error(
                        Code.UNKNOWN_NAME, tensor, f"`{name}` is no tensor", did_you_mean(name, self._tensors)
                    )
                about[name] = None
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                if len(parts) != len(self._tensors[name].shape):
                    raise ctx.error(Code.CONTRACT, node, f"`{name}` has {len(self._tensors[name].shape)} axes")
            case ast.Call(func=ast.Name() as function, args=parts, keywords=[]):
                ctx.identifier(function.id, function)
            case _:
                raise forbidden(ctx, node)
        for part in parts:
            self._check_assumption(part, about, depth + 1)

    def _assumed_name(self, node: ast.Name) -> None:
        ctx = self._ctx
        name = ctx.identifier(node.id, node)
        item = ctx.scope.get(name)
        if name in ctx.tags or (item is not None and item.kind is Kind.INDEX):
            return
        known = (*ctx.tags, *ctx.scope.names())
        hint = did_you_mean(name, known) or "names are axes and sizes of the signature"
        raise ctx.error(Code.UNKNOWN_NAME, node, f"`{name}` is not defined here", hint)

    def _ensures(self, call: ast.Call) -> None:
        ctx = self._ctx
        args = ctx.arguments(call, "out, *over, uses=")
        tensor, index = self._output(args["out"])
        uses = args.get("uses")
        self.ensures.append(
            Ensures(
                tensor=tensor,
                index=index,
                over=tuple(self._over(node) for node in args.rest),
                uses=() if uses is None else self._uses(uses),
                span=ctx.span(call),
            )
        )
        if sum(e.tensor == tensor for e in self.ensures) > 1:
            raise ctx.error(Code.CONTRACT, call, f"`{tensor}` has two `ensures`", "join them")

    def _output(self, node: ast.expr) -> tuple[str, tuple[str, ...]]:
        ctx = self._ctx
        if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
            raise ctx.error(
                Code.CONTRACT, node, "`ensures` speaks of an element of a tensor", "write `ensures(C[m, n], …)`"
            )
        tensor = self._tensor(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(indices) != len(self._tensors[tensor].shape):
            rank = len(self._tensors[tensor].shape)
            raise ctx.error(Code.CONTRACT, node, f"{len(indices)} indices for the {rank} axes of `{tensor}`")
        axes = tuple(self._tag(i) for i in indices)
        if len(set(axes)) < len(axes):
            raise ctx.error(Code.CONTRACT, node, "an axis appears twice", "name each axis once")
        return tensor, axes

    def _tensor(self, node: ast.expr) -> str:
        name = self._ctx.name_of(node, "a tensor")
        if name not in self._tensors:
            hint = did_you_mean(name, self._tensors) or f"tensors are {', '.join(self._tensors) or 'missing'}"
            raise self._ctx.error(Code.UNKNOWN_NAME, node, f"`{name}` is no tensor parameter", hint)
        return name

    def _tag(self, node: ast.expr) -> str:
        name = self._ctx.name_of(node, "an axis")
        if name not in self._ctx.tags:
            hint = did_you_mean(name, self._ctx.tags) or f"axes are {', '.join(self._ctx.tags) or 'not named'}"
            raise self._ctx.error(Code.UNKNOWN_NAME, node, f"`{name}` is no axis of the signature", hint)
        return name

    def _over(self, node: ast.expr) -> Over:
        ctx = self._ctx
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "over"):
            raise ctx.error(Code.CONTRACT, node, "a set of reduced coordinates is needed", "write `over(k, K)`")
        args = ctx.arguments(node, "axis, extent, pred=")
        pred = args.get("pred")
        return Over(
            axis=self._tag(args["axis"]),
            extent=ctx.index(args["extent"]),
            pred=None if pred is None else self._coordinates(pred),
            span=ctx.span(node),
        )

    def _uses(self, node: ast.expr) -> tuple[str, ...]:
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(self._tensor(n) for n in nodes)
