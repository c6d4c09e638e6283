"""The lowering's door to TVM: expression and statement nodes of `tvm.tirx`, as plain functions.

TVM ships no type information; everything it makes is `Tir` here and nowhere else.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

Tir = Any  # an expression, variable, buffer or statement of tvm.tirx

_tirx: Any = importlib.import_module("tvm.tirx")
_codegen: Any = importlib.import_module("tvm.target.codegen")


def var(name: str, dtype: str = "int32") -> Tir:
    return _tirx.Var(name, dtype)


def i32(value: int) -> Tir:
    return _tirx.const(value, "int32")


def f32(value: float) -> Tir:
    return _tirx.const(value, "float32")


def u32(value: int) -> Tir:
    return _tirx.const(value, "uint32")


def cast(dtype: str, value: Tir) -> Tir:
    return _tirx.Cast(dtype, value)


def reinterpret(dtype: str, value: Tir) -> Tir:
    return _tirx.reinterpret(dtype, value)


def both(conditions: Sequence[Tir]) -> Tir | None:
    """All of them; None for none."""
    found = None
    for condition in conditions:
        found = condition if found is None else _tirx.And(found, condition)
    return found


def either(a: Tir, b: Tir) -> Tir:
    return _tirx.Or(a, b)


def negated(a: Tir) -> Tir:
    return _tirx.Not(a)


def equal(a: Tir, b: Tir) -> Tir:
    return _tirx.EQ(a, b)


def differs(a: Tir, b: Tir) -> Tir:
    return _tirx.NE(a, b)


def smaller(a: Tir, b: Tir) -> Tir:
    """min(a, b)."""
    return _tirx.min(a, b)


def larger(a: Tir, b: Tir) -> Tir:
    """max(a, b)."""
    return _tirx.max(a, b)


def select(condition: Tir, then: Tir, otherwise: Tir) -> Tir:
    """Both sides are evaluated; a lane takes one."""
    return _tirx.Select(condition, then, otherwise)


def xor(a: Tir, b: Tir) -> Tir:
    return a ^ b


def vector(dtype: str, lanes: int) -> str:
    return dtype if lanes == 1 else f"{dtype}x{lanes}"


def broadcast(value: Tir, lanes: int) -> Tir:
    return value if lanes == 1 else _tirx.Broadcast(value, lanes)


def quotient(a: Tir, b: Tir) -> Tir:
    """Divide numbers that are not negative, rounding down."""
    return _tirx.truncdiv(a, b)


def remainder(a: Tir, b: Tir) -> Tir:
    return _tirx.truncmod(a, b)


def unary(name: str, value: Tir) -> Tir:
    """A function of `tvm.tirx` by name, e.g. `exp2`."""
    return getattr(_tirx, name)(value)


# --------------------------------------------------------------------------------------------- buffers


def buffer(name: str, size: Tir | int, dtype: str, scope: str = "global") -> Tir:
    """A flat buffer."""
    return _tirx.decl_buffer((size,), dtype, name, scope=scope, layout=None)


def load(source: Tir, index: Tir | int, lanes: int = 1) -> Tir:
    """`lanes` consecutive elements."""
    return _tirx.BufferLoad(source, [_at(index, lanes)])


def store(target: Tir, value: Tir, index: Tir | int, lanes: int = 1) -> Tir:
    return _tirx.BufferStore(target, value, [_at(index, lanes)])


def address(source: Tir, index: Tir | int) -> Tir:
    return _tirx.address_of(load(source, index))


def _at(index: Tir | int, lanes: int) -> Tir:
    at: Tir = i32(index) if isinstance(index, int) else index
    return at if lanes == 1 else _tirx.Ramp(at, _tirx.const(1, at.ty.dtype), lanes)


# ----------------------------------------------------------------------------------------------- calls


def call(dtype: str, name: str, *args: Tir) -> Tir:
    """A device function of `device.ll`."""
    return _tirx.call_extern(dtype, name, *args)


def pure_intrinsic(dtype: str, name: str, *args: Tir) -> Tir:
    return _tirx.call_llvm_pure_intrin(dtype, _number(name), *args)


def intrinsic(dtype: str, name: str, *args: Tir) -> Tir:
    """An LLVM intrinsic that is neither duplicated nor dropped."""
    return _tirx.call_llvm_intrin(dtype, _number(name), *args)


def i16(value: int) -> Tir:
    return _tirx.const(value, "int16")


def _number(name: str) -> Tir:
    number: int = _codegen.llvm_lookup_intrinsic_id(name)
    assert number, f"LLVM has no intrinsic {name}"
    return _tirx.const(number, "uint32")


# ------------------------------------------------------------------------------------------ statements


def evaluate(value: Tir) -> Tir:
    return _tirx.Evaluate(value)


def bind(name: Tir, value: Tir) -> Tir:
    return _tirx.Bind(name, value)


def allocate(what: Tir) -> Tir:
    return _tirx.AllocBuffer(what)


def sequence(statements: Sequence[Tir]) -> Tir:
    if not statements:
        return evaluate(i32(0))
    return statements[0] if len(statements) == 1 else _tirx.SeqStmt(list(statements))


def branch(condition: Tir, then: Tir, otherwise: Tir | None = None) -> Tir:
    return _tirx.IfThenElse(condition, then, otherwise)


def serial(counter: Tir, trips: Tir, body: Tir) -> Tir:
    return _tirx.For(counter, 0, trips, _tirx.ForKind.SERIAL, body)


def threads(index: Tir, extent: Tir | int, tag: str, body: Tir) -> Tir:
    """Bind `index` to a launch dimension."""
    axis = _tirx.IterVar(None, _tirx.Var("", "int32"), _tirx.IterVar.ThreadIndex, tag)
    return _tirx.For(index, 0, extent, _tirx.ForKind.THREAD_BINDING, body, thread_binding=axis)


def function(symbol: str, params: Sequence[Tir], body: Tir) -> Tir:
    func = _tirx.PrimFunc(list(params), body)
    return func.with_attr("global_symbol", symbol).with_attr("s_tir", True).with_attr("tirx.noalias", True)
