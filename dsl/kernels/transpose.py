"""Transpose through shared memory, on both targets: rows are read and rows are written, columns live only inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from argus.dsl.kernels.library_schedule import BYTES, LibrarySchedule, multiple, wide
from argus.dsl.kernels.task import Array, Sizes, Target
from argus.dsl.targets.limits import LIMITS


class TransposeSchedule(LibrarySchedule):
    """One kernel. The dtype chooses what is computed, the other fields how.

    Attributes:
        tile: Rows and columns of X that a block moves.
        vector: Elements a lane reads from X, and writes to Y, at a time.
        waves: Of a block.
        pad: Elements after each shared row, so that its columns spread over the banks.
        swizzle: Chunks of 16 bytes that `xor` permutes in a shared row; 0: none. gfx942 only.
        order: Of the blocks.
    """

    dtype: Literal["bf16", "f16", "f32", "i8"] = "bf16"
    target: Target = "gfx942"
    tile: tuple[int, int] = (64, 64)
    vector: tuple[int, int] = (8, 8)
    waves: int = 4
    pad: int = 0
    swizzle: Literal[0, 2, 4, 8] = 0
    order: str = "rows"

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        rows, columns = self.tile
        size = BYTES[self.dtype]
        found: list[str] = []
        if not 1 <= self.waves <= 16:
            found.append(f"a block has 1 to 16 waves, not {self.waves}")
        for extent, vector in ((columns, self.vector[0]), (rows, self.vector[1])):
            if vector < 1 or extent < 1 or extent % vector or vector * size > 16:
                found.append(f"rows of {extent} elements of {self.dtype} are not moved {vector} at a time")
        if self.pad < 0 or self.pad % self.vector[0]:
            found.append(f"a pad of {self.pad} elements does not keep {self.vector[0]} of them aligned")
        if self.swizzle and (columns * size % (16 * self.swizzle) or self.target == "sm_90a"):
            found.append(f"{self.swizzle} chunks of 16 bytes do not tile a row of {columns * size} bytes on gfx942")
        limit = LIMITS[self.target].shared_bytes
        if rows * (columns + self.pad) * size > limit:
            found.append(f"a tile of {rows}x{columns} exceeds the {limit:,} bytes of shared memory")
        return found


def text(s: TransposeSchedule) -> str:
    """Kernel text of a schedule."""
    rows, columns = s.tile
    order = "" if s.order == "rows" else f", order={s.order}"
    swizzle = f", swizzle=xor({s.swizzle})" if s.swizzle else ""
    pad = f", pad={s.pad}" if s.pad else ""
    return f"""\
@kernel(target="{s.target}", waves={s.waves})
def transpose(X: {s.dtype}[m:M, n:N], Y: {s.dtype}[n:N, m:M]):
    where(M % {wide(s.dtype)} == 0, N % {wide(s.dtype)} == 0)
    ensures(Y[n, m], uses=X)
    bm, bn = block(cdiv(M, {rows}), cdiv(N, {columns}){order})
    buf = shared({s.dtype}, {rows}, {columns}{swizzle}{pad})
    store(buf, load(X.tile({rows}, {columns})[bm, bn], map=linear({s.vector[0]})))
    barrier()
    store(Y.tile({columns}, {rows})[bn, bm], load(buf.T, map=linear({s.vector[1]})))
"""


def reference(s: TransposeSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """X transposed."""
    del s, sizes
    return {"Y": inputs["X"].T}


def sizes(s: TransposeSchedule) -> tuple[Sizes, ...]:
    """Less than a tile, whole tiles, tails both ways."""
    (m, n), a = s.tile, wide(s.dtype)
    return (
        {"M": multiple(m - m // 3, a), "N": multiple(n - 1, a)},
        {"M": multiple(2 * m, a), "N": multiple(n, a)},
        {"M": multiple(m, a) + a, "N": multiple(2 * n, a) + a},
    )


EXAMPLES = {
    "padded": TransposeSchedule(pad=8),
    "swizzled": TransposeSchedule(swizzle=8, vector=(8, 4), order="xcd(8)"),
    "48x32": TransposeSchedule(tile=(48, 32), dtype="f32", vector=(1, 4), pad=1, waves=3),
    "bytes": TransposeSchedule(dtype="i8", vector=(4, 16), pad=4),
    "hopper": TransposeSchedule(target="sm_90a", tile=(32, 64), vector=(2, 8), pad=2, order="group_m(4)"),
}
