"""Tensor maps: one for each (tensor, box, swizzle) that TMA copies."""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.dsl.ir import Ref, TensorParam, TileAt, View
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import ZERO, Const, Expr, Op
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import simplify
from argus.dsl.lower.sm_90a.cuda_kernel import TensorMap
from argus.dsl.lower.sm_90a.shared import SharedView

DTYPES = {"f16": "float16", "bf16": "bfloat16"}
BOX_MAX = 256
SWIZZLE_ROWS = 8


@dataclass(slots=True)
class TensorMaps:
    """The maps that a kernel needs, in order of first use."""

    params: dict[str, TensorParam]
    maps: dict[tuple[str, tuple[int, ...], str], TensorMap] = field(
        default_factory=dict[tuple[str, tuple[int, ...], str], TensorMap]
    )

    def copy(self, outside: View, inside: SharedView, parts: int = 1) -> tuple[TensorMap, tuple[Expr, Expr]]:
        """The map of a copy, and where its box starts: (column, row).

        Of `parts` boxes that make the copy together the first, one below the other.

        Raises:
            KernelError: Unless the view is a tile of a matrix, or a whole matrix, and the shared rows are whole.
        """
        tensor, (rows, columns), start = self._box(outside)
        buffer = inside.buffer
        swizzle = buffer.swizzle.hardware if buffer.swizzle is not None else None
        if buffer.swizzle is not None and swizzle is None:
            raise unsupported(buffer, "TMA has swizzles of its own", "write swizzle=b128")
        if inside.columns != ZERO or inside.shape != (rows, columns) or columns != buffer.shape[-1] or buffer.pad:
            raise unsupported(outside, "TMA fills whole rows of a shared buffer", "copy a tile as wide as the buffer")
        if rows % (parts * SWIZZLE_ROWS if parts > 1 else 1):
            raise unsupported(outside, f"{rows} rows do not split into {parts} boxes where swizzles repeat")
        rows //= parts
        key = (tensor.name, (columns, rows), swizzle or "none")
        if key not in self.maps:
            self.maps[key] = TensorMap(
                name=f"{tensor.name}_{rows}x{columns}" + (f"_{swizzle}" if swizzle else ""),
                tensor=tensor.name,
                dtype=DTYPES[tensor.dtype],
                dims=tuple(show_expr(n) for n in reversed(tensor.shape)),
                box=(columns, rows),
                swizzle=swizzle or "none",
            )
        return self.maps[key], start

    def _box(self, view: View) -> tuple[TensorParam, tuple[int, int], tuple[Expr, Expr]]:
        match view:
            case TileAt(src=Ref(name=name), shape=(rows, columns), index=(i, j), pad=pad):
                if pad != 0:
                    raise unsupported(view, f"TMA fills with zeros what lies outside, not with {pad}")
                start = (_times(j, columns), _times(i, rows))
            case Ref(name=name):
                extents = tuple(n.value for n in self.params[name].shape if isinstance(n, Const))
                if len(extents) != 2 or len(self.params[name].shape) != 2:
                    raise unsupported(view, "TMA copies tiles of a matrix", "write A.tile(rows, columns)[i, j]")
                (rows, columns), start = (extents[0], extents[1]), (ZERO, ZERO)
            case _:
                raise unsupported(
                    view, "TMA copies a tile of a tensor of two axes; this view is not lowered yet",
                    "write A.tile(rows, columns)[i, j]",
                )  # fmt: skip
        tensor = self.params[name]
        if tensor.dtype not in DTYPES:
            raise unsupported(view, f"TMA copies of {tensor.dtype} are not lowered yet")
        if max(rows, columns) > BOX_MAX:
            raise unsupported(view, f"a TMA box has at most {BOX_MAX} rows and columns")
        return tensor, (rows, columns), start


def _times(e: Expr, n: int) -> Expr:
    return simplify(Op("*", (e, Const(n))))
