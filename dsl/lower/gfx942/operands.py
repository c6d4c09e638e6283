"""Operands of matrix instructions, read from LDS or straight from a tensor."""

from __future__ import annotations

from argus.dsl.ir import Operand, Ref
from argus.dsl.layout import Accumulator, Const, OperandMap
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import constant
from argus.dsl.lower.gfx942 import barriers, lds, tir
from argus.dsl.lower.gfx942 import global_memory as memory
from argus.dsl.lower.gfx942.context import REGISTER_DTYPES, Context, Fragment, accumulator_atoms
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import SharedView, is_shared
from argus.dsl.targets.atoms import ATOMS


def operand(ctx: Context, fragment: Fragment, node: Operand) -> None:
    """`x = view.operand(side, acc, ks, pack=)` of a view (rows of the side) x (k).

    A lane reads the `k_lane * pack` consecutive k that it feeds to `pack` instructions at once.
    """
    if isinstance(node.src, Ref) and node.src.name in ctx.types.frags:
        raise unsupported(node, "operands of fragments are not lowered yet", "store the fragment to a shared buffer")
    barriers.start_reads(ctx, fragment)
    reader = _Reader(ctx, fragment, node)
    if not is_shared(node.src, ctx.types):
        reader.from_global()
        return
    view, source, rows = lds.shared(ctx, node.src)
    name = f"{view.name}_{node.side}"
    # Each atom's reads are emitted just before the first instruction that needs them.
    ctx.region.pending[fragment.name] = (
        reader.gathered(view, source, rows) if view.transposed else reader.vectors(view, source, rows, name)
    )


class _Reader:
    """One operand of one k-step.

    Attributes:
        atom_rows: Rows (or columns) of an atom along the operand's side; a wave has `atoms` of them.
        lane_k: Consecutive k of a lane.
        first_k: Of the step.
    """

    def __init__(self, ctx: Context, fragment: Fragment, node: Operand) -> None:
        kind = fragment.type.map
        assert isinstance(kind, OperandMap)
        step = constant(ctx.indices.resolve(node.ks))
        if step is None:
            raise unsupported(node, "the k-step must be a constant", "use unroll for the loop over k-steps")
        atom, on_rows = ATOMS[kind.acc.atom], kind.side == "a"
        self.ctx, self.fragment, self.node = ctx, fragment, node
        self.atom_rows = atom.m if on_rows else atom.n
        self.atoms = accumulator_atoms(kind.acc)[0 if on_rows else 1]
        self.lane_k = atom.k_lane * kind.pack
        self.first_k = step * atom.k * kind.pack
        self.key = (kind.side, kind.acc, kind.pack)
        # Of the lane in the wave's first atom.
        wave = wave_place(ctx, kind.acc)[0 if on_rows else 1]
        self.row = wave * (self.atoms * self.atom_rows) + ctx.lane % self.atom_rows
        self.k_group = ctx.lane // self.atom_rows

    def vectors(self, view: SharedView, source: Tir, rows: lds.Rows, name: str) -> dict[int, list[Tir]]:
        """The reads of each atom, where rows are contiguous along k."""
        vector = rows.vector(self.lane_k, view.starts[1])
        pieces = self.lane_k // vector
        reads: dict[int, list[Tir]] = {}
        for p in range(self.atoms):
            for piece in range(pieces):
                place = lds.Place(
                    self.row,
                    p * self.atom_rows + view.starts[0],
                    self.k_group * pieces,
                    (self.first_k + view.starts[1]) // vector + piece,
                )
                index = lds.index(self.ctx, rows, vector, place, ("operand", *self.key), name=name)
                slot = p * self.lane_k + piece * vector
                reads.setdefault(p, []).append(self._keep(tir.load(source, index, vector), slot, vector))
        return reads

    def gathered(self, view: SharedView, source: Tir, rows: lds.Rows) -> dict[int, list[Tir]]:
        """The same where rows are contiguous across the side: each k comes from its own row, element by element."""
        reads: dict[int, list[Tir]] = {}
        for p in range(self.atoms):
            for slot in range(self.lane_k):
                place = lds.Place(
                    self.k_group * self.lane_k,
                    self.first_k + slot + view.starts[0],
                    self.row,
                    p * self.atom_rows + view.starts[1],
                )
                index = lds.index(self.ctx, rows, 1, place, ("gathered", *self.key))
                reads.setdefault(p, []).append(self._keep(tir.load(source, index), p * self.lane_k + slot, 1))
        return reads

    def from_global(self) -> None:
        """Reads of a tensor, whole vectors along k."""
        ctx, t = self.ctx, memory.tile(self.ctx, self.node.src)
        size = self.lane_k * t.bytes
        if t.minor != 1 or size not in memory.BUFFER_TYPES:
            raise unsupported(self.node, f"an operand of a tensor is read {size} bytes at a time along k")
        memory.check_vector(ctx, t, self.lane_k)
        soff = memory.scalar_offset(ctx, t, Const(self.first_k))
        dtype = tir.vector(REGISTER_DTYPES[self.fragment.type.dtype], self.lane_k)
        for p in range(self.atoms):
            at = (self.row + p * self.atom_rows, self.k_group * self.lane_k)
            voff = memory.hoisted_offset(ctx, t, at, (memory.identity(ctx, t), self.key, p), None)
            voff = memory.masked(voff, memory.remaining_masks(ctx, t, (at[0], at[1] + self.first_k)))
            value = memory.read(ctx, t, (voff, soff), size, dtype)
            ctx.emit.add(self._keep(value, p * self.lane_k, self.lane_k))

    def _keep(self, value: Tir, slot: int, lanes: int) -> Tir:
        return self.fragment.store(value, slot, lanes)


def wave_place(ctx: Context, acc: Accumulator) -> tuple[Tir, Tir]:
    """The wave's row and column in the accumulator's grid of waves; waves are numbered row-major."""
    columns = acc.grid[1]
    return ctx.wave // columns, ctx.wave % columns
