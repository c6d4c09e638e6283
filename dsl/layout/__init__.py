"""Index expressions and the maps between hardware places and logical coordinates."""

from argus.dsl.layout.expr import (
    ONE,
    ZERO,
    Const,
    Expr,
    Op,
    OpKind,
    Var,
    cdiv,
    evaluate,
    names,
    substitute,
)
from argus.dsl.layout.fragment import (
    Accumulator,
    FragMap,
    Linear,
    OperandMap,
    Side,
    Uniform,
    WithoutAxis,
)
from argus.dsl.layout.swizzle import Swizzle

__all__ = [
    "ONE",
    "ZERO",
    "Accumulator",
    "Const",
    "Expr",
    "FragMap",
    "Linear",
    "Op",
    "OpKind",
    "OperandMap",
    "Side",
    "Swizzle",
    "Uniform",
    "Var",
    "WithoutAxis",
    "cdiv",
    "evaluate",
    "names",
    "substitute",
]
