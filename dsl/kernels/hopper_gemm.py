"""GEMM on sm_90a: C[m, n] = sum over k of A[m, k] * B[n, k], in the type of the inputs.

One warpgroup loads by TMA into a ring of mbarriers, two multiply, on a persistent grid. Results leave through swizzled
shared memory, 64 columns a time, by TMA stores that overlap with the next columns. Tails in every dimension follow
from the bounds of the tensor maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from argus.dsl.kernels.task import Problem

CONTRACT = """\
def gemm(A: {dtype}[m:M, k:K], B: {dtype}[n:N, k:K], C: {dtype}[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
"""
DEPTH = 64  # k of a stage: a row of the 128-byte swizzle
STEP = 16  # k of one wgmma, and columns of one stmatrix
BYTES = 2
MBAR_BYTES = 8
SHARED_BYTES = 226 << 10  # 227 KiB a block, 1 KiB of which aligns the buffers

# What `predict` takes for granted.
SMS = 132
CLOCK_MHZ = 1500.0  # under load
LOAD_COST = 0.15  # the clock falls with the power that loads take: 128x128 tiles against 128x256
L2_BYTES_PER_CLK = 60.0  # a multiprocessor's share
TILE_CLK = 2500.0  # until the first MMA, and the epilogue
HBM_BYTES_PER_US = 4.2e6
LAUNCH_US = 2.0


class HopperGemmSchedule(BaseModel):
    """One point of the sm_90a GEMM family's space. Equal schedules print equal kernels.

    Attributes:
        tile: Block rows, block columns, k-depth of a stage; elements.
        consumers: Warpgroups that multiply; each takes as many of the block's rows, 64 or 128.
        stages: Of the ring.
        group_m: Rows of tiles that blocks walk together, for L2; 1 walks row by row of tiles.
        keep: Batches of MMAs that stay in flight when a stage is freed.
        registers: Of a thread of the loading and of the multiplying warpgroups; None leaves all an equal share, and one
            consumer alone needs no budget.
        persistent: Blocks walk tiles, one block a multiprocessor; else there is a block for each tile.
        out_buffers: Epilogue buffers of each consumer, at most.
        swap: Rows of B are the rows of the MMA, which come in 64s; then rows of A may be as few as 16.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tile: tuple[int, int, int] = (128, 128, 64)
    consumers: Literal[1, 2] = 2
    stages: int = 4
    group_m: int = 8
    keep: Literal[0, 1] = 1
    registers: tuple[int, int] | None = (40, 232)
    persistent: bool = True
    out_buffers: Literal[1, 2] = 2
    swap: bool = False

    @model_validator(mode="after")
    def _legal(self) -> Self:
        for problem in self.problems():
            raise ValueError(problem)
        return self

    @property
    def name(self) -> str:
        """Short and unambiguous, for folders and tables."""
        parts = ["x".join(map(str, self.tile)), f"s{self.stages}", f"g{self.group_m}"]
        parts += ["swap"] if self.swap else []
        parts += [] if self.consumers == 2 else ["c1"]
        parts += [] if self.keep == 1 else ["keep0"]
        if self.consumers == 2 and self.registers != (40, 232):
            parts += ["r{}-{}".format(*self.registers) if self.registers else "even"]
        parts += [] if self.persistent else ["once"]
        parts += ["out1"] if self.out_buffers < 2 and self._alternates else []
        return "-".join(parts)

    @property
    def rows(self) -> int:
        """Of the MMAs of one consumer."""
        return self.tile[self.swap] // self.consumers

    @property
    def columns(self) -> int:
        """Of the MMAs."""
        return self.tile[1 - self.swap]

    @property
    def chunk(self) -> int:
        """Columns of the MMAs that leave together.

        They are rows of 128 bytes in shared memory, or of 64 where those do not divide the tile; swapped, up to 64
        rows of 128 bytes.
        """
        if self.swap:
            return min(self.columns, 64)
        return 64 if self.columns % 64 == 0 else 32

    @property
    def buffers(self) -> int:
        """Epilogue buffers of each consumer: two where chunks alternate evenly, from tile to tile as well."""
        return self.out_buffers if self._alternates else 1

    @property
    def _alternates(self) -> bool:
        return self.columns // self.chunk % 2 == 0 and self.rows == 64

    @property
    def shared_bytes(self) -> int:
        bm, bn, bk = self.tile
        ring = BYTES * self.stages * (bm + bn) * bk + 2 * MBAR_BYTES * self.stages
        return ring + BYTES * self.buffers * self.consumers * self.rows * self.chunk

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        bk = self.tile[2]
        found: list[str] = []

        def need(holds: bool, text: str) -> None:
            if not holds:
                found.append(text)

        rows, columns = self.rows, self.columns
        whole = self.tile[self.swap] == rows * self.consumers
        need(rows in (64, 128) and whole, f"a consumer takes 64 or 128 rows: not {self.tile[self.swap]}")
        need(bk == DEPTH, f"a stage is {DEPTH} deep, a row of the 128-byte swizzle; not {bk}")
        if self.swap:
            need(rows == 64, f"a consumer takes 64 rows of B, not {rows}")
            need(columns in (16, 32, 48, 64, 128, 192, 256), f"16 to 64 rows of A, or 128, 192, 256; not {columns}")
        else:
            need(0 < columns <= 256 and columns % 32 == 0, f"columns are a multiple of 32 up to 256, not {columns}")
        need(rows * columns <= 64 * 256, f"an accumulator of {rows}x{columns} does not fit a consumer's registers")
        need(2 <= self.stages <= 24, f"2 to 24 stages, not {self.stages}")
        need(self.stages > self.keep, "a stage is freed before it is filled again")
        need(self.group_m >= 1, "at least one row of tiles in a group")
        loads, multiplies = self.registers or (24, 24)
        need(all(24 <= r <= 240 and r % 8 == 0 for r in (loads, multiplies)), "registers: multiples of 8, 24 to 240")
        need(128 * (loads + 2 * multiplies) <= 65536, f"{loads} and twice {multiplies} registers exceed 512 a lane")
        used = self.shared_bytes
        need(used <= SHARED_BYTES, f"{used:,} bytes of shared memory, at most {SHARED_BYTES:,}")
        return found


def start(problem: Problem) -> HopperGemmSchedule:
    """A competent first kernel."""
    del problem
    return HopperGemmSchedule()


def predict(schedule: HopperGemmSchedule, sizes: Mapping[str, int]) -> float:
    """Microseconds by a closed form, used only to propose: tiles in turns of all multiprocessors, or HBM.

    A tile takes as long as its MMAs, or as its share of L2's bandwidth. Constants are round numbers of an H200 under
    load; `LOAD_COST` and `CLOCK_MHZ` follow from evals/results/h200-gemm-2026-11-29.json.
    """
    m, n, k = sizes["M"], sizes["N"], sizes["K"]
    bm, bn, bk = schedule.tile
    tiles = -(-m // bm) * -(-n // bn)
    turns = -(-tiles // SMS)
    depth = -(-k // bk)
    rows, columns = schedule.rows * schedule.consumers, schedule.columns
    multiply = rows // 64 * (bk // STEP) * max(columns / 2, (64 + columns) / 4)
    load = (min(bm, m) + bn) * bk * BYTES / L2_BYTES_PER_CLK
    tile = depth * max(multiply + LOAD_COST * load, load) + TILE_CLK
    # Idle multiprocessors leave bandwidth to the others, who use some of it.
    hbm = BYTES * (m * k + n * k + m * n) / HBM_BYTES_PER_US * (turns * SMS / tiles) ** 0.5
    return LAUNCH_US + max(turns * tile / CLOCK_MHZ, hbm)


def proposals(sizes: Mapping[str, int], count: int = 2) -> tuple[HopperGemmSchedule, ...]:
    """The schedules that `predict` likes best at these sizes, best first.

    Among equals those that keep more multiprocessors busy, waste less of their tiles, and are wider.
    """

    def rank(s: HopperGemmSchedule) -> tuple[float, ...]:
        (bm, bn, _), (m, n) = s.tile, (sizes["M"], sizes["N"])
        tiles = -(-m // bm) * -(-n // bn)
        return round(predict(s, sizes), 1), -min(tiles, SMS), tiles * bm * bn, -bn

    return tuple(sorted(space(), key=rank)[:count])


@cache
def space() -> tuple[HopperGemmSchedule, ...]:
    """Every tile, with the most stages that fit."""
    out: list[HopperGemmSchedule] = []
    for consumers, rows in ((2, 64), (1, 64), (2, 128)):
        for columns in range(64, 257, 32):
            out += _fullest((rows * consumers, columns, DEPTH), consumers, swap=False)
    for consumers in (1, 2):
        for columns in (16, 32, 64, 128, 192, 256):
            out += _fullest((columns, 64 * consumers, DEPTH), consumers, swap=True)
    return tuple(out)


def _fullest(tile: tuple[int, int, int], consumers: int, *, swap: bool) -> list[HopperGemmSchedule]:
    """The schedule of this tile with the most stages, at most 20; none where it is not legal."""
    for stages in range(20, 2, -1):
        with suppress(ValueError):
            fields = {"tile": tile, "consumers": consumers, "stages": stages, "swap": swap}
            return [HopperGemmSchedule.model_validate(fields)]
    return []


def text(schedule: HopperGemmSchedule, problem: Problem) -> str:
    """Kernel text of a schedule."""
    printer = _Printer(schedule, problem.dtype)
    head = f'@kernel(target="{problem.target}", waves={4 + 4 * schedule.consumers})\n{problem.contract}'
    return head + "".join(f"    {line}\n" for line in printer.body())


class _Printer:
    def __init__(self, schedule: HopperGemmSchedule, dtype: str) -> None:
        self.s, self.dtype = schedule, dtype
        self.bm, self.bn, self.bk = schedule.tile

    def body(self) -> list[str]:
        order = "rows" if self.s.group_m == 1 else f"group_m({self.s.group_m})"
        grid = f"cdiv(M, {self.bm}), cdiv(N, {self.bn}), order={order}"
        work = [*self._load(), *self._multiply()]
        return [
            f"r = ring({self.s.stages}, As={self._shared(self.bm)}, Bs={self._shared(self.bn)})",
            self._stage_buffers(),
            *([f"for bm, bn in tiles({grid}):", *_indent(work)] if self.s.persistent else []),
            *([] if self.s.persistent else [f"bm, bn = block({grid})", *work]),
            "wait(0)",
        ]

    def _shared(self, rows: int) -> str:
        return f"shared({self.dtype}, {rows}, {self.bk}, swizzle=b128)"

    def _stage_buffers(self) -> str:
        s = self.s
        shape = f"{s.chunk}, {s.rows}" if s.swap else f"{s.rows}, {s.chunk}"
        swizzle = "b128" if s.swap or s.chunk == 64 else "b64"
        return f"out = shared({self.dtype}, {s.consumers * s.buffers}, {shape}, swizzle={swizzle})"

    def _role(self, name: str, waves: int, number: int) -> str:
        registers = self.s.registers if self.s.consumers == 2 else None
        budget = f", regs={registers[number]}" if registers else ""
        groups = ", groups=2) as g:" if name == "mma" and self.s.consumers == 2 else "):"
        return f'with role("{name}", waves={waves}{budget}{groups}'

    def _load(self) -> list[str]:
        copies = [
            f'copy_async(st.As, A.tile({self.bm}, {self.bk})[bm, kt], via="tma")',
            f'copy_async(st.Bs, B.tile({self.bn}, {self.bk})[bn, kt], via="tma")',
        ]
        loop = [f"for kt in range(cdiv(K, {self.bk})):", *_indent(["with r.fill() as st:", *_indent(copies)])]
        return [self._role("load", 4, 0), *_indent(loop)]

    def _multiply(self) -> list[str]:
        s, (a, b) = self.s, ("st.Bs", "st.As") if self.s.swap else ("st.As", "st.Bs")
        a = f"{a}.rows(g * {s.rows}, {s.rows})" if s.consumers == 2 else a
        step = [
            f'a, b = {a}.operand("a", acc, ks), {b}.operand("b", acc, ks)',
            "assert_match(a.k, b.k)",
            "acc += mma(a, b)",
        ]
        use = [
            f"with r.use({'keep=1' if s.keep else ''}) as st:",
            *_indent([f"for ks in unroll({self.bk // STEP}):", *_indent(step)]),
        ]
        body = [
            f'acc = mma_acc("m64n{s.columns}k16", {s.rows}, {s.columns})',
            f"for kt in range(cdiv(K, {self.bk})):",
            *_indent(use),
            *(["mma_wait(0)"] if s.keep else []),
            *self._epilogue(),
        ]
        return [self._role("mma", 4 * s.consumers, 1), *_indent(body)]

    def _epilogue(self) -> list[str]:
        """Chunk q of the accumulator's columns to shared memory, then to C: across, or swapped, down."""
        s = self.s
        chunks, steps = s.columns // s.chunk, s.chunk // STEP
        slot = {(2, 2): "2 * g + q % 2", (2, 1): "g", (1, 2): "q % 2", (1, 1): "0"}[s.consumers, s.buffers]
        along, across = ("bn", "bm") if s.swap else ("bm", "bn")
        mine = f"2 * {along} + g" if s.consumers == 2 else along
        part = f"{chunks} * {across} + q" if chunks > 1 else across
        if s.swap:
            view, tile = f"out[{slot}].rows({STEP} * j, {STEP}).T", f"C.tile({s.chunk}, {s.rows})[{part}, {mine}]"
        else:
            view, tile = f"out[{slot}].cols({STEP} * j, {STEP})", f"C.tile({s.rows}, {s.chunk})[{mine}, {part}]"
        step = f"{steps} * q + j" if chunks > 1 else "j"
        leave = [
            f"wait({s.buffers - 1})",
            "barrier(waves=4)",
            f"for j in unroll({steps}):",
            *_indent([f'store({view}, y.as_operand("a", acc, {step}))']),
            'fence("async")',
            "barrier(waves=4)",
            "with elect():",
            *_indent([f'copy_async({tile}, out[{slot}], via="tma")', "commit()"]),
        ]
        convert = f"y = acc.to({self.dtype})"
        return [convert, f"for q in unroll({chunks}):", *_indent(leave)] if chunks > 1 else [convert, *leave]


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
