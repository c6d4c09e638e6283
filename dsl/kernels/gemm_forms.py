"""GEMM on gfx942 by other means: without LDS, with waves that share k, with halves of a block that take turns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from argus.dsl.kernels.library_schedule import (
    LANES,
    LibrarySchedule,
    grid_text,
    indent,
    kernel_text,
    multiple,
    swizzle_problems,
    wide,
)
from argus.dsl.kernels.task import Array, Sizes, Target
from argus.dsl.targets.atoms import ATOMS


def _edges(atom: str, dtype: str) -> list[str]:
    found = ATOMS.get(atom)
    if found is None or found.target != "gfx942" or found.blocks > 1 or dtype not in found.dtypes:
        return [f'"{atom}" is no MFMA of one block for {dtype}']
    return []


def _out(dtype: str) -> str:
    return "i32" if dtype == "i8" else "f32"


def _contract(dtype: str) -> str:
    return (
        f"def gemm(A: {dtype}[m:M, k:K], B: {dtype}[n:N, k:K], C: {_out(dtype)}[m:M, n:N]):\n"
        f"    where(K % {wide(dtype)} == 0)\n    ensures(C[m, n], over(k, K), uses=(A, B))\n"
    )


def reference(s: LibrarySchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """C = A B^T in fp64."""
    del s, sizes
    return {"C": inputs["A"] @ inputs["B"].T}


# --------------------------------------------------------------------------------------------- naive


class NaiveSchedule(LibrarySchedule):
    """Operands straight from global memory: the shortest right kernel. The dtype chooses what is computed.

    Attributes:
        tile: Block rows, block columns.
        grid: Waves along block rows and block columns.
        atom: The MFMA shape; a step of the loop is one deep.
    """

    dtype: Literal["bf16", "f16", "f8", "i8", "f32"] = "bf16"
    tile: tuple[int, int] = (64, 64)
    grid: tuple[int, int] = (2, 2)
    atom: str = "32x32x8"

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        if found := _edges(self.atom, self.dtype):
            return found
        edge = ATOMS[self.atom].m
        return [
            f"{extent} rows or columns do not split into {parts} waves of {edge}"
            for extent, parts in zip(self.tile, self.grid, strict=True)
            if parts < 1 or extent <= 0 or extent % (parts * edge)
        ]


def naive_text(s: NaiveSchedule) -> str:
    """Kernel text of a schedule."""
    (bm, bn), k = s.tile, ATOMS[s.atom].k
    body = [
        f"bm, bn = block(cdiv(M, {bm}), cdiv(N, {bn}))",
        f'acc = mma_acc("{s.atom}", {bm}, {bn}{grid_text(*s.grid)})',
        f"for kt in range(cdiv(K, {k})):",
        f'    a = A.tile({bm}, {k})[bm, kt].operand("a", acc, 0)',
        f'    b = B.tile({bn}, {k})[bn, kt].operand("b", acc, 0)',
        "    assert_match(a.k, b.k)",
        "    acc += mma(a, b)",
        f"store(C.tile({bm}, {bn})[bm, bn], acc)",
    ]
    return kernel_text("gfx942", s.grid[0] * s.grid[1], _contract(s.dtype), body)


def naive_sizes(s: NaiveSchedule) -> tuple[Sizes, ...]:
    """One step and less, two, three; ragged in every dimension."""
    (bm, bn), k, a = s.tile, ATOMS[s.atom].k, wide(s.dtype)
    return (
        {"M": bm - 1, "N": bn + 3, "K": a},
        {"M": bm + 5, "N": bn, "K": multiple(2 * k, a)},
        {"M": 1, "N": bn - 7, "K": multiple(3 * k, a) + a},
    )


NAIVE_EXAMPLES = {
    "bf16": NaiveSchedule(),
    "48x32": NaiveSchedule(dtype="f16", tile=(48, 32), grid=(3, 1), atom="16x16x16"),
    "i8": NaiveSchedule(dtype="i8", tile=(32, 64), grid=(1, 2), atom="32x32x16"),
    "f8": NaiveSchedule(dtype="f8", tile=(32, 32), grid=(1, 2), atom="16x16x32"),
    "f32": NaiveSchedule(dtype="f32", tile=(32, 32), grid=(1, 1), atom="32x32x2"),
}


# -------------------------------------------------------------------------------------------- skinny


class SkinnySchedule(LibrarySchedule):
    """Few rows: the waves of a block share k, and B is read once, into registers. The dtype chooses what is computed.

    Attributes:
        tile: Block rows, block columns, k that a wave takes at a time.
        waves: How many share the k of a block.
        atom: The MFMA shape.
        pack: k-steps merged into one wide read.
    """

    dtype: Literal["bf16", "f16"] = "bf16"
    tile: tuple[int, int, int] = (16, 32, 64)
    waves: Literal[2, 3, 4, 8] = 4
    atom: Literal["16x16x16", "32x32x8"] = "16x16x16"
    pack: Literal[1, 2] = 2

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        (bm, bn, bk), atom = self.tile, ATOMS[self.atom]
        found: list[str] = []
        if bm <= 0 or bn <= 0 or bm % atom.m or bn % atom.n:
            found.append(f"{bm}x{bn} is not made of {atom.m}x{atom.n}")
        if bk <= 0 or bk % (atom.k * self.pack):
            found.append(f"a depth of {bk} is no multiple of {atom.k * self.pack}")
        if 4 * self.waves * bm * bn > 64 << 10:
            found.append("the waves' sums exceed LDS")
        return found


def skinny_text(s: SkinnySchedule) -> str:
    """Kernel text of a schedule."""
    bm, bn, bk = s.tile
    pack = f", pack={s.pack}" if s.pack > 1 else ""
    total = " + ".join(f"load(part[{w}])" for w in range(s.waves))
    step = [
        f'a = A.tile({bm}, {bk})[bm, {s.waves} * kt + g].operand("a", acc, ks{pack})',
        f'b = B.tile({bn}, {bk})[bn, {s.waves} * kt + g].operand("b", acc, ks{pack})',
        "assert_match(a.k, b.k)",
        "acc += mma(a, b)",
    ]
    multiply = [
        f'acc = mma_acc("{s.atom}", {bm}, {bn})',
        f"for kt in range(cdiv(K, {s.waves * bk})):",
        *indent([f"for ks in unroll({bk // (ATOMS[s.atom].k * s.pack)}):", *indent(step)]),
        "store(part[g], acc)",
    ]
    body = [
        f"bm, bn = block(cdiv(M, {bm}), cdiv(N, {bn}))",
        f"part = shared(f32, {s.waves}, {bm}, {bn})",
        f'with role("mma", waves={s.waves}, groups={s.waves}) as g:',
        *indent(multiply),
        "barrier()",
        f"store(C.tile({bm}, {bn})[bm, bn], {total})",
    ]
    return kernel_text("gfx942", s.waves, _contract(s.dtype), body)


def skinny_sizes(s: SkinnySchedule) -> tuple[Sizes, ...]:
    """Less than a turn of all waves, one, two and three; ragged in every dimension."""
    (bm, bn, bk), turn = s.tile, s.waves * s.tile[2]
    return (
        {"M": 1, "N": bn + 3, "K": max(8, bk - 8)},
        {"M": bm + 1, "N": bn, "K": 2 * turn},
        {"M": bm - 3, "N": 2 * bn - 1, "K": 2 * turn + bk + 8},
    )


SKINNY_EXAMPLES = {
    "four-waves": SkinnySchedule(),
    "eight-waves": SkinnySchedule(tile=(16, 16, 32), waves=8, dtype="f16", pack=1),
    "three-waves": SkinnySchedule(tile=(32, 32, 48), waves=3, atom="32x32x8"),
}


# ----------------------------------------------------------------------------------------- ping-pong


class PingPongSchedule(LibrarySchedule):
    """Half of eight waves reads while the other half multiplies. The dtype chooses what is computed.

    `shift` puts the halves a barrier apart. A half reads its operands and starts the copies of a later tile in one
    phase, multiplies in the next; the tile that is copied to is one that both halves have read two phases before.

    Attributes:
        tile: Block rows, block columns, k of a stage; elements.
        grid: Waves along block rows and block columns; the halves are the first and the last four.
        atom: The MFMA shape.
        stages: Of shared memory.
        swizzle: Chunks of 16 bytes that `xor` permutes in a shared row; 0: none.
    """

    dtype: Literal["bf16", "f16"] = "bf16"
    tile: tuple[int, int, int] = (64, 64, 32)
    grid: Literal["2x4", "4x2"] = "2x4"
    atom: Literal["16x16x16", "32x32x8"] = "16x16x16"
    stages: Literal[2, 3, 4] = 3
    swizzle: Literal[0, 2, 4, 8] = 4

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        (bm, bn, bk), (gm, gn), atom = self.tile, self.waves_of, ATOMS[self.atom]
        found: list[str] = []
        for extent, parts, edge in ((bm, gm, atom.m), (bn, gn, atom.n)):
            if extent <= 0 or extent % (parts * edge):
                found.append(f"{extent} rows or columns do not split into {parts} waves of {edge}")
        if bk <= 0 or bk % atom.k or bk // atom.k > 4:
            found.append(f"a depth of {bk} is not made of one to four steps of {atom.k}")
        for rows in (bm, bn):
            found += swizzle_problems(self.swizzle, rows, bk * 2)
        if 2 * self.stages * (bm + bn) * bk > 64 << 10:
            found.append("the stages exceed LDS")
        return found

    @property
    def waves_of(self) -> tuple[int, int]:
        rows, columns = self.grid.split("x")
        return int(rows), int(columns)


def pingpong_text(s: PingPongSchedule) -> str:
    """Kernel text of a schedule."""
    bm, bn, bk = s.tile
    ahead, steps = s.stages - 1, range(bk // ATOMS[s.atom].k)
    swizzle = f", swizzle=xor({s.swizzle})" if s.swizzle else ""

    def copies(stage: str, kt: str) -> list[str]:
        return [
            f"copy_async(As[{stage}], A.tile({bm}, {bk})[bm, {kt}])",
            f"copy_async(Bs[{stage}], B.tile({bn}, {bk})[bn, {kt}])",
            "commit()",
        ]

    stage = f"kt % {s.stages}"
    reads = [f'a{i}, b{i} = As[{stage}].operand("a", acc, {i}), Bs[{stage}].operand("b", acc, {i})' for i in steps]
    products = [line for i in steps for line in (f"assert_match(a{i}.k, b{i}.k)", f"acc += mma(a{i}, b{i})")]
    loop = [
        *copies(f"(kt + {ahead}) % {s.stages}", f"kt + {ahead}"),
        *reads,
        f"wait({ahead - 1})",
        "barrier()",
        "priority(1)",
        *products,
        "priority(0)",
        "barrier()",
    ]
    body = [
        f"bm, bn = block(cdiv(M, {bm}), cdiv(N, {bn}))",
        *(f"{x}s = shared({s.dtype}, {s.stages}, {rows}, {bk}{swizzle})" for x, rows in (("A", bm), ("B", bn))),
        f'acc = mma_acc("{s.atom}", {bm}, {bn}{grid_text(*s.waves_of)})',
        f"for p in unroll({ahead}):",
        *indent(copies("p", "p")),
        f"wait({ahead - 1})",
        "barrier()",
        "shift(4)",
        f"for kt in range(cdiv(K, {bk})):",
        *indent(loop),
        "wait(0)",
        f"store(C.tile({bm}, {bn})[bm, bn], acc)",
    ]
    return kernel_text("gfx942", 8, _contract(s.dtype), body)


def pingpong_sizes(s: PingPongSchedule) -> tuple[Sizes, ...]:
    """k-tiles 1, 2, S and 2 S + 1 times; ragged in every dimension."""
    bm, bn, bk = s.tile
    out: list[Sizes] = []
    for turn, n in enumerate(sorted({1, 2, s.stages, 2 * s.stages + 1})):
        k = n * bk - (8 if turn % 2 == 0 else 0)
        out.append({"M": bm - 5 + 8 * (turn % 2), "N": bn + 8 - 16 * (turn % 2), "K": k})
    return tuple(out)


PINGPONG_EXAMPLES = {
    "three-stages": PingPongSchedule(),
    "two-stages": PingPongSchedule(tile=(64, 96, 32), grid="4x2", stages=2, dtype="f16"),
    "four-stages": PingPongSchedule(tile=(32, 64, 16), stages=4, swizzle=0),
}


# -------------------------------------------------------------------------------------------- reduce


class ReduceSchedule(LibrarySchedule):
    """The parts that `gemm_partials` leaves, added.

    Attributes:
        tile: Parts that are in registers together, rows and columns of a block.
        waves: Of a block.
    """

    target: Target = "gfx942"
    tile: tuple[int, int, int] = (4, 4, 128)
    waves: int = 2

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        parts, rows, columns = self.tile
        if parts < 1 or rows < 1 or columns % 4 or not 1 <= self.waves <= 16:
            return ["at least one part and one row, columns by four, 1 to 16 waves"]
        if rows * columns % (turn := self.waves * 4 * LANES[self.target]):
            # Else the parts of one element lie in different waves, whose sum needs shared memory.
            return [f"{rows}x{columns} is no multiple of the {turn} elements of a turn"]
        return []


def reduce_text(s: ReduceSchedule) -> str:
    """Kernel text of a schedule."""
    parts, rows, columns = s.tile
    return f"""\
