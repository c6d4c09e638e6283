"""Which elements of a fragment each wave of a team holds on sm_90a.

Source:
    h200.md section 3: of each 64 rows of a wgmma accumulator or operand A a warpgroup's wave w holds rows 16w to
    16w + 15; registers 8q to 8q + 7 of an accumulator are 16-bit operand A of k-step q. With mma.sync a wave holds the
    rows, and the columns, of its place in the grid.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from argus.dsl.ir.types import DTYPE_BYTES, FragType
from argus.dsl.layout import Accumulator, FragMap, Linear, OperandMap
from argus.dsl.tags.domain import Bools
from argus.dsl.tags.roles.teams import WARP
from argus.dsl.tags.views import Outside
from argus.dsl.targets.atoms import ATOMS

WARPGROUP = 4  # waves
ATOM_ROWS = 64
CP_BYTES = 16  # that a lane copies at once


def held(frag: FragType, waves: int) -> tuple[Bools, ...]:
    """For each wave of the team, which elements it holds, row-major.

    Raises:
        Outside: If the map is outside the slice.
    """
    found = _held(frag.map, frag.shape, waves)
    if found is None:
        raise Outside(f"a fragment in {type(frag.map).__name__} registers in memory")
    return found


def copied(shape: tuple[int, ...], dtype_bytes: int, waves: int) -> tuple[Bools, ...]:
    """For each wave, which elements it copies by cp.async: 16 bytes a lane, row-major."""
    return _dealt(shape, CP_BYTES // dtype_bytes, waves)


@cache
def _held(hardware: FragMap, shape: tuple[int, ...], waves: int) -> tuple[Bools, ...] | None:
    match hardware:
        case Linear(vector):
            return _dealt(shape, vector, waves)
        case Accumulator() | OperandMap():
            acc = hardware if isinstance(hardware, Accumulator) else hardware.acc
            if ATOMS[acc.atom].warpgroup:
                return _of_warpgroups(hardware, acc, shape, waves)
            return _of_grid(hardware, acc, shape, waves)
        case _:
            return None


@cache
def _dealt(shape: tuple[int, ...], vector: int, waves: int) -> tuple[Bools, ...]:
    chunk = np.arange(int(np.prod(shape, dtype=np.int64))) // vector
    owner = chunk % (waves * WARP) // WARP
    return tuple(owner == w for w in range(waves))


def _of_warpgroups(hardware: FragMap, acc: Accumulator, shape: tuple[int, ...], waves: int) -> tuple[Bools, ...] | None:
    down, across = acc.grid
    if down * across * WARPGROUP != waves or (isinstance(hardware, OperandMap) and hardware.side != "a"):
        return None
    row, column = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
    own = acc.m // down
    out = list[Bools]()
    for wave in range(waves):
        i, j = divmod(wave // WARPGROUP, across)
        mine = (row // own == i) & (row % own % ATOM_ROWS // 16 == wave % WARPGROUP)
        if isinstance(hardware, Accumulator):
            mine = mine & (column // (acc.n // across) == j)
        out.append(np.broadcast_to(mine, shape).ravel())
    return tuple(out)


def _of_grid(hardware: FragMap, acc: Accumulator, shape: tuple[int, ...], waves: int) -> tuple[Bools, ...] | None:
    down, across = acc.grid
    if down * across != waves:
        return None
    row, column = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
    out = list[Bools]()
    for wave in range(waves):
        i, j = divmod(wave, across)
        if isinstance(hardware, Accumulator):
            mine = (row // (acc.m // down) == i) & (column // (acc.n // across) == j)
        else:
            assert isinstance(hardware, OperandMap)
            mine = row // (acc.m // down) == i if hardware.side == "a" else row // (acc.n // across) == j
        out.append(np.broadcast_to(mine, shape).ravel())
    return tuple(out)


def operand_columns(frag: FragType, step: int, depth: int) -> slice | None:
    """The columns of an accumulator-shaped fragment whose registers are operand A of k-step `step`."""
    if not isinstance(frag.map, Accumulator) or DTYPE_BYTES[frag.dtype] != 2 or depth != 16:
        return None
    columns = slice(step * depth, (step + 1) * depth)
    return columns if step >= 0 and columns.stop <= frag.shape[1] else None
