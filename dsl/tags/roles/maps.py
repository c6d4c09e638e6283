"""Which wave of a team holds which element of a fragment on sm_90a.

Source:
    h200.md section 3: row of an accumulator, and of 16-bit operand A, = 16 * (thread // 32) + ... in each 64 rows of a
    warpgroup; registers 8q to 8q + 7 of an accumulator are operand A of k-step q.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from argus.dsl.ir.types import FragType
from argus.dsl.layout import Accumulator, FragMap, Linear, OperandMap
from argus.dsl.tags.domain import Ints
from argus.dsl.tags.roles.teams import WARP
from argus.dsl.tags.views import Outside

WARPGROUP = 4  # waves
ATOM_ROWS = 64


def holders(frag: FragType, waves: int) -> Ints:
    """For each element, row-major, the wave of the team that holds it.

    Raises:
        Outside: If several do, or the map is outside the slice.
    """
    found = _holders(frag.map, frag.shape, waves)
    if found is None:
        raise Outside(f"a fragment in {type(frag.map).__name__} registers in memory")
    return found


@cache
def _holders(hardware: FragMap, shape: tuple[int, ...], waves: int) -> Ints | None:
    match hardware:
        case Linear(vector):
            chunk = np.arange(int(np.prod(shape, dtype=np.int64))) // vector
            return chunk % (waves * WARP) // WARP
        case Accumulator() | OperandMap(side="a", pack=1):
            acc = hardware if isinstance(hardware, Accumulator) else hardware.acc
            down, across = acc.grid
            if down * across * WARPGROUP != waves or (across > 1 and isinstance(hardware, OperandMap)):
                return None
            row, column = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
            own = acc.m // down
            group = row // own * across + column // (acc.n // across)
            return (group * WARPGROUP + row % own % ATOM_ROWS // 16).ravel()
        case _:
            return None


def operand_columns(frag: FragType, step: int, depth: int, dtype_bytes: int) -> slice | None:
    """The columns of an accumulator-shaped fragment whose registers are operand A of k-step `step`."""
    if not isinstance(frag.map, Accumulator) or dtype_bytes != 2 or depth != 16:
        return None
    columns = slice(step * depth, (step + 1) * depth)
    return columns if step >= 0 and columns.stop <= frag.shape[1] else None
