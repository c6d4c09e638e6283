"""2-D convolution as implicit GEMM on gfx942, channels last: no matrix of patches is ever stored.

Rows of the product are output pixels, its k runs over taps and channels. Where the window of an output pixel starts is
data: the first input pixel of its image, its row and its column, which stride and padding went into. For each tap the
kernel turns them into rows of X to gather; -1, for pixels outside the image, gives zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from argus.dsl.kernels.library_schedule import (
    LibrarySchedule,
    grid_text,
    indent,
    kernel_text,
    shared_rows,
    swizzle_problems,
)
from argus.dsl.kernels.task import Array, Sizes
from argus.dsl.targets.atoms import ATOMS


class Conv2dSchedule(LibrarySchedule):
    """One kernel. The first two fields choose what is computed, the others how.

    Attributes:
        taps: Rows and columns of a filter.
        dtype: Of X and F.
        tile: Output pixels and output channels of a block, input channels of a stage.
        grid: Waves along pixels and channels.
        atom: The MFMA shape.
        stages: 2: a ring; 1: through registers.
        swizzle: Chunks of 16 bytes that `xor` permutes in a shared row; 0: none.
    """

    taps: tuple[int, int] = (3, 3)
    dtype: Literal["bf16", "f16"] = "bf16"
    tile: tuple[int, int, int] = (64, 64, 32)
    grid: tuple[int, int] = (2, 2)
    atom: Literal["32x32x8", "16x16x16"] = "32x32x8"
    stages: Literal[1, 2] = 2
    swizzle: Literal[0, 2, 4, 8] = 4

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        (bm, bn, bk), (gm, gn), atom = self.tile, self.grid, ATOMS[self.atom]
        found: list[str] = []
        if gm < 1 or gn < 1 or gm * gn > 16:
            return [f"a block has 1 to 16 waves, not {gm}x{gn}"]
        for extent, parts, edge, what in ((bm, gm, atom.m, "pixels"), (bn, gn, atom.n, "channels")):
            if extent <= 0 or extent % (parts * edge):
                found.append(f"{extent} {what} do not split into {parts} waves of {edge}")
        if bk <= 0 or bk % atom.k:
            found.append(f"a depth of {bk} is no multiple of {atom.k}")
        if min(self.taps) < 1 or max(self.taps) > 11:
            found.append("1 to 11 taps each way")
        for rows in (bm, bn):
            found += swizzle_problems(self.swizzle, rows, bk * 2)
        if 2 * self.stages * (bm + bn) * bk > 64 << 10:
            found.append("the stages exceed LDS")
        return found


def text(s: Conv2dSchedule) -> str:
    """Kernel text of a schedule."""
    (bm, bn, bk), (rows, columns), t = s.tile, s.taps, s.dtype
    buffers = {"Xs": shared_rows(t, bm, bk, s.swizzle), "Fs": shared_rows(t, bn, bk, s.swizzle)}
    acc = f'acc = mma_acc("{s.atom}", {bm}, {bn}{grid_text(*s.grid)})'
    st = "" if s.stages == 1 else "st."
    compute = [
        f"for ks in unroll({bk // ATOMS[s.atom].k}):",
        f'    a, b = {st}Xs.operand("a", acc, ks), {st}Fs.operand("b", acc, ks)',
        "    assert_match(a.c, b.c)",
        "    acc += mma(a, b)",
    ]
    loop = _through_registers(s, buffers, acc, compute) if s.stages == 1 else _ring(s, buffers, acc, compute)
    body = [
        f"bm, bo = block(cdiv(M, {bm}), cdiv(O, {bn}))",
        *[f"{x[0]} = load({x}.tile({bm})[bm])" for x in ("image", "row", "column")],
        *loop,
        f"store(Z.tile({bm}, {bn})[bm, bo], acc)",
    ]
    contract = (
        f"def conv2d(X: {t}[x:N * H * W, c:C], F: {t}[u:{rows}, v:{columns}, o:O, c:C], image: i32[m:M],"
        " row: i32[m:M], column: i32[m:M], Z: f32[m:M, o:O]):\n"
        "    where(C % 8 == 0)\n"
        "    assume(0 <= image[m], image[m] + H * W <= N * H * W, -1 <= pixel(m, u, v) < N * H * W)\n"
        # The row of X that output pixel m reads at tap (u, v); -1: none, the tap lies outside the image.
        "    assume(pixel(m, u, v) == (image[m] + (row[m] + u) * W + column[m] + v + 1)"
        " * (0 <= row[m] + u < H and 0 <= column[m] + v < W) - 1)\n"
        f"    ensures(Z[m, o], over(u, {rows}), over(v, {columns}), over(c, C), uses=(X, F))\n"
    )
    return kernel_text("gfx942", s.grid[0] * s.grid[1], contract, body)


def _rows_of_x(y: str, x: str) -> str:
    """Which row of X each output pixel reads at an input row and column."""
    return f"at = select(({y} >= 0) & ({y} < H) & ({x} >= 0) & ({x} < W), i + {y} * W + {x}, -1)"


def _tap() -> list[str]:
    return ["y, x = r + u, c + v", _rows_of_x("y", "x")]


def _through_registers(s: Conv2dSchedule, buffers: Mapping[str, str], acc: str, compute: list[str]) -> list[str]:
    (bm, bn, bk), (rows, columns) = s.tile, s.taps
    steps = [
        f"xt = load(X.gather(at).tile({bm}, {bk})[0, ct])",
        f"ft = load(F[u, v].tile({bn}, {bk})[bo, ct])",
        "store(Xs, xt)",
        "store(Fs, ft)",
        "barrier()",
        *compute,
        "barrier()",
    ]
    channels = [f"for ct in range(cdiv(C, {bk})):", *indent(steps)]
    return [
        *[f"{name} = {buffer}" for name, buffer in buffers.items()],
        acc,
        f"for u in unroll({rows}):",
        f"    for v in unroll({columns}):",
        *indent(indent([*_tap(), *channels])),
    ]


def _ring(s: Conv2dSchedule, buffers: Mapping[str, str], acc: str, compute: list[str]) -> list[str]:
    """All taps of a channel tile before the next one: a step copies what the next step multiplies.

    The taps are unrolled, so that each has constants u and v of its own.
    """
    (bm, bn, bk), (rows, columns) = s.tile, s.taps
    taps = rows * columns

    def fill(stage: str, u: str, v: str, ct: str) -> list[str]:
        return [
            f"with k.fill() as {stage}:",
            f"    copy_async({stage}.Xs, X.gather(at).tile({bm}, {bk})[0, {ct}])",
            f"    copy_async({stage}.Fs, F[{u}, {v}].tile({bn}, {bk})[bo, {ct}])",
        ]

    # After the last tap comes the first one of the next channel tile.
    following = [
        f"u, v = (t + 1) % {taps} // {columns}, (t + 1) % {columns}",
        *_tap(),
        *fill("nx", "u", "v", f"ct + (t + 1) // {taps}"),
    ]
    return [
        f"k = ring({s.stages}, {', '.join(f'{name}={buffer}' for name, buffer in buffers.items())})",
        acc,
        _rows_of_x("r", "c"),
        *fill("st", "0", "0", "0"),
        f"for ct in range(cdiv(C, {bk})):",
        f"    for t in unroll({taps}):",
        *indent(indent(["with k.use() as st:", *indent([*following, *compute])])),
        "wait(0)",
    ]


def reference(s: Conv2dSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64, tap by tap."""
    h, w = sizes["H"], sizes["W"]
    z = np.zeros((sizes["M"], sizes["O"]))
    for u in range(s.taps[0]):
        for v in range(s.taps[1]):
            y, x = inputs["row"] + u, inputs["column"] + v
            inside = (y >= 0) & (y < h) & (x >= 0) & (x < w)
            pixels = np.where(inside, inputs["image"] + y * w + x, 0)
            z += np.where(inside[:, None], inputs["X"][pixels], 0.0) @ inputs["F"][u, v].T
    return {"Z": z}


