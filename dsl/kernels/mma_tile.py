"""What products on both targets have in common: how a block tile is cut for an atom, and how its stages lie."""

from __future__ import annotations

from typing import cast

from argus.dsl.kernels.library_schedule import BYTES, swizzle_problems
from argus.dsl.kernels.task import Target
from argus.dsl.targets.atoms import ATOMS, Atom
from argus.dsl.targets.limits import LIMITS

HARDWARE_SWIZZLES = {32: "b32", 64: "b64", 128: "b128"}  # by the bytes of a row


def atom_of(target: Target, name: str, dtype: str) -> Atom | None:
    """The atom, if the target has it for that type."""
    atom = ATOMS.get(name)
    if atom is None or atom.target != target or atom.blocks > 1 or dtype not in cast("tuple[str, ...]", atom.dtypes):
        return None
    return atom


def tile_problems(
    target: Target, atom: str, dtype: str, *, tile: tuple[int, int, int], grid: tuple[int, int], swizzle: int
) -> list[str]:
    """Why a tile of (rows, columns, k) does not split into a grid of waves, or of warpgroups for wgmma."""
    found_atom = atom_of(target, atom, dtype)
    if found_atom is None:
        return [f'"{atom}" is no matrix instruction of {target} on {dtype}']
    (bm, bn, bk), (gm, gn), most = tile, grid, LIMITS[target].waves
    if gm < 1 or gn < 1 or gm * gn * found_atom.waves > most:
        return [f"a block has 1 to {most} waves: {gm}x{gn} units of {found_atom.waves} are not"]
    found: list[str] = []
    for extent, parts, edge, what in ((bm, gm, found_atom.m, "rows"), (bn, gn, found_atom.n, "columns")):
        if extent <= 0 or extent % (parts * edge):
            found.append(f"{extent} {what} do not split into {parts} parts of {edge}")
    if bk <= 0 or bk % found_atom.k:
        found.append(f"a depth of {bk} is no multiple of {found_atom.k}")
    if target == "sm_90a" and bk * BYTES[dtype] not in HARDWARE_SWIZZLES:
        found.append(f"rows of {bk * BYTES[dtype]} bytes have no swizzle of the hardware: 32, 64 or 128 have one")
    if target == "gfx942":
        for rows in (bm, bn):
            found += swizzle_problems(swizzle, rows, bk * BYTES[dtype])
    return found


def stage_problems(target: Target, stages: int, size_bytes: int) -> list[str]:
    """Why so many stages of so many bytes do not fit."""
    limit = LIMITS[target].shared_bytes
    found = [] if 1 <= stages <= 4 else [f"1 to 4 stages, not {stages}"]
    used = stages * size_bytes
    return found if used <= limit else [*found, f"{used:,} bytes of shared memory, at most {limit:,}"]


def stage_buffer(target: Target, dtype: str, rows: int, depth: int, chunks: int) -> str:
    """A stage of a ring: `chunks` that `xor` permutes on gfx942, the swizzle of its row length on sm_90a."""
    swizzle = f", swizzle=xor({chunks})" if chunks else ""
    if target == "sm_90a":
        swizzle = f", swizzle={HARDWARE_SWIZZLES[depth * BYTES[dtype]]}"
    return f"shared({dtype}, {rows}, {depth}{swizzle})"