@kernel(target="{s.target}", waves={s.waves})
def gemm_reduce(W: f32[p:P, m:M, n:N], C: f32[m:M, n:N]):
    where(N % 4 == 0)
    ensures(C[m, n], over(p, P), uses=W)
    bm, bn = block(cdiv(M, {rows}), cdiv(N, {columns}))
    c = 0.0
    for pt in range(cdiv(P, {parts})):
        c += reduce("sum", load(W.tile({parts}, {rows}, {columns})[pt, bm, bn], map=linear(4)), "p")
    assert_complete(c, p=range(P))
    store(C.tile({rows}, {columns})[bm, bn], c)
"""


def reduce_reference(s: ReduceSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    del s, sizes
    return {"C": inputs["W"].sum(axis=0)}


def reduce_sizes(s: ReduceSchedule) -> tuple[Sizes, ...]:
    """Tiles of parts 1, 2 and 3 times, ragged and whole."""
    p, m, n = s.tile
    return (
        {"P": max(1, p - 1), "M": m + 1, "N": n - 4},
        {"P": 2 * p, "M": m, "N": 2 * n},
        {"P": 2 * p + 1, "M": 1, "N": n + 4},
    )


REDUCE_EXAMPLES = {
    "four-parts": ReduceSchedule(),
    "three-parts": ReduceSchedule(tile=(3, 12, 64), waves=3),
    "hopper": ReduceSchedule(target="sm_90a", tile=(2, 4, 128), waves=4),
    "one-part": ReduceSchedule(tile=(1, 1, 256), waves=1),
}
