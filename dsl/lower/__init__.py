"""From core form to what code generation takes: s_tir for gfx942, CUDA C for sm_90a."""

from __future__ import annotations

from argus.dsl.ir import Kernel
from argus.dsl.lower.lowered import Lowered, ParamSpec
from argus.dsl.lower.sm_90a import CudaKernel, TensorMap

__all__ = ["CudaKernel", "Lowered", "ParamSpec", "TensorMap", "lower"]


def lower(core: Kernel) -> Lowered | CudaKernel:
    """Lower a kernel in core form (see `argus.dsl.transform`): a `CudaKernel` for sm_90a, else a `Lowered`.

    Raises:
        KernelError: For constructs that are in the language but not on this path; the caret shows where.
    """
    from argus.dsl.ir.infer import infer  # noqa: PLC0415

    if core.target == "sm_90a":
        from argus.dsl.lower.sm_90a.kernel import lower_kernel as to_cuda  # noqa: PLC0415

        return to_cuda(core, infer(core))
    # TVM takes a second to load: only those pay who lower for gfx942.
    from argus.dsl.lower.gfx942 import lower_kernel  # noqa: PLC0415

    return lower_kernel(core, infer(core))
