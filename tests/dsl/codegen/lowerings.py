"""Lowered kernels written as TVMScript, and misbehaviour on demand; a worker loads this file by path.

`request.text` names what to do: a function below, perhaps with arguments, as in `scale threads=512`.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import time
from typing import Any

from argus.dsl.codegen.request import CompileRequest
from argus.dsl.diagnostics import Code, Diagnostic, KernelError, Span
from argus.dsl.lower.lowered import Lowered, ParamSpec

FENCED_BARRIER = """
declare void @llvm.amdgcn.s.barrier()
define void @fenced_barrier() alwaysinline {
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  ret void
}
"""


def lower(request: CompileRequest) -> Lowered:
    name, *words = request.text.split()
    pairs = [word.split("=") for word in words]
    return globals()[name](**{key: int(value) if value.isdigit() else value for key, value in pairs})


def _prim_func(source: str) -> object:
    tvm: Any = importlib.import_module("tvm")
    return tvm.script.from_source("#\n" + source)


def scale(threads: int = 256) -> Lowered:
    """B[i] = 2 * A[i] for i < M."""
    func = _prim_func(f"""
@T.prim_func(s_tir=True)
def scale(M: T.int32, A: T.Buffer((M,), "float32"), B: T.Buffer((M,), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    for bx in T.thread_binding((M + {threads - 1}) // {threads}, thread="blockIdx.x"):
        for tx in T.thread_binding({threads}, thread="threadIdx.x"):
            if bx * {threads} + tx < M:
                B[bx * {threads} + tx] = A[bx * {threads} + tx] * T.float32(2)
""")
    params = (ParamSpec("A", "tensor", "float32"), ParamSpec("B", "tensor", "float32"), ParamSpec("M", "size", "int32"))
    return Lowered(func, "scale", threads, None, False, params, (f"((M + {threads - 1}) // {threads})", "1", "1"), "")


def renamed() -> Lowered:
    """Binds another name to a bare argument."""
    func = _prim_func("""
@T.prim_func(s_tir=True)
def renamed(M: T.int32, A: T.Buffer((M,), "float32")):
    for bx in T.thread_binding(M, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            count: T.let[T.int32] = M
            A[bx * 64 + tx] = T.Cast("float32", count * tx)
""")
    params = (ParamSpec("A", "tensor", "float32"), ParamSpec("M", "size", "int32"))
    return Lowered(func, "renamed", 64, None, False, params, ("M", "1", "1"), "")


def lds(size_bytes: int) -> Lowered:
    """A kernel that keeps `size_bytes` of LDS alive."""
    halves = size_bytes // 2
    func = _prim_func(f"""
@T.prim_func(s_tir=True)
def lds(A: T.Buffer((65536,), "float16")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer(({halves},), "float16", scope="shared")
            for i in T.serial({halves} // 64):
                S[i * 64 + tx] = A[i * 64 + tx]
            T.evaluate(T.call_extern("void", "fenced_barrier"))
            for i in T.serial({halves} // 64):
                A[i * 64 + tx] = S[{halves} - 1 - i * 64 - tx]
""")
    return Lowered(
        func, "lds", 64, None, False, (ParamSpec("A", "tensor", "float16"),), ("1", "1", "1"), FENCED_BARRIER
    )


def gemm(
    dtype: str = "float16", tile: int = 128, waves_per_eu: int | None = None, agpr: int = 0, grid: int = 2
) -> Lowered:
    """C = A · Bᵀ in tiles of `tile` x `tile` x 32 by `grid` x `grid` waves, single-stage; sizes are multiples."""
    codegen: Any = importlib.import_module("tvm.target.codegen")
    bf16 = dtype == "bfloat16"
    mfma: int = codegen.llvm_lookup_intrinsic_id("llvm.amdgcn.mfma.f32.32x32x8" + ("bf16.1k" if bf16 else "f16"))

    register = "uint16" if bf16 else dtype  # bfloat16 travels as bits

    def bits(load: str, as_type: str) -> str:
        return f'T.reinterpret("{as_type}", {load})' if bf16 else load

    threads, atoms = 64 * grid * grid, tile // grid // 32
    a, b = (
        f"{name}[T.ramp(({block} * {tile} + (tx + v * {threads}) // 4) * K + ko * 32 + (tx % 4) * 8, 1, 8)]"
        for name, block in (("A", "by"), ("B", "bx"))
    )
    row, loads = 32 + 8, tile * 32 // (threads * 8)
    source = f'''
@T.prim_func(s_tir=True)
def gemm(M: T.int32, N: T.int32, K: T.int32, A: T.Buffer((M * K,), "{dtype}"), B: T.Buffer((N * K,), "{dtype}"),
         C: T.Buffer((M * N,), "float32")):
    T.func_attr({{"tirx.noalias": True}})
    for by in T.thread_binding((M + {tile - 1}) // {tile}, thread="blockIdx.y"):
        for bx in T.thread_binding((N + {tile - 1}) // {tile}, thread="blockIdx.x"):
            for tx in T.thread_binding({threads}, thread="threadIdx.x"):
                As = T.alloc_buffer(({tile * row},), "{register}", scope="shared")
                Bs = T.alloc_buffer(({tile * row},), "{register}", scope="shared")
                acc = T.alloc_buffer(({atoms * atoms * 16},), "float32", scope="local")
                fa = T.alloc_buffer(({atoms * 8},), "{register}", scope="local")
                fb = T.alloc_buffer(({atoms * 8},), "{register}", scope="local")
                for i in T.unroll({atoms * atoms}):
                    acc[T.ramp(i * 16, 1, 16)] = T.Broadcast(T.float32(0), 16)
                for ko in T.serial(K // 32):
                    for v in T.unroll({loads}):
                        As[T.ramp(((tx + v * {threads}) // 4) * {row} + (tx % 4) * 8, 1, 8)] = {bits(a, "uint16x8")}
                        Bs[T.ramp(((tx + v * {threads}) // 4) * {row} + (tx % 4) * 8, 1, 8)] = {bits(b, "uint16x8")}
                    T.evaluate(T.call_extern("void", "fenced_barrier"))
                    for kk in T.unroll(2):
                        for m in T.unroll({atoms}):
                            fa[T.ramp(m * 8, 1, 8)] = As[T.ramp(((tx // {64 * grid}) * {atoms * 32} + m * 32 + tx % 32)
                                * {row} + kk * 16 + ((tx % 64) // 32) * 8, 1, 8)]
                            fb[T.ramp(m * 8, 1, 8)] = Bs[T.ramp((((tx // 64) % {grid}) * {atoms * 32} + m * 32
                                + tx % 32) * {row} + kk * 16 + ((tx % 64) // 32) * 8, 1, 8)]
                        for h in T.unroll(2):
                            for m in T.unroll({atoms}):
                                for n in T.unroll({atoms}):
                                    acc[T.ramp((m * {atoms} + n) * 16, 1, 16)] = T.call_llvm_pure_intrin(
                                        T.uint32({mfma}), {bits("fa[T.ramp(m * 8 + h * 4, 1, 4)]", "int16x4")},
                                        {bits("fb[T.ramp(n * 8 + h * 4, 1, 4)]", "int16x4")},
                                        acc[T.ramp((m * {atoms} + n) * 16, 1, 16)],
                                        T.int32(0), T.int32(0), T.int32(0), dtype="float32x16")
                    T.evaluate(T.call_extern("void", "fenced_barrier"))
                for m in T.unroll({atoms}):
                    for n in T.unroll({atoms}):
                        for i in T.unroll(16):
                            C[(by * {tile} + (tx // {64 * grid}) * {atoms * 32} + m * 32 + (i // 4) * 8
                               + ((tx % 64) // 32) * 4 + i % 4) * N + bx * {tile} + ((tx // 64) % {grid}) * {atoms * 32}
                              + n * 32 + tx % 32] = acc[(m * {atoms} + n) * 16 + i]
'''
    tensors = tuple(ParamSpec(name, "tensor", dtype) for name in "AB")
    sizes = tuple(ParamSpec(name, "size", "int32") for name in "MNK")
    params = (*tensors, ParamSpec("C", "tensor", "float32"), *sizes)
    blocks = (f"((N + {tile - 1}) // {tile})", f"((M + {tile - 1}) // {tile})", "1")
    return Lowered(_prim_func(source), "gemm", threads, waves_per_eu, bool(agpr), params, blocks, FENCED_BARRIER)


def unselectable() -> Lowered:
    """Asks for an instruction that gfx942 lacks, which LLVM answers by ending the process."""
    helper = """
declare void @llvm.amdgcn.global.load.lds(ptr addrspace(1), ptr addrspace(3), i32 immarg, i32 immarg, i32 immarg)
define void @wide_dma(ptr addrspace(1) %from, ptr addrspace(3) %to) alwaysinline {
  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %from, ptr addrspace(3) %to, i32 16, i32 0, i32 0)
  ret void
}
"""
    func = _prim_func("""
@T.prim_func(s_tir=True)
def wide(A: T.Buffer((512,), "float16")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer((512,), "float16", scope="shared")
            T.evaluate(T.call_extern("void", "wide_dma", A.data, T.address_of(S[0])))
            A[tx] = S[tx]
""")
    return Lowered(func, "wide", 64, None, False, (ParamSpec("A", "tensor", "float16"),), ("1", "1", "1"), helper)


def hidden_lds() -> Lowered:
    """LDS over the limit that no allocation of TIR shows: LLVM ends the process."""
    helper = """
@big = internal addrspace(3) global [70000 x i8] undef, align 16
define void @fenced_barrier() alwaysinline {
  store volatile i8 0, ptr addrspace(3) @big
  ret void
}
"""
    kernel = lds(4096)
    return Lowered(kernel.func, "lds", 64, None, False, kernel.params, kernel.grid, helper)


def mistaken() -> Lowered:
    raise KernelError(Diagnostic(code=Code.BAD_SHAPE, message="no", span=Span("k.py", 3, 5, 3, 9), hint="yes"))


def buggy() -> Lowered:
    raise ZeroDivisionError("ours")


def unlinkable() -> Lowered:
    kernel = lds(4096)
    return Lowered(kernel.func, "lds", 64, None, False, kernel.params, kernel.grid, "declare void @fenced_barrier()\n")


def hang(marker: str) -> Lowered:
    """Sleep in C with the interpreter locked, as a compiler that spins would; says in `marker` that it is there."""
    _mark(marker)
    ctypes.PyDLL(None).sleep(600)
    raise AssertionError


def slow(marker: str, seconds: int) -> Lowered:
    """Say in `marker` that it began, sleep, then compile."""
    _mark(marker)
    time.sleep(seconds)
    return scale()


def chatter() -> Lowered:
    """Prints where replies go, from Python and from C."""
    print('{"serial": 1, "status": "toolchain"}', flush=True)
    os.write(1, b"noise\n")
    return scale()


def hog() -> Lowered:
    """Ask for more memory than a worker may have."""
    return scale(len(bytearray(3 << 30)))


def bf16_buffer() -> Lowered:
    """Allocates what TVM would widen."""
    func = _prim_func("""
@T.prim_func(s_tir=True)
def wide(A: T.Buffer((64,), "bfloat16")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            S = T.alloc_buffer((64,), "bfloat16", scope="shared")
            S[tx] = A[tx]
            A[tx] = S[63 - tx]
""")
    return Lowered(func, "wide", 64, None, False, (ParamSpec("A", "tensor", "bfloat16"),), ("1", "1", "1"), "")


def undeclared() -> Lowered:
    """Takes a tensor that its parameters do not name."""
    kernel = scale()
    return Lowered(kernel.func, "scale", 256, None, False, kernel.params[1:], kernel.grid, "")


def miscounted() -> Lowered:
    """Declares another workgroup size than it binds."""
    kernel = scale()
    return Lowered(kernel.func, "scale", 128, None, False, kernel.params, kernel.grid, "")


def _mark(marker: str) -> None:
    with open(marker, "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
