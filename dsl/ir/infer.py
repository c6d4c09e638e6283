"""Types of every name of a kernel in core form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from argus.dsl.diagnostics import Code, Span
from argus.dsl.ir.broadcast import FLOATS, MIXED, Weak, common_dtype, fits, join_axes, meet, result_dtype, same_lanes
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
from argus.dsl.ir.report import did_you_mean, kernel_error
from argus.dsl.ir.shapes import DTYPE_BYTES, FragType, Types, ViewType, base, view_type
from argus.dsl.layout import Accumulator, Linear, OperandMap, Uniform, WithoutAxis
from argus.dsl.layout import names as variables
from argus.dsl.targets.atoms import ATOMS, Atom, atom_names

LOAD_BYTES = 16
_MAX_ROUNDS = 20


def infer(kernel: Kernel) -> Types:
    """Types of a kernel in core form.

    Names that a loop updates are typed by joining all their assignments, so the walk repeats until nothing changes.

    Raises:
        KernelError: BAD_SHAPE, BAD_DTYPE or BAD_SPACE at the first statement that has no type.
    """
    inference = _Inference(kernel)
    for _ in range(_MAX_ROUNDS):
        before = inference.state()
        inference.body(kernel.body)
        if inference.state() == before:
            return inference.types(known=True)
    raise AssertionError("types do not settle")


def sizes(kernel: Kernel) -> tuple[str, ...]:
    """Size symbols in order of first appearance in the signature."""
    out: dict[str, None] = {}
    for p in kernel.params:
        if isinstance(p, TensorParam):
            for extent in p.shape:
                out |= dict.fromkeys(sorted(variables(extent)))
    return tuple(out)


@dataclass(frozen=True, slots=True)
class _Operand:
    """The type of an operand; `weak` for literals, which take the other side's dtype."""

    type: FragType
    weak: Weak = ""


