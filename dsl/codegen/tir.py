"""TIR to LLVM IR text: TVM's passes without its optimiser, object and assembly emission.

TVM ships no type information; what it makes is `Tir` here.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any

from argus.dsl.diagnostics import NOWHERE, Code, Diagnostic, KernelError
from argus.dsl.targets.gfx942 import LDS_BYTES

Tir = Any

_tvm: Any = importlib.import_module("tvm")
_ffi: Any = importlib.import_module("tvm_ffi")

_LDS_ALIGN_BYTES = 16  # TVM aligns every shared buffer so
_DEVICE_KERNEL_LAUNCH = 2  # tvm::CallingConv


@dataclass(frozen=True, slots=True)
class Ir:
    """Unoptimised LLVM IR of one kernel.

    Attributes:
        arguments: Their names, in order. Those in the text need not be the kernel's: binding a variable to a bare
            argument renames it there.
    """

    text: str
    arguments: tuple[str, ...]


def llvm_ir(func: Tir, threads: int) -> Ir:
    """Unoptimised LLVM IR of the only kernel in `func`, for amdgcn-amd-amdhsa.

    TVM's ROCm backend generates code twice and only then hands out its IR. Its generic LLVM backend hands out IR at
    once, and makes the ROCm code generator if that is registered under the name of LLVM's target.

    Raises:
        KernelError: If the kernel needs more LDS than a block can have.
    """
    kernel = _device_module(func)
    _check_threads(kernel, threads)
    _check_lds(kernel)
    host_free = {"kind": "llvm", "mtriple": "amdgcn-amd-amdhsa", "mcpu": "gfx942", "opt-level": 0}
    module = _llvm_backend()(kernel, _tvm.target.Target(host_free))
    (lowered,) = kernel.functions.values()
    return Ir(str(module.inspect_source("ll")), tuple(_argument_name(param) for param in lowered.params))


def script(func: Tir) -> str:
    """TVMScript of the kernel as lowering made it."""
    return str(func.script())


@functools.cache
def _llvm_backend() -> Tir:
    generator = _ffi.get_global_func("tvm.codegen.llvm.target_rocm")
    _ffi.register_global_func("tvm.codegen.llvm.target_amdgcn", generator, override=True)
    return _ffi.get_global_func("target.build.llvm")


@functools.cache
def _target() -> Tir:
    limits = {"max_num_threads": 1024, "max_threads_per_block": 1024, "max_shared_memory_per_block": LDS_BYTES}
    return _tvm.target.Target({"kind": "rocm", "mcpu": "gfx942", "thread_warp_size": 64, **limits}, host="llvm")


@functools.cache
def _passes() -> Tir:
    """TVM's s_tir pipeline without what would change a kernel that says exactly what it wants.

    Left out: ThreadSync, which adds barriers without waits, the passes that move, merge or pipeline buffers, and all
    but one of the simplifications, which take most of the time and change nothing that LLVM would not.
    """
    tir, s_tir = _tvm.tirx.transform, _tvm.s_tir.transform
    return _tvm.ir.transform.Sequential(
        [
            s_tir.CanonicalizeLoop(),
            s_tir.LowerInitBlock(),
            s_tir.ConvertBlocksToOpaque(),
            s_tir.LiftThreadBinding(),
            s_tir.UnifyThreadBinding(),
            s_tir.LowerMatchBuffer(),
            s_tir.LowerOpaqueBlock(),
            tir.FlattenBuffer(),
            tir.prim_func_pass(_refuse_bf16_buffers, opt_level=0),
            tir.BF16ComputeLegalize(),
            tir.NarrowDataType(32),
            tir.VectorizeLoop(True),
            tir.UnrollLoop(),
            tir.StmtSimplify(),
            tir.RemoveNoOp(),
            tir.FP8ComputeLegalize(),
            tir.VerifyMemory(),
            tir.AnnotateEntryFunc(),
            tir.SplitHostDevice(),
            # No host code: the manifest says how to launch.
            tir.Filter(_is_kernel),
            tir.FP8StorageLegalize(),
            tir.BF16StorageLegalize(),
            tir.LowerWarpMemory(),
            tir.LowerIntrin(),
        ]
    )


def _refuse_bf16_buffers(func: Tir, _module: Tir, _context: Tir) -> Tir:
    """The next pass would widen them to float32: LDS doubles, and MFMA operands turn into other bits."""

    def check(allocation: Tir) -> None:
        name, kind = allocation.buffer.name, allocation.buffer.ty
        assert kind.dtype.dtype != "bfloat16", f"buffer {name} holds bfloat16: allocate uint16 and reinterpret"

    _ffi.structural_walk(func.body, (_tvm.tirx.AllocBuffer, check))
    return func


def _is_kernel(func: Tir) -> bool:
    return int(func.attrs.get("calling_conv", 0)) == _DEVICE_KERNEL_LAUNCH


def _device_module(func: Tir) -> Tir:
    module = _tvm.tirx.transform.BindTarget(_target())(_tvm.IRModule.from_expr(func))
    kernel = _passes()(module)
    assert len(kernel.functions) == 1, f"lowering made {len(kernel.functions)} kernels, not one"
    return kernel


def _argument_name(param: Tir) -> str:
    """TVM appends `_ptr` where it replaces a buffer by its address."""
    is_address = isinstance(param.ty, _tvm.ir.PointerType)
    return param.name.removesuffix("_ptr") if is_address else param.name


def _check_threads(kernel: Tir, threads: int) -> None:
    extents: dict[str, int] = {}

    def note(scope: Tir) -> None:
        if scope.attr_key == "thread_extent" and scope.node.thread_tag.startswith("threadIdx."):
            extents[scope.node.thread_tag] = int(scope.value)

    (func,) = kernel.functions.values()
    _ffi.structural_walk(func.body, (_tvm.tirx.AttrStmt, note))
    bound = functools.reduce(lambda product, extent: product * extent, extents.values(), 1)
    assert bound == threads, f"lowering binds {extents} but declares {threads} threads"


def _check_lds(kernel: Tir) -> None:
    """LLVM ends the process when LDS overflows: say it before."""
    sizes: dict[str, int] = {}

    def note(allocation: Tir) -> None:
        kind = allocation.buffer.ty
        if kind.storage_scope.startswith("shared"):
            elements = functools.reduce(lambda product, extent: product * int(extent), kind.shape, 1)
            sizes[allocation.buffer.name] = elements * _ffi.dtype(kind.dtype.dtype).itemsize

    (func,) = kernel.functions.values()
    _ffi.structural_walk(func.body, (_tvm.tirx.AllocBuffer, note))
    total = 0
    for size in sizes.values():
        total = (total + _LDS_ALIGN_BYTES - 1) // _LDS_ALIGN_BYTES * _LDS_ALIGN_BYTES + size
    if total > LDS_BYTES:
        each = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise KernelError(
            Diagnostic(
                code=Code.LIMIT,
                message=f"the kernel needs {total} bytes of LDS ({each}); a block has {LDS_BYTES} on gfx942",
                span=NOWHERE,
                hint="use fewer stages, a smaller tile or less padding",
            )
        )
