"""The type of each fragment operation, from its operands' types. A rule raises `KernelError` where none fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from argus.dsl.diagnostics import Code, Span
from argus.dsl.ir.broadcast import FLOATS, MIXED, Weak, common_dtype, fits, meet, result_dtype
from argus.dsl.ir.nodes import AsOperand, BinaryOp, Dtype, MmaAcc, Operand, Ref, UnaryOp
from argus.dsl.ir.report import did_you_mean, kernel_error
from argus.dsl.ir.shapes import DTYPE_BYTES, FragType, ViewType
from argus.dsl.layout import Accumulator, Linear, OperandMap, Uniform, WithoutAxis
from argus.dsl.targets.atoms import ATOMS, atom_names

LOAD_BYTES = 16


@dataclass(frozen=True, slots=True)
class Typed:
    """An operand's type; `weak` for literals, which take the other side's dtype."""

    type: FragType
    weak: Weak = ""


def scalar(dtype: Dtype, weak: Weak = "") -> Typed:
    """The same value in every lane."""
    return Typed(FragType(dtype, (), (), Uniform()), weak)


# -------------------------------------------------------------------------------- memory and layout


def load(view: ViewType, linear: Linear | None, span: Span) -> FragType:
    """Without a map, each lane takes up to 16 bytes, as far as they divide the row."""
    shape = view.extents
    if shape is None:
        message = "the shape of what is loaded must be constant"
        raise kernel_error(Code.BAD_SHAPE, span, message, "load a tile: `load(X.tile(64, 64)[i, j])`")
    if not shape:
        return scalar(view.dtype).type
    if linear is None:
        vector = LOAD_BYTES // DTYPE_BYTES[view.dtype]
        while shape[-1] % vector:
            vector //= 2
        linear = Linear(vector)
    _check_vector(linear, shape, span)
    return FragType(view.dtype, shape, view.axes, linear)


def load_like(view: ViewType, x: FragType, like: Ref, span: Span) -> FragType:
    """The view's axes are axes of `x` by name, in the same order and of the same extents."""
    shape = view.extents
    if shape is None or not shape:
        message = "what is loaded like a fragment must have a constant shape"
        raise kernel_error(Code.BAD_SHAPE, span, message, "load a tile: `load(W.tile(64)[i], like=x)`")
    for axis, extent in zip(view.axes, shape, strict=True):
        if axis in ("", MIXED) or x.axes.count(axis) != 1:
            hint = f"its axes are {', '.join(a or '?' for a in x.axes) or 'none'}"
            named = f"axis `{axis}`" if axis not in ("", MIXED) else "the view's axis without a name"
            raise kernel_error(Code.BAD_SHAPE, span, f"{named} is no axis of `{like.name}`", hint)
        if x.shape[x.axes.index(axis)] != extent:
            have = x.shape[x.axes.index(axis)]
            message = f"{extent} elements along `{axis}` do not broadcast to the {have} of `{like.name}`"
            raise kernel_error(Code.BAD_SHAPE, span, message, f"load a tile of {have}")
    kept = [x.axes.index(axis) for axis in view.axes]
    if kept != sorted(kept):
        message = f"the view's axes are those of `{like.name}` in another order"
        raise kernel_error(Code.BAD_SHAPE, span, message, "transpose the view: .T")
    where = x.map
    for axis in reversed(range(len(x.shape))):
        if axis not in kept:
            where = WithoutAxis(where, axis)
    return FragType(view.dtype, shape, view.axes, where)


def relayout(src: FragType, to: Linear, span: Span) -> FragType:
    _check_vector(to, src.shape, span)
    return replace(src, map=to)


def _check_vector(linear: Linear, shape: tuple[int, ...], span: Span) -> None:
    row = shape[-1] if shape else 1
    if row % linear.vector:
        message = f"linear({linear.vector}) does not divide rows of {row} elements"
        raise kernel_error(Code.BAD_SHAPE, span, message, f"use a divisor of {row}")


# --------------------------------------------------------------------------------------------- mma


def accumulator(node: MmaAcc, target: str, *, integers: bool) -> FragType:
    """f32, or i32 where the operands are i8."""
    atom = ATOMS.get(node.atom)
    if atom is None:
        hint = did_you_mean(node.atom, atom_names(target)) or f"for example {atom_names(target)[0]}"
        raise kernel_error(Code.BAD_CALL, node.span, f'there is no atom "{node.atom}"', hint)
    if atom.target != target:
        message = f'the atom "{node.atom}" belongs to {atom.target}'
        raise kernel_error(Code.BAD_TARGET, node.span, message, f"for example {atom_names(target)[0]}")
    where = Accumulator(node.atom, node.m, node.n, node.grid)
    return FragType("i32" if integers else "f32", (node.m, node.n), ("", ""), where, node.regs)