class _Inference:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._params = {p.name: p for p in kernel.params if isinstance(p, TensorParam)}
        self._scalars: dict[str, Dtype] = {p.name: p.dtype for p in kernel.params if not isinstance(p, TensorParam)}
        self._buffers: dict[str, Shared] = {}
        self._axes: dict[str, tuple[str, ...]] = {}
        self._frags: dict[str, FragType] = {}
        self._views: dict[str, ViewType] = {}
        self._indices: dict[str, None] = {}
        self._integer_accs: set[str] = set()
        self._sizes = sizes(kernel)

    def state(self) -> object:
        return dict(self._frags), dict(self._axes), len(self._integer_accs), dict(self._views)

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

    def body(self, body: tuple[Stmt, ...]) -> None:
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
                self.body(node.body)
            case If():
                self.body(node.body)
                self.body(node.orelse)
            case Role():
                if node.index is not None:
                    self._indices[node.index] = None
                self.body(node.body)
            case Elect():
                self.body(node.body)
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
        self._frags[name] = new if old is None else _join(name, old, new, span)

    def _mma(self, node: MmaInto) -> None:
        acc, a, b = self._acc(node.acc, node.span), self._operand(node.a).type, self._operand(node.b).type
        if a.dtype == "i8":
            self._integer_accs.add(node.acc)
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

    def _operand(self, node: Frag) -> _Operand:
        match node:
            case Scalar():
                return _Operand(FragType("f32", (), (), Uniform()), "float")
            case Index():
                return _Operand(FragType("i32", (), (), Uniform()), "int")
            case Ref(name=name) if name in self._scalars:
                return _Operand(FragType(self._scalars[name], (), (), Uniform()))
            case Ref(name=name) if name in self._frags:
                return _Operand(self._frags[name])
            case Ref(name=name):
                raise kernel_error(Code.BAD_SPACE, node.span, f"a fragment is needed, `{name}` is none")
            case _:
                return _Operand(self._frag(node, ""))

    def _frag(self, node: Frag, target: str) -> FragType:
        match node:
            case Ref() | Scalar() | Index():
                return self._operand(node).type
            case Load():
                return self._load(node)
            case MmaAcc():
                return self._mma_acc(node, target)
            case Operand():
                return self._mma_operand(node)
            case AsOperand():
                return self._as_operand(node)
            case Cast(src=src, dtype=dtype):
                return replace(self._operand(src).type, dtype=dtype)
            case Unary():
                return self._unary(node)
            case Binary():
                return self._binary(node)
            case Select():
                return self._select(node)
            case Coordinate(src=src):
                return replace(self._operand(src).type, dtype="i32")
            case Mask(src=src, pred=pred):
                return self._under(self._operand(src).type, pred, "bool", "the predicate")
            case Shuffle(src=src, lane=lane):
                return self._under(self._operand(src).type, lane, "i32", "the lane")
            case Reduce():
                return self._reduce(node)
            case Relayout(src=src, map=to):
                inner = self._operand(src).type
                _check_vector(to, inner.shape, node.span)
                return replace(inner, map=to)
            case Tagged(src=src):
                return self._operand(cast("Frag", src)).type
            case _:
                raise AssertionError(f"{type(node).__name__} in core form")

    def _load(self, node: Load) -> FragType:
        view = view_type(self.types(), node.view)
        shape = view.extents
        if shape is None:
            message = "the shape of what is loaded must be constant"
            raise kernel_error(Code.BAD_SHAPE, node.span, message, "load a tile: `load(X.tile(64, 64)[i, j])`")
        if not shape:
            return FragType(view.dtype, (), (), Uniform())
        linear = node.map
        if linear is None:
            vector = LOAD_BYTES // DTYPE_BYTES[view.dtype]
            while shape[-1] % vector:
                vector //= 2
            linear = Linear(vector)
        _check_vector(linear, shape, node.span)
        return FragType(view.dtype, shape, view.axes, linear)

    def _mma_acc(self, node: MmaAcc, target: str) -> FragType:
        _atom(node.atom, self._kernel.target, node.span)
        dtype: Dtype = "i32" if target in self._integer_accs else "f32"
        return FragType(dtype, (node.m, node.n), ("", ""), Accumulator(node.atom, node.m, node.n, node.grid), node.regs)

    def _acc(self, name: str, span: Span) -> FragType:
        acc = self._frags.get(name)
        if acc is None or not isinstance(acc.map, Accumulator):
            hint = "an accumulator is made by mma_acc(…)"
            raise kernel_error(Code.BAD_SPACE, span, f"`{name}` is no accumulator", hint)
        return acc

    def _mma_operand(self, node: Operand) -> FragType:
        acc = cast("Accumulator", self._acc(node.acc, node.span).map)
        atom = ATOMS[acc.atom]
        src = node.src
        if isinstance(src, Ref) and src.name in self._frags:
            dtype, shape, axes = self._frags[src.name].dtype, self._frags[src.name].shape, self._frags[src.name].axes
        else:
            view = view_type(self.types(), src)
            dtype, shape, axes = view.dtype, view.extents, view.axes
        if shape is None or len(shape) != 2:
            message = "an operand is read from a constant shape of two axes: rows and k"
            raise kernel_error(Code.BAD_SHAPE, node.span, message, "take a tile, or a shared buffer of two axes")
        rows = acc.m if node.side == "a" else acc.n
        _check_rows(node.side, shape[0], rows, node.acc, node.span)
        return FragType(dtype, (rows, atom.k * node.pack), axes, OperandMap(node.side, acc, node.pack))

    def _as_operand(self, node: AsOperand) -> FragType:
        acc = cast("Accumulator", self._acc(node.acc, node.span).map)
        src = self._operand(node.src).type
        if len(src.shape) != 2:
            raise kernel_error(Code.BAD_SHAPE, node.span, f"an operand has two axes, this has {len(src.shape)}")
        # MFMA keeps rows of the accumulator in registers, which are the k of an operand; wgmma keeps its columns.
        shape, axes = (src.shape, src.axes) if self._kernel.target == "sm_90a" else (src.shape[::-1], src.axes[::-1])
        rows = acc.m if node.side == "a" else acc.n
        _check_rows(node.side, shape[0], rows, node.acc, node.span)
        return FragType(src.dtype, (rows, ATOMS[acc.atom].k), axes, OperandMap(node.side, acc))

    def _unary(self, node: Unary) -> FragType:
        src = self._operand(node.src)
        dtype = src.type.dtype
        if node.op == "not":
            if dtype != "bool":
                raise kernel_error(Code.BAD_DTYPE, node.span, f"`~` negates conditions, not {dtype}", "compare first")
            return src.type
        if node.op in ("neg", "abs", "relu") and dtype != "bool":
            return src.type
        if src.weak == "int":
            return replace(src.type, dtype="f32")
        if dtype not in FLOATS:
            raise kernel_error(Code.BAD_DTYPE, node.span, f"{node.op} of {dtype}", "convert: x.to(f32)")
        return src.type

    def _binary(self, node: Binary) -> FragType:
        lhs, rhs = self._operand(node.lhs), self._operand(node.rhs)
        dtype, weak = common_dtype((lhs.type.dtype, lhs.weak), (rhs.type.dtype, rhs.weak), node.span)
        dtype, _ = result_dtype(node.op, dtype, weak, node.span)
        return replace(meet(lhs.type, rhs.type, node.span), dtype=dtype)

    def _select(self, node: Select) -> FragType:
        condition, x, y = self._operand(node.condition), self._operand(node.x), self._operand(node.y)
        if condition.type.dtype != "bool" and condition.weak != "int":
            message = f"the condition is {condition.type.dtype}"
            raise kernel_error(Code.BAD_DTYPE, node.condition.span, message, "compare: select(x > 0.0, …)")
        dtype, _ = common_dtype((x.type.dtype, x.weak), (y.type.dtype, y.weak), node.span)
        both = meet(x.type, y.type, node.span)
        return replace(meet(condition.type, both, node.span), dtype=dtype)

    def _under(self, src: FragType, other: Frag, dtype: Dtype, what: str) -> FragType:
        """`src`'s type, where `other` is of `dtype` and broadcasts to it."""
        operand = self._operand(other)
        if operand.type.dtype != dtype and operand.weak != "int":
            raise kernel_error(Code.BAD_DTYPE, other.span, f"{what} is {operand.type.dtype}, but must be {dtype}")
        if not fits(operand.type, src):
            message = f"{what} has shape {list(operand.type.shape)}, the value {list(src.shape)}"
            raise kernel_error(Code.BAD_SHAPE, other.span, message, "it must broadcast to the value, in the same lanes")
        return src

    def _reduce(self, node: Reduce) -> FragType:
        src = self._operand(node.src).type
        if src.dtype == "bool":
            raise kernel_error(Code.BAD_DTYPE, node.span, "a reduction of conditions", "use select(c, 1.0, 0.0)")
        if src.axes.count(node.axis) != 1:
            known = [a for a in src.axes if a not in ("", MIXED)]
            hint = did_you_mean(node.axis, known) or f"its axes are {', '.join(known) or 'not known by name'}"
            raise kernel_error(Code.BAD_SHAPE, node.span, f"this fragment has no axis `{node.axis}`", hint)
        axis = src.axes.index(node.axis)
        shape, axes = src.shape[:axis] + src.shape[axis + 1 :], src.axes[:axis] + src.axes[axis + 1 :]
        return FragType(src.dtype, shape, axes, WithoutAxis(src.map, axis) if shape else Uniform())


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


def _check_vector(linear: Linear, shape: tuple[int, ...], span: Span) -> None:
    row = shape[-1] if shape else 1
    if row % linear.vector:
        message = f"linear({linear.vector}) does not divide rows of {row} elements"
        raise kernel_error(Code.BAD_SHAPE, span, message, f"use a divisor of {row}")


def _check_rows(side: str, got: int, want: int, acc: str, span: Span) -> None:
    if got != want:
        message = f"operand {side} of `{acc}` has {want} rows, this has {got}"
        raise kernel_error(
            Code.BAD_SHAPE, span, message, "rows come first, then k; a source the other way round needs .T"
        )


def _atom(name: str, target: str, span: Span) -> Atom:
    atom = ATOMS.get(name)
    if atom is None:
        hint = did_you_mean(name, atom_names(target)) or f"for example {atom_names(target)[0]}"
        raise kernel_error(Code.BAD_CALL, span, f'there is no atom "{name}"', hint)
    if atom.target != target:
        message = f'the atom "{name}" belongs to {atom.target}'
        raise kernel_error(Code.BAD_TARGET, span, message, f"for example {atom_names(target)[0]}")
    return atom
