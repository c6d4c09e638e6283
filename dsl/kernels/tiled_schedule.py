"""Schedules of the forms of GEMM that share tiles and a loop over k, one class each. `tiled_gemm` prints them."""

from __future__ import annotations

from typing import ClassVar, Literal

from argus.dsl.kernels.library_schedule import BYTES, LibrarySchedule
from argus.dsl.kernels.mma_tile import stage_problems, tile_problems
from argus.dsl.kernels.task import Target
from argus.dsl.targets.atoms import ATOMS


class TiledSchedule(LibrarySchedule):
    """C = A B^T. The dtype chooses what is computed, the other fields how.

    Attributes:
        dtype: Of A and B; C is i32 for i8, else f32.
        tile: Block rows, block columns, k of a stage; elements.
        grid: Waves along block rows and block columns; warpgroups for wgmma.
        atom: The matrix instruction.
        stages: Of the ring; 1 passes tiles through registers and has no ring.
        swizzle: Chunks of 16 bytes that `xor` permutes in a shared row on gfx942; 0: none.
        order: Remap of block indices: `rows`, `columns`, `xcd(8)`, `group_m(G)`.
    """

    dtype: Literal["bf16", "f16", "f8", "i8", "f32"] = "bf16"
    target: Target = "gfx942"
    tile: tuple[int, int, int] = (64, 64, 32)
    grid: tuple[int, int] = (2, 2)
    atom: str = "32x32x8"
    stages: int = 2
    swizzle: Literal[0, 2, 4, 8] = 4
    order: str = "rows"

    form: ClassVar[str] = "plain"

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        bm, bn, bk = self.tile
        return tile_problems(
            self.target, self.atom, self.dtype, tile=self.tile, grid=self.grid, swizzle=self.swizzle
        ) + stage_problems(self.target, self.stages, (bm + bn) * bk * BYTES[self.dtype])

    @property
    def waves(self) -> int:
        return self.grid[0] * self.grid[1] * ATOMS[self.atom].waves

    @property
    def steps(self) -> int:
        """k-steps of the atom in a stage."""
        return self.tile[2] // ATOMS[self.atom].k

    @property
    def out(self) -> str:
        return "i32" if self.dtype == "i8" else "f32"

    @property
    def order_text(self) -> str:
        return "" if self.order == "rows" else f", order={self.order}"


class EpilogueSchedule(TiledSchedule):
    """C = f(A B^T), where f is applied while the product is in registers. `epilogue` chooses what is computed.

    Attributes:
        epilogue: `bias_relu`: relu(A B^T + bias). `scaled`: a factor for each row and each column, as 8-bit types
            need. `residual`: A B^T + R.
    """

    epilogue: Literal["bias_relu", "scaled", "residual"] = "bias_relu"

    form: ClassVar[str] = "epilogue"


class BatchedSchedule(TiledSchedule):
    """C[z] = A[z] B[z]^T for each z of a batch."""

    form: ClassVar[str] = "batched"


class GroupedSchedule(TiledSchedule):
    """C[m] = A[m] B[group of m]^T; the rows of a block are of one group, as sorting with padding leaves them."""

    form: ClassVar[str] = "grouped"


class SplitSchedule(TiledSchedule):
    """Blocks share the k of one tile and add up what they have.

    Attributes:
        parts: How many blocks share a tile.
    """

    parts: int = 3

    form: ClassVar[str] = "split"


class PartialsSchedule(TiledSchedule):
    """W[p] = what the p-th part of k adds to A B^T; `gemm_reduce` adds the parts. `part` chooses what is computed.

    Attributes:
        part: k of a part.
    """

    part: int = 128

    form: ClassVar[str] = "partials"

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        bad = self.part < 1 or self.part % self.tile[2]
        return super().problems() + ([f"a part of {self.part} is no multiple of {self.tile[2]}"] if bad else [])


class StreamSchedule(TiledSchedule):
    """Every block has the same share of all steps of all tiles, and adds up what it has of each tile.

    Attributes:
        blocks: How many there are.
    """

    stages: int = 1
    blocks: int = 5

    form: ClassVar[str] = "stream"

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        ring = ["shares start anywhere in a tile: one stage"] if self.stages != 1 else []
        return super().problems() + ring + (["at least one block"] if self.blocks < 1 else [])


class PersistentSchedule(TiledSchedule):
    """As many blocks as the machine holds walk over the tiles. The last use of a tile's ring is peeled."""

    order: str = "xcd(8)"

    form: ClassVar[str] = "persistent"

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        return super().problems() + (["one or two stages"] if self.stages > 2 else [])
