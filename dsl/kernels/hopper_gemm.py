"""GEMM on sm_90a: C[m, n] = sum over k of A[m, k] * B[n, k], in the type of the inputs.

One warpgroup loads by TMA into a ring of mbarriers, two multiply, on a persistent grid. Results leave through swizzled
shared memory, 64 columns a time, by TMA stores that overlap with the next columns. Tails in every dimension follow
from the bounds of the tensor maps.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from argus.dsl.kernels.task import Problem

CONTRACT = """\
def gemm(A: {dtype}[m:M, k:K], B: {dtype}[n:N, k:K], C: {dtype}[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
"""
CHUNK = 64  # columns of 128 bytes: a row of the swizzle
STEP = 16  # k of one wgmma, and columns of one stmatrix
BYTES = 2
MBAR_BYTES = 8
SHARED_BYTES = 226 << 10  # 227 KiB a block, 1 KiB of which aligns the buffers


class HopperGemmSchedule(BaseModel):
    """One point of the sm_90a GEMM family's space. Equal schedules print equal kernels.

    Attributes:
        tile: Block rows, block columns, k-depth of a stage; elements. Each of the two consumers takes half the rows.
        stages: Of the ring.
        group_m: Rows of tiles that blocks walk together, for L2; 1 walks row by row of tiles.
        keep: Batches of MMAs that stay in flight when a stage is freed.
        registers: Of a thread of the loading and of the multiplying warpgroups.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tile: tuple[int, int, int] = (128, 128, 64)
    stages: int = 4
    group_m: int = 8
    keep: Literal[0, 1] = 1
    registers: tuple[int, int] = (40, 232)

    @model_validator(mode="after")
    def _legal(self) -> Self:
        for problem in self.problems():
            raise ValueError(problem)
        return self

    @property
    def name(self) -> str:
        """Short and unambiguous, for folders and tables."""
        parts = ["x".join(map(str, self.tile)), f"s{self.stages}", f"g{self.group_m}"]
        parts += [] if self.keep == 1 else ["keep0"]
        parts += [] if self.registers == (40, 232) else ["r{}-{}".format(*self.registers)]
        return "-".join(parts)

    @property
    def buffers(self) -> int:
        """Epilogue buffers of each consumer: two where chunks alternate evenly, from tile to tile as well."""
        return 2 if self.tile[1] // CHUNK % 2 == 0 and self.tile[0] == 128 else 1

    @property
    def shared_bytes(self) -> int:
        bm, bn, bk = self.tile
        return BYTES * (self.stages * (bm + bn) * bk + self.buffers * bm * CHUNK) + MBAR_BYTES * 2 * self.stages

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        bm, bn, bk = self.tile
        found: list[str] = []

        def need(holds: bool, text: str) -> None:
            if not holds:
                found.append(text)

        need(bm in (128, 256), f"two consumers take 64 or 128 rows each: 128 or 256 rows, not {bm}")
        need(bk == CHUNK, f"a stage is {CHUNK} deep, a row of the 128-byte swizzle; not {bk}")
        need(0 < bn <= 256 and bn % CHUNK == 0, f"columns are a multiple of {CHUNK} up to 256, not {bn}")
        need(bm * bn <= 128 * 256, f"an accumulator of {bm}x{bn} does not fit the registers of two consumers")
        need(2 <= self.stages <= 16, f"2 to 16 stages, not {self.stages}")
        need(self.stages > self.keep, "a stage is freed before it is filled again")
        need(self.group_m >= 1, "at least one row of tiles in a group")
        loads, multiplies = self.registers
        need(all(24 <= r <= 240 and r % 8 == 0 for r in self.registers), "registers: multiples of 8 from 24 to 240")
        need(128 * (loads + 2 * multiplies) <= 65536, f"{loads} and twice {multiplies} registers exceed 512 a lane")
        if not found:
            need(
                self.shared_bytes <= SHARED_BYTES,
                f"{self.shared_bytes:,} bytes of shared memory, at most {SHARED_BYTES:,}",
            )
        return found


def start(problem: Problem) -> HopperGemmSchedule:
    """A competent first kernel."""
    del problem
    return HopperGemmSchedule()


def text(schedule: HopperGemmSchedule, problem: Problem) -> str:
    """Kernel text of a schedule."""
    s, dtype = schedule, problem.dtype
    bm, bn, bk = s.tile
    rows = bm // 2
    order = "rows" if s.group_m == 1 else f"group_m({s.group_m})"
    slot = "g" if s.buffers == 1 else f"{s.buffers} * g + q % {s.buffers}"
    chunks = bn // CHUNK
    column = f"{chunks} * bn + q" if chunks > 1 else "bn + q"
    lines = [
        f"r = ring({s.stages}, As=shared({dtype}, {bm}, {bk}, swizzle=b128), "
        f"Bs=shared({dtype}, {bn}, {bk}, swizzle=b128))",
        f"out = shared({dtype}, {2 * s.buffers}, {rows}, {CHUNK}, swizzle=b128)",
        f"for bm, bn in tiles(cdiv(M, {bm}), cdiv(N, {bn}), order={order}):",
        f'    with role("load", waves=4, regs={s.registers[0]}):',
        f"        for kt in range(cdiv(K, {bk})):",
        "            with r.fill() as st:",
        f'                copy_async(st.As, A.tile({bm}, {bk})[bm, kt], via="tma")',
        f'                copy_async(st.Bs, B.tile({bn}, {bk})[bn, kt], via="tma")',
        f'    with role("mma", waves=8, regs={s.registers[1]}, groups=2) as g:',
        f'        acc = mma_acc("m64n{bn}k16", {rows}, {bn})',
        f"        for kt in range(cdiv(K, {bk})):",
        f"            with r.use({'keep=1' if s.keep else ''}) as st:",
        f"                for ks in unroll({bk // STEP}):",
        f'                    a, b = st.As.rows(g * {rows}, {rows}).operand("a", acc, ks), st.Bs.operand("b", acc, ks)',
        "                    assert_match(a.k, b.k)",
        "                    acc += mma(a, b)",
        *(["        mma_wait(0)"] if s.keep else []),
        f"        y = acc.to({dtype})",
        f"        for q in unroll({chunks}):",
        f"            wait({s.buffers - 1})",
        "            barrier(waves=4)",
        f"            for j in unroll({CHUNK // STEP}):",
        f'                store(out[{slot}].cols({STEP} * j, {STEP}), y.as_operand("a", acc, {CHUNK // STEP} * q + j))',
        '            fence("async")',
        "            barrier(waves=4)",
        "            with elect():",
        f'                copy_async(C.tile({rows}, {CHUNK})[2 * bm + g, {column}], out[{slot}], via="tma")',
        "                commit()",
        "wait(0)",
    ]
    head = f'@kernel(target="{problem.target}", waves=12)\n{problem.contract}'
    return head + "".join(f"    {line}\n" for line in lines)
