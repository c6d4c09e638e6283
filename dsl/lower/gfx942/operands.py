"""Operands of matrix instructions, read from LDS."""

from __future__ import annotations

from math import gcd

from argus.dsl.ir import Operand, Ref
from argus.dsl.layout import Accumulator, OperandMap
from argus.dsl.lower.gfx942 import barriers, lds, tir
from argus.dsl.lower.gfx942.context import Context, Fragment, accumulator_atoms
from argus.dsl.lower.gfx942.errors import unsupported
from argus.dsl.lower.gfx942.facts import constant
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import is_shared
from argus.dsl.targets.atoms import ATOMS


def operand(ctx: Context, target: str, node: Operand) -> None:
    """`target = view.operand(side, acc, ks, pack=)` of a shared view (rows of the side) x (k).

    A lane reads the `k_lane * pack` consecutive k that it feeds to `pack` instructions at once.
    """
    if isinstance(node.src, Ref) and node.src.name in ctx.types.frags:
        raise unsupported(node, "operands of fragments are not lowered yet", "store the fragment to a shared buffer")
    if not is_shared(node.src, ctx.types):
        raise unsupported(node, "operands are read from shared memory only", "copy the tile to a shared buffer first")
    step = constant(ctx.indices.resolve(node.ks))
    if step is None:
        raise unsupported(node, "the k-step must be a constant", "use unroll for the loop over k-steps")
    fragment = ctx.fragment(target, node)
    view, source, rows = lds.shared(ctx, node.src)
    kind = fragment.type.map
    assert isinstance(kind, OperandMap)
    read = _Reader(ctx, fragment, kind, source, rows, step)
    barriers.start_reads(ctx, fragment)
    reads = read.gathered(view.starts) if view.transposed else read.vectors(view.starts, f"{view.name}_{node.side}")
    ctx.region.pending[fragment.registers] = reads


class _Reader:
    def __init__(
        self, ctx: Context, fragment: Fragment, kind: OperandMap, source: Tir, rows: lds.Rows, step: int
    ) -> None:
        self.ctx, self.fragment, self.source, self.rows = ctx, fragment, source, rows
        self.side, self.pack = kind.side, kind.pack
        self.acc: Accumulator = kind.acc
        self.atom = ATOMS[kind.acc.atom]
        self.atom_rows = self.atom.m if kind.side == "a" else self.atom.n
        self.atoms = accumulator_atoms(kind.acc)[0 if kind.side == "a" else 1]
        self.lane_k = self.atom.k_lane * kind.pack
        self.first_k = step * self.atom.k * kind.pack

    def row(self) -> Tir:
        """Of the lane in the wave's first atom."""
        grid_row, grid_column = wave_place(self.ctx, self.acc)
        wave = grid_row if self.side == "a" else grid_column
        return wave * (self.atoms * self.atom_rows) + self.ctx.lane % self.atom_rows

    def k_group(self) -> Tir:
        return self.ctx.lane // self.atom_rows

    def vectors(self, starts: tuple[int, int], name: str) -> dict[int, list[Tir]]:
        """The reads of each atom, where rows are contiguous along k."""
        reads: dict[int, list[Tir]] = {}
        vector = gcd(self.rows.vector(self.lane_k), starts[1] or self.lane_k)
        pieces = self.lane_k // vector
        for p in range(self.atoms):
            for piece in range(pieces):
                at = lds.cell(
                    self.ctx,
                    self.rows,
                    vector,
                    (self.row(), p * self.atom_rows + starts[0]),
                    (self.k_group() * pieces, (self.first_k + starts[1]) // vector + piece),
                    ("operand", self.side, self.acc, self.pack),
                    name,
                )
                value = tir.load(self.source, at.index(vector), vector)
                slot = p * self.lane_k + piece * vector
                reads.setdefault(p, []).append(tir.store(self.fragment.registers, value, slot, vector))
        return reads

    def gathered(self, starts: tuple[int, int]) -> dict[int, list[Tir]]:
        """The same where rows are contiguous across the side: each k comes from its own row, element by element."""
        reads: dict[int, list[Tir]] = {}
        for p in range(self.atoms):
            for slot in range(self.lane_k):
                at = lds.cell(
                    self.ctx,
                    self.rows,
                    1,
                    (self.k_group() * self.lane_k, self.first_k + slot + starts[0]),
                    (self.row(), p * self.atom_rows + starts[1]),
                    ("gathered", self.side, self.acc, self.pack),
                    "lds_at",
                )
                value = tir.load(self.source, at.index(1))
                reads.setdefault(p, []).append(tir.store(self.fragment.registers, value, p * self.lane_k + slot))
        return reads


def wave_place(ctx: Context, acc: Accumulator) -> tuple[Tir, Tir]:
    """The wave's row and column in the accumulator's grid of waves; waves are numbered row-major."""
    columns = acc.grid[1]
    return ctx.wave // columns, ctx.wave % columns
