"""Layouts as functions: a small library that knows neither the language nor a solver (docs/layout.md)."""

from argus.dsl.layout.algebra.compose import compose
from argus.dsl.layout.algebra.gf2 import Gf2, gf2
from argus.dsl.layout.algebra.inverse import left_inverse, right_inverse
from argus.dsl.layout.algebra.layout import (
    Inadmissible,
    Layout,
    coalesce,
    column_major,
    from_table,
    layout,
    row_major,
)
from argus.dsl.layout.algebra.swizzle import Swizzle, xor
from argus.dsl.layout.algebra.tile import complement, logical_divide, logical_product, zipped_divide

__all__ = [
    "Gf2",
    "Inadmissible",
    "Layout",
    "Swizzle",
    "coalesce",
    "column_major",
    "complement",
    "compose",
    "from_table",
    "gf2",
    "layout",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "right_inverse",
    "row_major",
    "xor",
    "zipped_divide",
]
