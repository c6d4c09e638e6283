"""Keep bfloat16 buffers two bytes wide.

TVM's `BF16ComputeLegalize` widens every allocated bfloat16 buffer to float32: LDS doubles, and the operands of an MFMA
turn into floats that no reinterpretation mends. This pass runs before it and stores such buffers as uint16; each access
reinterprets. Arithmetic still reaches TVM's pass as bfloat16.

TVM ships no type information; its nodes are `Tir` here.
"""

from __future__ import annotations

import importlib
from typing import Any

Tir = Any

_ffi: Any = importlib.import_module("tvm_ffi")
_ir: Any = importlib.import_module("tvm.ir")
_tirx: Any = importlib.import_module("tvm.tirx")

_WIDE = "bfloat16"
_NARROW = "uint16"
_ADDRESS_OF: Tir = _ir.Op.get("tirx.address_of")
_REINTERPRET: Tir = _ir.Op.get("tirx.reinterpret")


def narrow_bf16(func: Tir) -> Tir:
    """The same PrimFunc with its shared and local bfloat16 buffers stored as uint16; parameters stay."""
    narrowed: dict[Tir, Tir] = {}

    def buffer(var: Tir) -> Tir:
        if not _tirx.is_buffer_var(var) or var.ty.dtype.dtype != _WIDE or var.ty.storage_scope in ("", "global"):
            return var
        if var not in narrowed:
            narrowed[var] = _as_narrow(var)
        return narrowed[var]

    return func.with_body(
        _ffi.structural_map(
            func.body,
            [(_ir.Var, buffer), (_ir.TensorLoad, _load), (_tirx.BufferStore, _store), (_ir.Call, _address)],
            order="post",
        )
    )


def _as_narrow(var: Tir) -> Tir:
    kind = var.ty
    return _tirx.decl_buffer(
        kind.shape,
        _NARROW,
        var.name,
        None,
        kind.strides,
        kind.elem_offset,
        kind.storage_scope,
        kind.data_alignment,
        kind.offset_factor,
        layout=kind.layout,
    )


# Children are mapped first: a node below whose buffer is uint16 while its own type is bfloat16 was narrowed just now.


def _load(load: Tir) -> Tir:
    if not (
        _tirx.is_buffer_var(load.source) and load.source.ty.dtype.dtype == _NARROW and load.ty.dtype.startswith(_WIDE)
    ):
        return load
    return _tirx.reinterpret(load.ty, _tirx.BufferLoad(load.source, load.indices))


def _store(store: Tir) -> Tir:
    if not (store.buffer.ty.dtype.dtype == _NARROW and store.value.ty.dtype.startswith(_WIDE)):
        return store
    bits = _tirx.reinterpret(store.value.ty.dtype.replace(_WIDE, _NARROW), store.value)
    return _tirx.BufferStore(store.buffer, bits, store.indices)


def _address(call: Tir) -> Tir:
    """Addresses are taken of loads, not of reinterpreted values."""
    if not call.op.same_as(_ADDRESS_OF):
        return call
    inner = call.args[0]
    return _tirx.address_of(inner.args[0]) if isinstance(inner, _ir.Call) and inner.op.same_as(_REINTERPRET) else call
