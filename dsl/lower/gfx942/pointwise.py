"""Arithmetic on fragments, register by register."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from argus.dsl.ir import Binary, Cast, Frag, Index, Node, Ref, Scalar, Select, Unary
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.context import REGISTER_DTYPES, Context, Fragment
from argus.dsl.lower.gfx942.tir import Tir

LOG2_E = 1.4426950408889634


def _sigmoid(x: Tir) -> Tir:
    return tir.f32(1.0) / (tir.f32(1.0) + tir.unary("exp2", x * tir.f32(-LOG2_E)))


_BINARY: Mapping[str, Callable[[Tir, Tir], Tir]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "max": tir.larger,
    "min": tir.smaller,
}
_UNARY: Mapping[str, Callable[[Tir], Tir]] = {
    "neg": lambda x: tir.f32(0.0) - x,
    "exp2": lambda x: tir.unary("exp2", x),
    "exp": lambda x: tir.unary("exp2", x * tir.f32(LOG2_E)),
    "sqrt": lambda x: tir.unary("sqrt", x),
    "rsqrt": lambda x: tir.f32(1.0) / tir.unary("sqrt", x),
    "rcp": lambda x: tir.f32(1.0) / x,
    "abs": lambda x: tir.larger(x, tir.f32(0.0) - x),
    "relu": lambda x: tir.larger(x, tir.f32(0.0)),
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
}


def pointwise(ctx: Context, target: str, node: Cast | Unary | Binary | Select) -> None:
    """`target = op(x, ...)` where every fragment operand has the target's map, or is a number."""
    fragment = ctx.fragment(target, node)
    if isinstance(node, Select):
        raise unsupported(node, "select is not lowered yet")
    for slot in range(fragment.slots):
        ctx.emit.add(fragment.store(_value(ctx, node, fragment, slot), slot))


def copy(ctx: Context, target: str, node: Node, source: str) -> None:
    """`target = source`."""
    fragment, origin = ctx.fragment(target, node), ctx.fragment(source, node)
    for slot in range(fragment.slots):
        ctx.emit.add(fragment.store(origin.load(slot), slot))


def _value(ctx: Context, node: Cast | Unary | Binary, target: Fragment, slot: int) -> Tir:
    match node:
        case Cast(src=src, dtype=dtype):
            return convert(_operand(ctx, src, target, slot), _dtype(ctx, src), dtype, node)
        case Unary(op=op, src=src):
            _need_f32(target, node)
            if op not in _UNARY:
                raise unsupported(node, f"{op} is not lowered yet")
            return _UNARY[op](_operand(ctx, src, target, slot))
        case Binary(op=op, lhs=lhs, rhs=rhs):
            _need_f32(target, node)
            if op not in _BINARY:
                raise unsupported(node, f"the operation {op} is not lowered yet")
            return _BINARY[op](_operand(ctx, lhs, target, slot), _operand(ctx, rhs, target, slot))


def _dtype(ctx: Context, frag: Frag) -> str:
    return ctx.types.frags[frag.name].dtype if isinstance(frag, Ref) and frag.name in ctx.types.frags else "f32"


def _need_f32(target: Fragment, node: Node) -> None:
    if target.type.dtype != "f32":
        raise unsupported(node, f"arithmetic is lowered for f32 only, not {target.type.dtype}", "convert with .to(f32)")


def _operand(ctx: Context, frag: Frag, target: Fragment, slot: int) -> Tir:
    match frag:
        case Scalar(value=value):
            return tir.f32(value)
        case Index(expr=expr):
            return tir.cast("float32", ctx.indices.value(expr))
        case Ref(name=name) if name in ctx.scalars:
            return ctx.scalars[name]
        case Ref(name=name):
            origin = ctx.fragment(name, frag)
            if origin.type.map != target.type.map or origin.type.shape != target.type.shape:
                raise unsupported(frag, "fragments of different shapes or maps are not combined yet")
            return origin.load(slot)
        case _:
            raise AssertionError(f"core form nests no fragments: {frag}")


def convert(x: Tir, origin: str, dtype: str, node: Node) -> Tir:
    """Between f32 and the 16-bit types; bf16 lies in registers as bits."""
    if origin == dtype:
        return x
    match origin, dtype:
        case "f32", "bf16":
            return _bf16_bits(x)
        case "bf16", "f32":
            return tir.reinterpret("float32", tir.cast("uint32", x) << tir.u32(16))
        case (("f32" | "f16"), ("f32" | "f16")):
            return tir.cast(REGISTER_DTYPES["f32" if dtype == "f32" else "f16"], x)
        case _:
            raise unsupported(node, f"a conversion from {origin} to {dtype} is not lowered yet")


def _bf16_bits(x: Tir) -> Tir:
    """Round to nearest, ties to even; a NaN stays one."""
    bits = tir.reinterpret("uint32", x)
    rounded = bits + tir.u32(0x7FFF) + ((bits >> tir.u32(16)) & tir.u32(1))
    quiet = bits | tir.u32(0x00400000)
    return tir.cast("uint16", tir.select(tir.differs(x, x), quiet, rounded) >> tir.u32(16))
