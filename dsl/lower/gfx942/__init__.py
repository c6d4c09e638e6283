"""Lowering to s_tir for gfx942, a module a construct.

Index arithmetic happens once, before the loops; in the main loop a global address is a register and a scalar, an LDS
address a register and a constant.
"""

from argus.dsl.lower.gfx942.kernel import lower_kernel

__all__ = ["lower_kernel"]