def operand(node: Operand, acc: FragType, src: ViewType | FragType) -> FragType:
    """Rows of the side by the k of `pack` atoms."""
    shape = src.extents if isinstance(src, ViewType) else src.shape
    if shape is None or len(shape) != 2:
        message = "an operand is read from a constant shape of two axes: rows and k"
        raise kernel_error(Code.BAD_SHAPE, node.span, message, "take a tile, or a shared buffer of two axes")
    where = cast("Accumulator", acc.map)
    rows = _rows(node, where, shape[0])
    k = ATOMS[where.atom].k * node.pack
    return FragType(src.dtype, (rows, k), src.axes, OperandMap(node.side, where, node.pack))


def as_operand(node: AsOperand, acc: FragType, src: FragType, *, hopper: bool) -> FragType:
    """MFMA keeps rows of the accumulator in registers, which are the k of an operand; wgmma keeps its columns."""
    if len(src.shape) != 2:
        raise kernel_error(Code.BAD_SHAPE, node.span, f"an operand has two axes, this has {len(src.shape)}")
    shape, axes = (src.shape, src.axes) if hopper else (src.shape[::-1], src.axes[::-1])
    where = cast("Accumulator", acc.map)
    rows = _rows(node, where, shape[0])
    return FragType(src.dtype, (rows, ATOMS[where.atom].k), axes, OperandMap(node.side, where))


def _rows(node: Operand | AsOperand, acc: Accumulator, got: int) -> int:
    want = acc.m if node.side == "a" else acc.n
    if got != want:
        message = f"operand {node.side} of `{node.acc}` has {want} rows, this has {got}"
        raise kernel_error(Code.BAD_SHAPE, node.span, message, "rows come first, then k; otherwise use .T")
    return want


# ---------------------------------------------------------------------------------------- arithmetic


def unary(op: UnaryOp, src: Typed, span: Span) -> FragType:
    dtype = src.type.dtype
    if op == "not":
        if dtype != "bool":
            raise kernel_error(Code.BAD_DTYPE, span, f"`~` negates conditions, not {dtype}", "compare first")
        return src.type
    if op in ("neg", "abs", "relu") and dtype != "bool":
        return src.type
    if src.weak == "int":
        return replace(src.type, dtype="f32")
    if dtype not in FLOATS:
        raise kernel_error(Code.BAD_DTYPE, span, f"{op} of {dtype}", "convert: x.to(f32)")
    return src.type


def binary(op: BinaryOp, lhs: Typed, rhs: Typed, span: Span) -> FragType:
    dtype, weak = common_dtype((lhs.type.dtype, lhs.weak), (rhs.type.dtype, rhs.weak), span)
    return replace(meet(lhs.type, rhs.type, span), dtype=result_dtype(op, dtype, weak, span))


def select(condition: Typed, x: Typed, y: Typed, span: Span) -> FragType:
    if condition.type.dtype != "bool" and condition.weak != "int":
        message = f"the condition is {condition.type.dtype}"
        raise kernel_error(Code.BAD_DTYPE, span, message, "compare: select(x > 0.0, …)")
    dtype, _ = common_dtype((x.type.dtype, x.weak), (y.type.dtype, y.weak), span)
    return replace(meet(condition.type, meet(x.type, y.type, span), span), dtype=dtype)


def under(src: FragType, other: Typed, dtype: Dtype, what: str, span: Span) -> FragType:
    """`src`'s type, where `other` is of `dtype` and broadcasts to it."""
    if other.type.dtype != dtype and other.weak != "int":
        raise kernel_error(Code.BAD_DTYPE, span, f"{what} is {other.type.dtype}, but must be {dtype}")
    if not fits(other.type, src):
        message = f"{what} has shape {list(other.type.shape)}, the value {list(src.shape)}"
        raise kernel_error(Code.BAD_SHAPE, span, message, "it must broadcast to the value, in the same lanes")
    return src


def reduce(src: FragType, axis: str, span: Span) -> FragType:
    """What is left without the axis."""
    if src.dtype == "bool":
        raise kernel_error(Code.BAD_DTYPE, span, "a reduction of conditions", "use select(c, 1.0, 0.0)")
    if src.axes.count(axis) != 1:
        known = [a for a in src.axes if a not in ("", MIXED)]
        hint = did_you_mean(axis, known) or f"its axes are {', '.join(known) or 'not known by name'}"
        raise kernel_error(Code.BAD_SHAPE, span, f"this fragment has no axis `{axis}`", hint)
    i = src.axes.index(axis)
    shape, axes = src.shape[:i] + src.shape[i + 1 :], src.axes[:i] + src.axes[i + 1 :]
    return FragType(src.dtype, shape, axes, WithoutAxis(src.map, i) if shape else Uniform())
