"""From core form to TIR: s_tir for gfx942."""

from __future__ import annotations

from argus.dsl.ir import Kernel
from argus.dsl.lower.lowered import Lowered, ParamSpec

__all__ = ["Lowered", "ParamSpec", "lower"]


def lower(core: Kernel) -> Lowered:
    """Lower a kernel in core form (see `argus.dsl.transform`).

    Raises:
        KernelError: For constructs that are in the language but not on this path; the caret shows where.
    """
    # TVM takes a second to load: only those pay who lower.
    from argus.dsl.ir.infer import infer  # noqa: PLC0415
    from argus.dsl.lower.gfx942 import lower_kernel  # noqa: PLC0415

    return lower_kernel(core, infer(core))
