"""How two fragments meet in a pointwise operation: dtypes, shapes, and that both lie in the same lanes."""

from __future__ import annotations

from typing import Literal

from argus.dsl.diagnostics import Code, Span
from argus.dsl.ir.nodes import BinaryOp, Dtype
from argus.dsl.ir.report import kernel_error
from argus.dsl.ir.shapes import FragType
from argus.dsl.layout import Accumulator, FragMap, Linear, Uniform, WithoutAxis

FLOATS: frozenset[Dtype] = frozenset({"f16", "bf16", "f8", "f32"})
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
# Stands for an axis whose name differs from path to path.
MIXED = "?"
Weak = Literal["", "int", "float"]


def join_axes(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    """Names that are known on one side, or equal; MIXED where both are known and differ."""
    return tuple(x if x == y or not y else y if not x else MIXED for x, y in zip(a, b, strict=True))


def fits(small: FragType, big: FragType) -> bool:
    """Whether each lane holds, for every element of `big` in it, the element of `small` that broadcasts to it."""
    if isinstance(small.map, Uniform) and small.shape == ():
        return True
    if small.shape == big.shape and same_lanes(small.map, big.map):
        return True
    if len(small.shape) >= len(big.shape):
        return False
    for axis, extent in enumerate(big.shape):
        shape = big.shape[:axis] + big.shape[axis + 1 :]
        axes = big.axes[:axis] + big.axes[axis + 1 :]
        if fits(small, FragType(big.dtype, shape, axes, WithoutAxis(big.map, axis), big.regs)):
            return True
        # A leading axis of one row does not change how chunks are dealt.
        if (
            extent == 1
            and isinstance(big.map, Linear)
            and fits(small, FragType(big.dtype, shape, axes, big.map, big.regs))
        ):
            return True
    return False


def same_lanes(a: FragMap, b: FragMap) -> bool:
    """Whether two maps of equal shape place every element in the same lanes, in whatever order axes were lost.

    What is left of an accumulator without its rows depends on its columns alone, however many rows it had; and the
    rows of a wgmma lie in the same lanes whatever its width.
    """
    (p, lost), (q, other) = _lost(a), _lost(b)
    if lost and isinstance(p, Accumulator) and isinstance(q, Accumulator):
        return (lost, _shape_along(p, lost), p.grid) == (other, _shape_along(q, other), q.grid)
    return (p, lost) == (q, other)


def _shape_along(acc: Accumulator, lost: frozenset[int]) -> str:
    """What of the atom decides where the axis that is left lies."""
    rows_of_wgmma = lost == frozenset({1}) and acc.atom.startswith("m64n")
    return "m64" if rows_of_wgmma else acc.atom


def _lost(of: FragMap) -> tuple[FragMap, frozenset[int]]:
    """The map that a reduced value started from, and which of its axes are gone."""
    steps: list[int] = []
    while isinstance(of, WithoutAxis):
        steps.append(of.axis)
        of = of.of
    lost: set[int] = set()
    for step in reversed(steps):
        # A step counts the axes that were left at its time.
        left = [axis for axis in range(step + len(lost) + 1) if axis not in lost]
        lost.add(left[step])
    return of, frozenset(lost)


def meet(a: FragType, b: FragType, span: Span) -> FragType:
    """Shape, axes and map of a pointwise result; the dtype is the caller's.

    Raises:
        KernelError: BAD_SHAPE where neither side broadcasts to the other.
    """
    if fits(b, a):
        big, small = a, b
    elif fits(a, b):
        big, small = b, a
    else:
        if a.shape == b.shape:
            message = f"both sides have shape {_shape(a)}, but lie in different lanes: {_where(a)} and {_where(b)}"
            hint = "load both with one map, or move one: relayout(x, linear(v))"
        else:
            message = f"shapes {_shape(a)} and {_shape(b)} do not broadcast"
            hint = "an axis may be missing on one side only if it was reduced, or if the side is a scalar"
        raise kernel_error(Code.BAD_SHAPE, span, message, hint)
    axes = join_axes(big.axes, small.axes) if len(big.axes) == len(small.axes) else big.axes
    return FragType(big.dtype, big.shape, axes, big.map, big.regs)


def _shape(t: FragType) -> str:
    names = [f"{axis}:{n}" if axis not in ("", MIXED) else str(n) for axis, n in zip(t.axes, t.shape, strict=True)]
    return f"[{', '.join(names)}]"


def _where(t: FragType) -> str:
    return type(t.map).__name__


def common_dtype(a: tuple[Dtype, Weak], b: tuple[Dtype, Weak], span: Span) -> tuple[Dtype, Weak]:
    """The dtype in which two operands meet; literals follow the other side.

    Raises:
        KernelError: BAD_DTYPE.
    """
    if a[1] and b[1]:
        return (a if a[1] == "float" else b) if "float" in (a[1], b[1]) else a
    if a[1] or b[1]:
        (literal, weak), (dtype, _) = (a, b) if a[1] else (b, a)
        if dtype == "bool" or (weak == "float" and dtype not in FLOATS):
            raise kernel_error(
                Code.BAD_DTYPE, span, f"{dtype} and a literal of {literal} do not meet", f"convert: x.to({literal})"
            )
        return dtype, ""
    if a[0] != b[0]:
        raise kernel_error(Code.BAD_DTYPE, span, f"{a[0]} and {b[0]} do not meet", f"convert one: x.to({b[0]})")
    return a


def result_dtype(op: BinaryOp, dtype: Dtype, weak: Weak, span: Span) -> Dtype:
    """The dtype of `op` on operands of `dtype`.

    Raises:
        KernelError: BAD_DTYPE.
    """
    if op in COMPARISONS:
        return "bool"
    if op in ("&", "|"):
        if dtype != "bool":
            raise kernel_error(Code.BAD_DTYPE, span, f"`{op}` joins conditions, not {dtype}", "compare first")
        return dtype
    if dtype == "bool":
        raise kernel_error(Code.BAD_DTYPE, span, f"`{op}` of conditions", "use select(condition, x, y)")
    if op == "/" and dtype not in FLOATS:
        if weak:
            return "f32"
        raise kernel_error(Code.BAD_DTYPE, span, f"`/` of {dtype} fragments", "convert: x.to(f32)")
    return dtype
