"""TIR expressions as closures over a block: every value has shape (threads or 1, lanes or 1)."""

# TVM ships no types; the strict checks it cannot meet are off in this folder's TVM-facing modules and nowhere else.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportMissingTypeStubs=false

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from argus.dsl.lower.sim import device
from argus.dsl.lower.sim.state import NUMPY_TYPES, Array, Block, Pointer, SimulationFault, Storage

Eval = Callable[[Block], Any]


def dtype_of(e: Any) -> tuple[str, int]:  # noqa: ANN401 - TVM nodes are untyped
    """Scalar type name and lanes of an expression."""
    name = str(e.ty.dtype) if hasattr(e.ty, "dtype") else str(e.ty)
    base, _, lanes = name.partition("x")
    return base, int(lanes) if lanes else 1


def compile_expr(e: Any) -> Eval:  # noqa: ANN401
    """An expression as a function of the block state: an array of threads by lanes, or a pointer, or text.

    Raises:
        NotImplementedError: For an expression that is not simulated.
    """
    kind = type(e).__name__
    if kind in ("IntImm", "FloatImm"):
        base, _ = dtype_of(e)
        constant = np.array([[e.value]], NUMPY_TYPES.get(base, np.int32))
        return lambda block: constant
    if kind == "StringImm":
        text = str(e.value)
        return lambda block: text
    if kind == "Var":
        name = str(e.name)
        return lambda block: (
            block.env[name] if name in block.env else Pointer(block.memory[name], np.zeros((1, 1), np.int64))
        )
    if kind in _BINARY:
        a, b, apply = compile_expr(e.a), compile_expr(e.b), _BINARY[kind]
        return lambda block: apply(a(block), b(block))
    if kind == "Not":
        inner = compile_expr(e.a)
        return lambda block: ~inner(block)
    if kind == "Ramp":
        return _ramp(e)
    if kind == "Broadcast":
        inner, lanes = compile_expr(e.value), int(e.lanes)
        return lambda block: np.repeat(inner(block), lanes, axis=1)
    if kind == "Cast":
        inner, target = compile_expr(e.value), NUMPY_TYPES[dtype_of(e)[0]]
        return lambda block: inner(block).astype(target)
    if kind == "Select":
        condition, x, y = (compile_expr(p) for p in (e.condition, e.true_value, e.false_value))
        return lambda block: _where(condition(block), x(block), y(block))
    if kind in ("TensorLoad", "BufferLoad"):
        return _load(e)
    if kind == "Shuffle":
        return _shuffle(e)
    if kind == "Let":
        return _let(e)
    if kind == "Call":
        return _call(e)
    raise NotImplementedError(f"the simulator has no {kind}: {e}")


def _ramp(e: Any) -> Eval:  # noqa: ANN401
    base, stride, lanes = compile_expr(e.base), compile_expr(e.stride), int(e.lanes)
    steps = np.arange(lanes, dtype=np.int64)[None, :]
    return lambda block: base(block) + steps * stride(block)


def _shuffle(e: Any) -> Eval:  # noqa: ANN401
    parts, picks = [compile_expr(v) for v in e.vectors], [int(i) for i in e.indices]

    def run(block: Block) -> Array:
        values = [p(block) for p in parts]
        rows = max(v.shape[0] for v in values)
        return np.concatenate([np.broadcast_to(v, (rows, v.shape[1])) for v in values], axis=1)[:, picks]

    return run


def _let(e: Any) -> Eval:  # noqa: ANN401
    name, value, body = e.var.name, compile_expr(e.value), compile_expr(e.body)

    def run(block: Block) -> Any:  # noqa: ANN401
        block.env[name] = value(block)
        return body(block)

    return run


def buffer_name(buffer: Any) -> str:  # noqa: ANN401
    """Under what name a buffer is found in memory."""
    return str(buffer.name)


