"""What lowering to CUDA C hands to code generation."""

from __future__ import annotations

from dataclasses import dataclass

from argus.dsl.lower.lowered import ParamSpec


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map that the host encodes, and the kernel parameter that takes it.

    Attributes:
        name: The kernel parameter.
        tensor: The tensor whose address it holds.
        dtype: Of its elements: `float16`, `bfloat16`.
        dims: The tensor's extents, innermost first, as formulas over the sizes.
        box: What one copy moves, innermost first, in elements.
        swizzle: `none`, or `b32`, `b64`, `b128`: bytes of the shared row that the hardware permutes.
    """

    name: str
    tensor: str
    dtype: str
    dims: tuple[str, ...]
    box: tuple[int, ...]
    swizzle: str


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel as CUDA C, and how to launch it.

    Formulas are Python arithmetic over the size names, with `cdiv`, `min`, `max` and, in the grid, `sms`: how many
    multiprocessors the device has.

    Attributes:
        source: The translation unit; it needs `cuda.h` and `cuda_bf16.h` or `cuda_fp16.h` alone.
        threads: Exact block size.
        shared_bytes: Dynamic shared memory, alignment included.
        maps: Tensor maps, which are the first kernel parameters, in order.
        pointers: Tensors whose addresses are the next parameters; `sizes` are the last, as 32-bit integers.
        params: The parameters as the author declared them.
        grid: Blocks along x.
        where: Conditions on the sizes that a launch tests, together with: every size is at least 1.
        lines: Line of the kernel text for each line of `source`, 0 where there is none.
    """

    source: str
    symbol: str
    threads: int
    shared_bytes: int
    maps: tuple[TensorMap, ...]
    sizes: tuple[str, ...]
    params: tuple[ParamSpec, ...]
    grid: str
    where: tuple[str, ...]
    lines: tuple[int, ...]
    pointers: tuple[str, ...] = ()
