"""Schedules of the sm_90a GEMM family: what can be told to it, and which combinations it can print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

STEP = 16  # k of one MMA, and columns of one stmatrix
BYTES = 2
MBAR_BYTES = 8
SHARED_BYTES = 226 << 10  # 227 KiB a block, 1 KiB of which aligns the buffers
WGMMA_DEPTH = 64  # k of a stage that wgmma reads: a row of the 128-byte swizzle


class HopperGemmSchedule(BaseModel):
    """One point of the sm_90a GEMM family's space. Equal schedules print equal kernels.

    Attributes:
        engine: `wgmma`: one warpgroup loads by TMA, the others multiply from shared memory. `mma`: every warp loads,
            and multiplies from registers by mma.sync, which other NVIDIA GPUs have as well.
        tile: Block rows, block columns, k-depth of a stage; elements.
        stages: Of the ring, or of each ring.
        group_m: Rows of tiles that blocks walk together, for L2; 1 walks row by row of tiles.
        leave: Results go out by `tma` stores from shared memory, or `direct`ly from registers, two elements a time,
            at any pitch.
        consumers: wgmma: Warpgroups that multiply; each takes as many of the block's rows, 64 or 128.
        consumers_take: wgmma: Two consumers multiply the `rows` of one tile together, from one ring. Or they multiply
            in turn, each a tile of its own from a ring of its own, and one stores while the other multiplies; then
            `tile` is what a pair of `tiles` covers.
        keep: wgmma: Batches of MMAs that stay in flight when a stage is freed.
        registers: wgmma: Of a thread of the loading and of the multiplying warpgroups; None leaves all an equal share,
            and one consumer needs no budget.
        persistent: wgmma: Blocks walk tiles, one block a multiprocessor; else there is a block for each tile.
        cluster: wgmma: Blocks, one below the other, that load their rows of B together.
        out_buffers: wgmma: Epilogue buffers of each consumer, at most.
        swap: wgmma: Rows of B are the rows of the MMA, which come in 64s; then rows of A may be as few as 16.
        grid: mma: Warps along block rows and block columns.
        staging: mma: `cp` copies to shared memory in the background, `register` loads and stores, at any pitch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    engine: Literal["wgmma", "mma"] = "wgmma"
    tile: tuple[int, int, int] = (128, 128, 64)
    stages: int = 4
    group_m: int = 8
    leave: Literal["tma", "direct"] = "tma"
    consumers: Literal[1, 2] = 2
    consumers_take: Literal["rows", "tiles"] = "rows"
    keep: Literal[0, 1] = 1
    registers: tuple[int, int] | None = (40, 232)
    persistent: bool = True
    out_buffers: Literal[1, 2] = 2
    cluster: Literal[1, 2] = 1
    swap: bool = False
    grid: tuple[int, int] = (2, 4)
    staging: Literal["cp", "register"] = "cp"

    @model_validator(mode="after")
    def _legal(self) -> Self:
        for problem in self.problems():
            raise ValueError(problem)
        return self

    @property
    def name(self) -> str:
        """Short and unambiguous, for folders and tables."""
        parts = ["x".join(map(str, self.tile)), f"s{self.stages}", f"g{self.group_m}"]
        if self.engine == "mma":
            parts = ["mma", *parts, "w" + "x".join(map(str, self.grid))]
            return "-".join([*parts, *([] if self.staging == "cp" else [self.staging])])
        parts += ["swap"] if self.swap else []
        parts += ["direct"] if self.leave == "direct" else []
        parts += [] if self.consumers == 2 else ["c1"]
        parts += ["turns"] if self.consumers_take == "tiles" else []
        parts += [] if self.keep == 1 else ["keep0"]
        if self.consumers == 2 and self.registers != (40, 232):
            parts += ["r{}-{}".format(*self.registers) if self.registers else "even"]
        parts += [] if self.persistent else ["once"]
        parts += [] if self.cluster == 1 else [f"x{self.cluster}"]
        parts += ["out1"] if self.out_buffers < 2 and self._alternates else []
        return "-".join(parts)

    @property
    def waves(self) -> int:
        """Warps of a block."""
        return self.grid[0] * self.grid[1] if self.engine == "mma" else 4 + 4 * self.consumers

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
        ring = BYTES * self.stages * (bm + bn) * bk
        if self.engine == "mma":
            return ring
        rings = 1
        if self.consumers_take == "tiles":
            rings, ring = 2, 2 * BYTES * self.stages * (self.rows + self.columns) * bk
        out = self.buffers * self.consumers * self.rows * self.chunk if self.leave == "tma" else 0
        return ring + 2 * MBAR_BYTES * rings * self.stages + BYTES * out

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        found = list(self._mma_problems() if self.engine == "mma" else self._wgmma_problems())
        if not found and self.shared_bytes > SHARED_BYTES:
            found.append(f"{self.shared_bytes:,} bytes of shared memory, at most {SHARED_BYTES:,}")
        return found

    def _mma_problems(self) -> Iterator[str]:
        (bm, bn, bk), (gm, gn) = self.tile, self.grid
        if gm < 1 or gn < 1 or self.waves not in (1, 2, 4, 8, 16):
            yield f"1, 2, 4, 8 or 16 warps, not {gm}x{gn}"
            return
        if bm < 1 or bm % (16 * gm) or bn < 1 or bn % (16 * gn):
            yield f"{bm}x{bn} does not split into {gm}x{gn} warps of 16 rows and 16 columns"
            return
        if bk not in (32, 64):
            yield f"a stage is 32 or 64 deep, a row of a hardware swizzle; not {bk}"
        if bm * bn // (32 * self.waves) > 128:
            yield f"{bm * bn // (32 * self.waves)} accumulators a lane, at most 128"
        if not 2 <= self.stages <= 8:
            yield f"2 to 8 stages, not {self.stages}"
        if self.group_m < 1:
            yield "at least one row of tiles in a group"
        idle = ("consumers", "consumers_take", "keep", "registers", "persistent", "out_buffers", "cluster", "swap")
        if any(getattr(self, name) != type(self).model_fields[name].default for name in idle):
            yield f"{', '.join(idle)} are of the engine wgmma"
        if self.leave != "direct":
            yield 'mma.sync leaves directly: leave="direct"'

    def _wgmma_problems(self) -> Iterator[str]:
        rows, columns, bk = self.rows, self.columns, self.tile[2]
        if rows not in (64, 128) or self.tile[self.swap] != rows * self.consumers:
            yield f"a consumer takes 64 or 128 rows: not {self.tile[self.swap]}"
        if bk != WGMMA_DEPTH:
            yield f"a stage is {WGMMA_DEPTH} deep, a row of the 128-byte swizzle; not {bk}"
        if self.swap and rows != 64:
            yield f"a consumer takes 64 rows of B, not {rows}"
        if self.swap and columns not in (16, 32, 48, 64, 128, 192, 256):
            yield f"16 to 64 rows of A, or 128, 192, 256; not {columns}"
        if not self.swap and not (0 < columns <= 256 and columns % 32 == 0):
            yield f"columns are a multiple of 32 up to 256, not {columns}"
        if rows * columns > 64 * 256:
            yield f"an accumulator of {rows}x{columns} does not fit a consumer's registers"
        if not 2 <= self.stages <= 24:
            yield f"2 to 24 stages, not {self.stages}"
        if self.stages <= self.keep:
            yield "a stage is freed before it is filled again"
        if self.group_m < 1:
            yield "at least one row of tiles in a group"
        loads, multiplies = self.registers or (24, 24)
        if not all(24 <= r <= 240 and r % 8 == 0 for r in (loads, multiplies)):
            yield "registers: multiples of 8 from 24 to 240"
        if 128 * (loads + 2 * multiplies) > 65536:
            yield f"{loads} and twice {multiplies} registers exceed 512 a lane"
        if self.cluster > 1 and (self.swap or not self.persistent or self.group_m % 2 or self.tile[1] % 16):
            yield "a cluster walks groups of an even number of rows of tiles, unswapped, and splits 16 rows of B"
        if self.swap and self.leave == "direct":
            yield "swapped results leave by TMA"
        if self.consumers_take == "tiles" and (self.consumers, self.persistent, self.cluster) != (2, True, 1):
            yield "consumers that take tiles are two, on a persistent grid, without a cluster"
        if self.grid != (2, 4) or self.staging != "cp":
            yield "grid and staging are of the engine mma"
