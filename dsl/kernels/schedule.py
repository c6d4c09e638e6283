"""What a GEMM family can be told: the knobs that techniques turn."""

from __future__ import annotations

import re
from typing import Literal

from argus.dsl.kernels.library_schedule import LibrarySchedule
from argus.dsl.layout import Swizzle

ELEMENT_BYTES = 2  # f16 and bf16
_SWIZZLE = re.compile(r"xor\((\d+), unit=8, rows=(\d+)\)")


class GemmSchedule(LibrarySchedule):
    """One point of the gfx942 GEMM family's space. Equal schedules print equal kernels.

    Attributes:
        tile: Block rows, block columns, k-depth of one LDS stage; elements.
        grid: Waves along block rows and block columns.
        atom: The MFMA shape, `MxNxK`.
        pack: k-steps merged into one LDS read of an operand: 1 reads 8 bytes a lane, 2 reads 16.
        vector: Bytes a lane moves at a time from global memory and into LDS; direct-to-LDS always moves 4.
        staging: `register`: global → registers → LDS; `dma`: global → LDS directly.
        stages: LDS stages.
        prefetch: With one stage: load the next tile into registers while this one is computed.
        swizzle: `none` or `xor(CHUNKS, unit=8, rows=R)`: 16-byte chunk c of row r lies in place c ^ (r // R % CHUNKS).
        pad: Elements appended to each LDS row.
        wait: dma only. `drain` waits for every copy before a stage is used, `count` keeps younger groups in flight.
        order: Remap of block indices: `rows`, `xcd(8)`, `group_m(G)`.
        regs: Register class of the accumulators.
        interleave: MFMAs between two LDS reads that the scheduler is asked for; 0 leaves it to the compiler.
        priority: Raise the wave's priority around the MFMAs.
        swap: Feed B as operand "a": each lane then holds consecutive columns of C and stores 16 bytes.
    """

    tile: tuple[int, int, int] = (64, 64, 32)
    grid: tuple[int, int] = (2, 2)
    atom: Literal["32x32x8", "16x16x16"] = "32x32x8"
    pack: Literal[1, 2] = 1
    vector: Literal[4, 8, 16] = 8
    staging: Literal["register", "dma"] = "register"
    stages: int = 1
    prefetch: bool = False
    swizzle: str = "none"
    pad: int = 0
    wait: Literal["drain", "count"] = "drain"
    order: str = "rows"
    regs: Literal["vgpr", "agpr"] = "vgpr"
    interleave: int = 0
    priority: bool = False
    swap: bool = False

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        bm, bn, bk = self.tile
        gm, gn = self.grid
        am, an, ak = self.atom_shape
        found: list[str] = []

        def need(holds: bool, text: str) -> None:
            if not holds:
                found.append(text)

        need(gm > 0 and gn > 0 and self.waves <= 16, f"a block has 1 to 16 waves, not {gm}x{gn}")
        if found:
            return found
        need(bm > 0 and bm % (gm * am) == 0, f"{bm} rows do not split into {gm} waves of {am}-row atoms")
        need(bn > 0 and bn % (gn * an) == 0, f"{bn} columns do not split into {gn} waves of {an}-column atoms")
        need(bk > 0 and bk % (ak * self.pack) == 0, f"k-depth {bk} is no multiple of {ak * self.pack}")
        chunk = self.vector // ELEMENT_BYTES
        for name, rows in (("A", bm), ("B", bn)):
            moved = 64 * (2 if self.staging == "dma" else chunk)
            need(
                rows * bk % moved == 0, f"{name}'s {rows}x{bk} tile is no multiple of the {moved} elements a wave moves"
            )
        need(1 <= self.stages <= 4, f"1 to 4 stages, not {self.stages}")
        need(self.staging == "register" or self.stages >= 2, "direct-to-LDS needs at least 2 stages")
        need(self.staging == "register" or self.pad == 0, "direct-to-LDS writes whole rows: no pad")
        need(
            not self.prefetch or (self.stages == 1 and self.staging == "register"), "register prefetch is for one stage"
        )
        need(self.wait == "drain" or self.staging == "dma", "counted waits need direct-to-LDS")
        need(
            self.pad >= 0 and self.pad * ELEMENT_BYTES % self.lds_align == 0,
            f"a pad keeps {self.lds_align}-byte alignment",
        )
        if self.swizzle != "none":
            match = _SWIZZLE.fullmatch(self.swizzle)
            need(match is not None, f"unknown swizzle {self.swizzle!r}")
            if match:
                chunks, rows = int(match[1]), int(match[2])
                need(chunks in (2, 4, 8, 16) and rows >= 1, f"swizzle of {chunks} chunks on {rows} rows")
                need(bk % (chunks * 8) == 0, f"{chunks} chunks of 16 bytes do not tile a row of {bk * 2} bytes")
        need(re.fullmatch(r"rows|xcd\(\d+\)|group_m\(\d+\)", self.order) is not None, f"unknown order {self.order!r}")
        need(0 <= self.interleave <= 16, f"0 to 16 MFMAs a group, not {self.interleave}")
        return found

    @property
    def atom_shape(self) -> tuple[int, int, int]:
        m, n, k = (int(x) for x in self.atom.split("x"))
        return m, n, k

    @property
    def waves(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def threads(self) -> int:
        return 64 * self.waves

    @property
    def wave_tile(self) -> tuple[int, int]:
        return self.tile[0] // self.grid[0], self.tile[1] // self.grid[1]

    @property
    def lds_vector_bytes(self) -> int:
        """Bytes a lane reads at a time from LDS for an operand."""
        return 8 * self.pack

    @property
    def lds_align(self) -> int:
        return max(self.lds_vector_bytes, self.vector if self.staging == "register" else 4)

    @property
    def lds_swizzle(self) -> Swizzle | None:
        match = _SWIZZLE.fullmatch(self.swizzle)
        return Swizzle(chunks=int(match[1]), unit=8, rows=int(match[2])) if match else None

    @property
    def lds_row_bytes(self) -> int:
        return (self.tile[2] + self.pad) * ELEMENT_BYTES

    @property
    def lds_bytes(self) -> int:
        return self.stages * (self.tile[0] + self.tile[1]) * self.lds_row_bytes

    @property
    def accumulator_registers(self) -> int:
        """Accumulator registers a lane."""
        rows, columns = self.wave_tile
        return rows * columns // 64

    @property
    def mfma_per_tile(self) -> int:
        """MFMA instructions of one wave for one k-tile."""
        rows, columns = self.wave_tile
        am, an, ak = self.atom_shape
        return (rows // am) * (columns // an) * (self.tile[2] // ak)