def sizes(s: Conv2dSchedule) -> tuple[Sizes, ...]:
    """Channel tiles 1, 2 and 5 times; output pixels of one image and of two, with a tail."""
    (bm, bn, bk), (rows, columns) = s.tile, s.taps
    h, w = rows + 3, columns + 4
    pixels = h * w
    small = {"N": 1, "H": h, "W": w, "M": pixels}
    return (
        {**small, "O": bn - 5, "C": bk - 8},
        {"N": 2, "H": h, "W": w, "M": 2 * pixels, "O": bn + 3, "C": 2 * bk},
        {**small, "M": bm, "O": 7, "C": 4 * bk + 8},
    )


def make_inputs(s: Conv2dSchedule, given: Sizes, rng: np.random.Generator) -> dict[str, Any]:
    """A convolution whose padding keeps the size, pixels in order; where M is smaller, the first M.

    The last four pixels read beside the image, as any of them may.
    """
    n, h, w, m = given["N"], given["H"], given["W"], given["M"]
    image, row, column = np.meshgrid(np.arange(n) * h * w, np.arange(h), np.arange(w), indexing="ij")
    tables = (image, row - s.taps[0] // 2, column - s.taps[1] // 2)
    image, row, column = (np.resize(table.reshape(-1), m) for table in tables)
    row[-2:] += (-h - s.taps[0], h + s.taps[0])
    column[-4:-2] += (-w - s.taps[1], w + s.taps[1])
    return {
        "X": rng.standard_normal((n * h * w, given["C"])),
        "F": rng.standard_normal((*s.taps, given["O"], given["C"])),
        "image": image,
        "row": row,
        "column": column,
    }


EXAMPLES = {
    "ring": Conv2dSchedule(tile=(32, 64, 32), grid=(1, 2)),
    "registers": Conv2dSchedule(tile=(64, 32, 32), grid=(2, 1), stages=1),
    "one-tap": Conv2dSchedule(taps=(1, 1), tile=(48, 32, 32), grid=(3, 1), atom="16x16x16", dtype="f16"),
    "row-of-five": Conv2dSchedule(taps=(1, 5), tile=(32, 32, 16), grid=(2, 1), atom="16x16x16", stages=1, swizzle=0),
}
