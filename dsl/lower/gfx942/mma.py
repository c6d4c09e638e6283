"""Accumulators and matrix instructions."""

from __future__ import annotations

from collections.abc import Iterator

from argus.dsl.ir import Frag, MmaAcc, MmaInto, Ref
from argus.dsl.layout import OperandMap
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import barriers, tir
from argus.dsl.lower.gfx942.context import Context, Fragment, accumulator_atoms
from argus.dsl.targets.atoms import ATOMS

# By atom and operand type; bf16 comes as 16-bit integers.
INTRINSICS = {
    ("32x32x8", "f16"): "llvm.amdgcn.mfma.f32.32x32x8f16",
    ("16x16x16", "f16"): "llvm.amdgcn.mfma.f32.16x16x16f16",
    ("32x32x8", "bf16"): "llvm.amdgcn.mfma.f32.32x32x8bf16.1k",
    ("16x16x16", "bf16"): "llvm.amdgcn.mfma.f32.16x16x16bf16.1k",
}

CLK = {"32x32x8": 32, "16x16x16": 16}  # issue to issue on one SIMD (MI300X page, section 5)


def accumulator(ctx: Context, fragment: Fragment, node: MmaAcc) -> None:
    """`x = mma_acc(...)`: zeros."""
    lanes = ATOMS[node.atom].d_regs
    for first in range(0, fragment.slots, lanes):
        ctx.emit.add(fragment.store(tir.broadcast(tir.f32(0.0), lanes), first, lanes))


def mma_into(ctx: Context, node: MmaInto) -> None:
    """`acc += mma(a, b)`: every atom of the wave once for each k-step of the pack, so that neighbours never depend."""
    acc, a, b = ctx.fragment(node.acc, node), _operand(ctx, node, node.a), _operand(ctx, node, node.b)
    kind, other = a.type.map, b.type.map
    assert isinstance(kind, OperandMap)
    assert isinstance(other, OperandMap)
    key = (kind.acc.atom, a.type.dtype)
    if key not in INTRINSICS:
        raise unsupported(node, f"the {kind.acc.atom} matrix instruction on {a.type.dtype} is not lowered yet")
    if kind.side != "a" or other.side != "b" or kind.pack != other.pack:
        raise unsupported(node, 'mma takes an "a" and a "b" operand of the same pack')
    atom = ATOMS[kind.acc.atom]
    rows, columns = accumulator_atoms(kind.acc)
    lane_k, depth = atom.k_lane * kind.pack, atom.k_lane
    barriers.start_copies(ctx)
    zero = tir.i32(0)
    for pairs in growing(rows, columns):
        for half in range(kind.pack):
            for p, q in pairs:
                barriers.start_reads(ctx, a, p)
                barriers.start_reads(ctx, b, q)
                x = a.load(p * lane_k + half * depth, depth)
                y = b.load(q * lane_k + half * depth, depth)
                at = (p * columns + q) * atom.d_regs
                old = acc.load(at, atom.d_regs)
                made = tir.pure_intrinsic(
                    tir.vector("float32", atom.d_regs), INTRINSICS[key], x, y, old, zero, zero, zero
                )
                ctx.emit.add(acc.store(made, at, atom.d_regs))
                ctx.region.mfma_clk = CLK[kind.acc.atom]
                ctx.region.record("mfma")


def growing(rows: int, columns: int) -> Iterator[list[tuple[int, int]]]:
    """Pairs of atoms, a row or a column of them at a time, so that a few operands keep many instructions busy."""
    i = j = 0
    while i < rows or j < columns:
        if i < rows and (i <= j or j == columns):
            i += 1
            pairs = [(i - 1, q) for q in range(j)]
        else:
            j += 1
            pairs = [(p, j - 1) for p in range(i)]
        if pairs:
            yield pairs


def _operand(ctx: Context, node: MmaInto, frag: Frag) -> Fragment:
    if not isinstance(frag, Ref) or not isinstance(ctx.types.frags[frag.name].map, OperandMap):
        raise unsupported(node, "mma takes operands of shared memory")
    return ctx.fragment(frag.name, node)
