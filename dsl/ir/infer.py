"""Types of every name of a kernel in core form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from argus.dsl.diagnostics import Code, Span
from argus.dsl.ir import frag_rules as rules
from argus.dsl.ir.broadcast import MIXED, fits, join_axes, same_lanes
from argus.dsl.ir.frag_rules import Typed
from argus.dsl.ir.nodes import (
    AsOperand,
    Assign,
    At,
    Binary,
    Block,
    Cast,
    Coordinate,
    CopyAsync,
    Dtype,
    Elect,
    For,
    Frag,
    If,
    Index,
    Kernel,
    Load,
    Mask,
    MmaAcc,
    MmaInto,
    Operand,
    Reduce,
    Ref,
    Relayout,
    Role,
    Scalar,
    Select,
    Shared,
    Shuffle,
    Split,
    Stmt,
    Store,
    Tagged,
    TensorParam,
    Transposed,
    Unary,
    View,
)
from argus.dsl.ir.report import kernel_error
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.shapes import FragType, Types, ViewType, base, view_type
from argus.dsl.layout import Accumulator
from argus.dsl.layout import names as variables

_MAX_ROUNDS = 20


def infer(kernel: Kernel) -> Types:
    """Types of a kernel in core form.

    Names that a loop updates are typed by joining all their assignments, so the walk repeats until nothing changes.

    Raises:
        KernelError: BAD_SHAPE, BAD_DTYPE or BAD_SPACE at the first statement that has no type.
    """
    integers: frozenset[str] = frozenset()
    while True:
        try:
            return _settled(_Inference(kernel, integers))
        except _IntegerAccumulator as found:
            integers |= {found.name}


def _settled(inference: _Inference) -> Types:
    for _ in range(_MAX_ROUNDS):
        before = inference.state()
        inference.body()
        if inference.state() == before:
            return inference.types(known=True)
    raise AssertionError("types do not settle")


class _IntegerAccumulator(Exception):
    """Operands are i8, so their accumulator holds i32; it was typed before they were seen."""

    def __init__(self, name: str) -> None:
        self.name = name


def sizes(kernel: Kernel) -> tuple[str, ...]:
    """Size symbols in order of first appearance in the signature."""
    out: dict[str, None] = {}
    for p in kernel.params:
        if isinstance(p, TensorParam):
            for extent in p.shape:
                out |= dict.fromkeys(sorted(variables(extent)))
    return tuple(out)


class _Inference:
    def __init__(self, kernel: Kernel, integers: frozenset[str]) -> None:
        self._kernel = kernel
        self._integers = integers
        self._params = {p.name: p for p in kernel.params if isinstance(p, TensorParam)}
        self._scalars: dict[str, Dtype] = {p.name: p.dtype for p in kernel.params if not isinstance(p, TensorParam)}
        self._buffers: dict[str, Shared] = {}
        self._axes: dict[str, tuple[str, ...]] = {}
        self._frags: dict[str, FragType] = {}
        self._views: dict[str, ViewType] = {}
        self._indices: dict[str, None] = {}
        self._sizes = sizes(kernel)
        assigned = Counter(n.targets[0] for n in walk_body(kernel.body) if isinstance(n, Assign))
        self._once = frozenset(name for name, times in assigned.items() if times == 1)

    def state(self) -> object:
        return dict(self._frags), dict(self._axes), dict(self._views)

    def types(self, *, known: bool = False) -> Types:
        """`known`: forget axis names that differ from path to path."""
        frags: Mapping[str, FragType] = self._frags
        axes: Mapping[str, tuple[str, ...]] = self._axes
        if known:
            frags = {n: replace(t, axes=_named(t.axes)) for n, t in frags.items()}
            axes = {n: _named(a) for n, a in axes.items()}
        indices = tuple(self._indices)
        return Types(self._params, self._buffers, frags, self._sizes, self._scalars, indices, axes, self._views)

    # --------------------------------------------------------------------------------- statements

    def body(self) -> None:
        """One walk over the kernel."""
        self._body(self._kernel.body)

    def _body(self, body: tuple[Stmt, ...]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: Stmt) -> None:
        match node:
            case Assign():
                self._assign(node)
            case MmaInto():
                self._mma(node)
            case CopyAsync(dst=dst, src=src):
                self._stored(dst, view_type(self.types(), src).axes)
            case Store(view=view, value=value):
                self._stored(view, self._operand(value).type.axes)
            case For():
                self._indices |= dict.fromkeys(node.targets)
                if node.kind == "tiles":
                    self._indices[f"{node.targets[0]}.n"] = None
                self._body(node.body)
            case If():
                self._body(node.body)
                self._body(node.orelse)
            case Role():
                if node.index is not None:
                    self._indices[node.index] = None
                self._body(node.body)
            case Elect():
                self._body(node.body)
            case _:
                pass

    def _assign(self, node: Assign) -> None:
        name, value = node.targets[0], node.value
        match value:
            case Shared():
                self._buffers[name] = value
                self._axes.setdefault(name, ("",) * len(value.shape))
            case Block() | Split():
                self._indices |= dict.fromkeys(node.targets)
            case Tagged(src=src) if not self._is_frag(src):
                self._views[name] = view_type(self.types(), cast("View", src))
            case _ if _is_frag_node(value):
                self._define(name, self._frag(cast("Frag", value), name), node.span)
                if isinstance(value, Load) and self._frags[name].shape == () and self._frags[name].dtype == "i32":
                    self._indices[name] = None
            case _:
                pass

    def _is_frag(self, src: Frag | View) -> bool:
        return (not isinstance(src, Ref) and _is_frag_node(src)) or (isinstance(src, Ref) and src.name in self._frags)

    def _define(self, name: str, new: FragType, span: Span) -> None:
        old = self._frags.get(name)
        if old is None or (name in self._once and old.shape != new.shape):
            # With one assignment nothing is joined: the shape changed because an operand's type has grown.
            self._frags[name] = new
        else:
            self._frags[name] = _join(name, old, new, span)

    def _mma(self, node: MmaInto) -> None:
        acc, a, b = self._acc(node.acc, node.span), self._operand(node.a).type, self._operand(node.b).type
        if a.dtype == "i8" and acc.dtype != "i32":
            raise _IntegerAccumulator(node.acc)
        if len(a.axes) == len(b.axes) == 2:
            self._frags[node.acc] = replace(acc, axes=join_axes(acc.axes, (a.axes[0], b.axes[0])))

    def _stored(self, view: View, axes: tuple[str, ...]) -> None:
        """What is written names the buffer's axes."""
        root = base(view).name
        if root not in self._buffers:
            return
        leading = 0
        while not isinstance(view, Ref):
            match view:
                case Transposed(src=src):
                    axes, view = axes[::-1], src
                case At(src=src):
                    leading, view = leading + 1, src
                case _:
                    view = view.src
        full = ("",) * leading + axes
        if len(full) == len(self._axes[root]):
            self._axes[root] = join_axes(self._axes[root], full)

    # ---------------------------------------------------------------------------------- fragments

    def _operand(self, node: Frag) -> Typed:
        match node:
            case Scalar():
                return rules.scalar("f32", "float")
            case Index():
                return rules.scalar("i32", "int")
            case Ref(name=name) if name in self._scalars:
                return rules.scalar(self._scalars[name])
            case Ref(name=name) if name in self._frags:
                return Typed(self._frags[name])
            case Ref(name=name):
                raise kernel_error(Code.BAD_SPACE, node.span, f"a fragment is needed, `{name}` is none")
            case _:
                return Typed(self._frag(node, ""))

    def _frag(self, node: Frag, target: str) -> FragType:
        span = node.span
        match node:
            case Ref() | Scalar() | Index():
                return self._operand(node).type
            case Load(view=view, like=Ref() as like):
                return rules.load_like(view_type(self.types(), view), self._operand(like).type, like, span)
            case Load(view=view, map=linear):
                return rules.load(view_type(self.types(), view), linear, span)
            case MmaAcc():
                return rules.accumulator(node, self._kernel.target, integers=target in self._integers)
            case Operand():
                return rules.operand(node, self._acc(node.acc, span), self._source(node.src))
            case AsOperand(src=src):
                hopper = self._kernel.target == "sm_90a"
                return rules.as_operand(node, self._acc(node.acc, span), self._operand(src).type, hopper=hopper)
            case Cast(src=src, dtype=dtype):
                return replace(self._operand(src).type, dtype=dtype)
            case Unary(op=op, src=src):
                return rules.unary(op, self._operand(src), span)
            case Binary(op=op, lhs=lhs, rhs=rhs):
                return rules.binary(op, self._operand(lhs), self._operand(rhs), span)
            case Select(condition=condition, x=x, y=y):
                return rules.select(self._operand(condition), self._operand(x), self._operand(y), span)
            case Coordinate(src=src):
                return replace(self._operand(src).type, dtype="i32")
            case Mask(src=src, pred=pred):
                return rules.under(self._operand(src).type, self._operand(pred), "bool", "the predicate", pred.span)
            case Shuffle(src=src, lane=lane):
                return rules.under(self._operand(src).type, self._operand(lane), "i32", "the lane", lane.span)
            case Reduce(src=src, axis=axis):
                return rules.reduce(self._operand(src).type, axis, span)
            case Relayout(src=src, map=to):
                return rules.relayout(self._operand(src).type, to, span)
            case Tagged(src=src):
                return self._operand(cast("Frag", src)).type
            case _:
                raise AssertionError(f"{type(node).__name__} in core form")

    def _source(self, src: View) -> ViewType | FragType:
        if isinstance(src, Ref) and src.name in self._frags:
            return self._frags[src.name]
        return view_type(self.types(), src)

    def _acc(self, name: str, span: Span) -> FragType:
        acc = self._frags.get(name)
        if acc is None or not isinstance(acc.map, Accumulator):
            hint = "an accumulator is made by mma_acc(…)"
            raise kernel_error(Code.BAD_SPACE, span, f"`{name}` is no accumulator", hint)
        return acc


# --------------------------------------------------------------------------------------------- rules


def _is_frag_node(value: object) -> bool:
    return isinstance(value, Frag)


def _named(axes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("" if a == MIXED else a for a in axes)


def _join(name: str, old: FragType, new: FragType, span: Span) -> FragType:
    """The type of a name with two assignments: equal, or a scalar that is spread."""
    if old.dtype != new.dtype:
        message = f"`{name}` is {old.dtype} and becomes {new.dtype} in an inner block"
        raise kernel_error(Code.BAD_DTYPE, span, message, f"convert: x.to({old.dtype}), or use another name")
    if fits(old, new) and old.shape != new.shape and old.shape == ():
        return new
    if new.shape == () and fits(new, old):
        return old
    if old.shape != new.shape or not same_lanes(old.map, new.map):
        message = f"`{name}` has shape {list(old.shape)} and becomes {list(new.shape)} in an inner block"
        if old.shape == new.shape:
            message = f"`{name}` lies in other lanes after this assignment in an inner block"
        raise kernel_error(Code.BAD_SHAPE, span, message, "use another name")
    return replace(old, axes=join_axes(old.axes, new.axes))
