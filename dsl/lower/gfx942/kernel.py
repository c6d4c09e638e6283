"""A whole kernel: parameters, launch bindings, body."""

from __future__ import annotations

from functools import cache
from importlib import resources

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.ir import Assign, Block, Kernel, ScalarParam, TensorParam
from argus.dsl.ir.types import Types
from argus.dsl.layout import Const, Expr
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import Facts
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.blocks import grid_size
from argus.dsl.lower.gfx942.context import REGISTER_DTYPES, TENSOR_DTYPES, WAVE, Context, wave_number
from argus.dsl.lower.gfx942.emit import Emitter
from argus.dsl.lower.gfx942.index import Indices, product, python_text
from argus.dsl.lower.gfx942.statements import lower_statements
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.waits import is_asynchronous, wait_counts
from argus.dsl.lower.lowered import Lowered, ParamSpec


def lower_kernel(kernel: Kernel, types: Types) -> Lowered:
    """Lower core form.

    Raises:
        KernelError: For constructs that are in the language but not on this path.
    """
    _check(kernel, types)
    specs, arguments = _parameters(kernel, types)
    grid = _grid(kernel)
    emit, indices = Emitter(), Indices()
    for name in arguments:
        emit.name(name)
    number, thread = tir.var(emit.name("block")), tir.var(emit.name("thread"))
    indices.values.update({p.name: arguments[p.name] for p in specs if p.kind != "tensor" and p.dtype == "int32"})
    ctx = Context(
        kernel=kernel,
        types=types,
        facts=Facts.of(kernel.where),
        emit=emit,
        indices=indices,
        thread=thread,
        lane=thread % WAVE,
        wave=emit.bind("wave", wave_number(thread)),
        tensors={p.name: arguments[p.name] for p in specs if p.kind == "tensor"},
        scalars={p.name: arguments[p.name] for p in specs if p.kind == "scalar" and p.dtype == "float32"},
        vmcnt=wait_counts(kernel, types),
        asynchronous=is_asynchronous(kernel.body),
    )
    lower_statements(ctx, kernel.body, number)
    body = tir.threads(thread, ctx.threads, "threadIdx.x", emit.finish())
    body = tir.threads(number, indices.value(grid), "blockIdx.x", body)
    return Lowered(
        func=tir.function(kernel.name, list(arguments.values()), body),
        symbol=kernel.name,
        threads=ctx.threads,
        # LLVM knows LDS and block size, plans for the occupancy they admit, and takes more registers rather than spill.
        waves_per_eu=None,
        agpr=any(f.regs == "agpr" for f in types.frags.values()),
        params=specs,
        grid=(python_text(grid), "1", "1"),
        device_ll=device_ll(),
    )


@cache
def device_ll() -> str:
    """LLVM IR of the device functions that lowered kernels call."""
    return resources.files("argus.dsl.lower.gfx942").joinpath("device.ll").read_text("utf-8")


def _check(kernel: Kernel, types: Types) -> None:
    if kernel.target != "gfx942":
        raise KernelError(
            Diagnostic(
                code=Code.BAD_TARGET, message=f"a kernel for {kernel.target} is not lowered to gfx942", span=kernel.span
            )
        )
    for name, buffer in types.buffers.items():
        if buffer.dtype not in REGISTER_DTYPES:
            raise unsupported(buffer, f"a shared buffer of {buffer.dtype} ({name}) is not lowered yet")


def _parameters(kernel: Kernel, types: Types) -> tuple[tuple[ParamSpec, ...], dict[str, Tir]]:
    """Tensors and numbers in the order of the signature, then sizes."""
    specs: list[ParamSpec] = []
    arguments: dict[str, Tir] = {}
    sizes = {name: tir.var(name) for name in types.sizes}
    indices = Indices()
    indices.values.update(sizes)
    for param in kernel.params:
        match param:
            case TensorParam(name=name, dtype=dtype, shape=shape):
                if dtype not in TENSOR_DTYPES:
                    raise unsupported(param, f"a tensor of {dtype} is not lowered yet")
                made = TENSOR_DTYPES[dtype]
                specs.append(ParamSpec(name, "tensor", made))
                # A flat buffer's length is a formality here; 64 bits, since a product of sizes outgrows 32.
                arguments[name] = tir.buffer(name, indices.wide(product(list(shape))), made)
            case ScalarParam(name=name, dtype=dtype):
                if dtype not in {"f32", "i32"}:
                    raise unsupported(param, f"a number of {dtype} is not lowered yet")
                specs.append(ParamSpec(name, "scalar", REGISTER_DTYPES[dtype]))
                arguments[name] = tir.var(name, REGISTER_DTYPES[dtype])
    specs += [ParamSpec(name, "size", "int32") for name in types.sizes]
    return tuple(specs), arguments | sizes


def _grid(kernel: Kernel) -> Expr:
    blocks = [s.value for s in kernel.body if isinstance(s, Assign) and isinstance(s.value, Block)]
    if len(blocks) > 1:
        raise unsupported(blocks[1], "a kernel has one block()")
    return grid_size(blocks[0]) if blocks else Const(1)