def _load(e: Any) -> Eval:  # noqa: ANN401
    buffer = e.source if hasattr(e, "source") else e.buffer
    name, index = buffer_name(buffer), compile_expr(e.indices[0])

    def run(block: Block) -> Array:
        storage = block.memory[name]
        where = index(block)
        if storage.space == "local":
            return _load_local(block, storage, where)
        where = np.broadcast_to(where, (block.threads, where.shape[1]))
        rows = block.active
        if storage.space == "global":
            block.check_bounds(storage, where[rows], "reads")
            block.issue()
            return storage.data[np.clip(where, 0, storage.data.shape[0] - 1)]
        out = np.zeros(where.shape, storage.data.dtype)
        out[rows] = block.read_shared(storage, where[rows], block.thread_ids[rows])
        return out

    return run


def _load_local(block: Block, storage: Storage, where: Array) -> Array:
    if where.shape[0] == 1:
        return storage.data[:, where[0]]
    return np.take_along_axis(storage.data, np.broadcast_to(where, (block.threads, where.shape[1])), axis=1)


def _call(e: Any) -> Eval:  # noqa: ANN401
    name = str(e.op.name).removeprefix("tirx.").removeprefix("prim.")
    if name == "address_of":
        return _address_of(e.args[0])
    args = [compile_expr(a) for a in e.args]
    match name:
        case "call_extern" | "call_pure_extern":
            symbol = str(e.args[0].value)
            found = device.external(symbol)
            rest = args[1:]
        case "call_llvm_intrin" | "call_llvm_pure_intrin":
            symbol = f"LLVM intrinsic {int(e.args[0].value)}"
            found = device.intrinsic(int(e.args[0].value))
            rest = args[1:]
        case "reinterpret":
            target = NUMPY_TYPES[dtype_of(e)[0]]
            return lambda block: np.ascontiguousarray(args[0](block)).view(target)
        case "if_then_else":
            return lambda block: _where(args[0](block), args[1](block), args[2](block))
        case "handle_add_byte_offset":
            return lambda block: _advance(args[0](block), args[1](block))
        case "tvm_storage_sync":
            found, rest, symbol = device.external("argus_barrier"), [], name
        case "likely":
            return args[0]
        case _ if name in _BITWISE:
            apply = _BITWISE[name]
            return lambda block: cast("Array", apply(*(a(block) for a in args)))
        case _ if name in _UNARY:
            function = _UNARY[name]
            return lambda block: function(args[0](block))
        case _:
            found, rest, symbol = None, [], name
    if found is None:
        raise NotImplementedError(f"the simulator does not know {symbol}")
    call = found
    return lambda block: call(block, [a(block) for a in rest])


def _address_of(load: Any) -> Eval:  # noqa: ANN401
    buffer = load.source if hasattr(load, "source") else load.buffer
    name, index = buffer_name(buffer), compile_expr(load.indices[0])

    def run(block: Block) -> Pointer:
        storage = block.memory[name]
        return Pointer(storage, index(block).astype(np.int64) * storage.data.itemsize)

    return run


def _where(condition: Array, x: Array, y: Array) -> Array:
    return np.where(condition, x, y)


def _advance(pointer: Pointer, offset: Array) -> Pointer:
    return Pointer(pointer.storage, pointer.offset + offset.astype(np.int64))


def _divide(a: Array, b: Array) -> Array:
    if np.issubdtype(np.result_type(a, b), np.integer):
        if (np.asarray(b) == 0).any():
            raise SimulationFault("division by zero")
        return a // b
    return a / b


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": _divide,
    "Mod": np.fmod,
    "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod,
    "Min": np.minimum,
    "Max": np.maximum,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "EQ": operator.eq,
    "NE": operator.ne,
    "And": operator.and_,
    "Or": operator.or_,
    "BitwiseXor": operator.xor,
    "BitwiseAnd": operator.and_,
    "BitwiseOr": operator.or_,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
}
_BITWISE: dict[str, Callable[..., Any]] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "fabs": np.abs,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
