"""Lowering to CUDA C for sm_90a, a module a construct.

Core form of a Hopper kernel is already what the hardware does: TMA boxes, mbarriers, warpgroup MMAs. So it is printed
as CUDA C line by line, through one small function for each instruction; `docs/decisions/0006-cuda-from-the-ir.md`
says why no TIR lies between.
"""

from argus.dsl.lower.sm_90a.cuda_kernel import CudaKernel, TensorMap
from argus.dsl.lower.sm_90a.kernel import lower_kernel

__all__ = ["CudaKernel", "TensorMap", "lower_kernel"]
