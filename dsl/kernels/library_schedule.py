"""What the schedules of all library families share, and the pieces of text that several of them print."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

LANES = {"gfx942": 64, "sm_90a": 32}
BYTES = {"bf16": 2, "f16": 2, "f8": 1, "i8": 1, "f32": 4}
WIDE_BYTES = 16  # the widest access of a lane


def wide(dtype: str) -> int:
    """Elements in the widest access: rows of tensors are multiples of it, so that accesses of lanes are aligned."""
    return WIDE_BYTES // BYTES[dtype]


def multiple(size: int, of: int) -> int:
    """The largest multiple up to `size`, and at least one."""
    return max(of, size // of * of)


class LibrarySchedule(BaseModel):
    """A point of a family's space. Fields that change the contract choose what is computed, the others how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="after")
    def _legal(self) -> Self:
        for problem in self.problems():
            raise ValueError(problem)
        return self

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        return []


def indent(lines: list[str]) -> list[str]:
    """Lines of a body, four blanks a level."""
    return [f"    {line}" for line in lines]


def kernel_text(target: str, waves: int, contract: str, body: Iterable[str]) -> str:
    """A whole kernel: decorator, contract (`def` line, `where`, `assume`, `ensures`) and the lines of the body."""
    return f'@kernel(target="{target}", waves={waves})\n{contract}' + "".join(f"    {line}\n" for line in body)


def grid_text(rows: int, columns: int) -> str:
    """The argument of `mma_acc` for a grid of waves; a single wave needs none."""
    return "" if (rows, columns) == (1, 1) else f", grid=({rows}, {columns})"


def shared_rows(dtype: str, rows: int, columns: int, chunks: int = 0) -> str:
    """A shared buffer whose rows `chunks` chunks of 16 bytes permute; 0: none."""
    swizzle = f", swizzle=xor({chunks})" if chunks else ""
    return f"shared({dtype}, {rows}, {columns}{swizzle})"


def swizzle_problems(chunks: int, rows: int, row_bytes: int) -> list[str]:
    """Why `xor(chunks, …)` does not fit: it permutes 16-byte chunks of a row alike in every stage of a ring.

    The number of rows that keep one permutation follows from the 128 bytes of all banks.
    """
    if not chunks:
        return []
    if row_bytes % (16 * chunks):
        return [f"{chunks} chunks of 16 bytes do not tile a row of {row_bytes} bytes"]
    period = chunks * max(1, 128 // row_bytes)
    return [] if rows % period == 0 else [f"the swizzle repeats every {period} rows, a stage has {rows}"]
