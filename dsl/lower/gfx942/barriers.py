"""Barriers, waits and scheduling policies.

Without copies in flight a barrier is fenced: LLVM waits for the LDS accesses before it and moves none across. The fence
would also wait for every copy, so kernels with copies in flight say exactly what to wait for, behind scheduling
barriers that nothing crosses.
"""

from __future__ import annotations

from argus.dsl.ir import Commit, Priority, SchedBarrier, SchedGroup, Wait
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.context import Context, Fragment
from argus.dsl.lower.gfx942.interleave import Region, rates

# Bits of sched_barrier and sched_group_barrier masks: instruction kinds (LLVM, AMDGPU usage).
ALU, MFMA, VMEM, VMEM_READ, VMEM_WRITE, DS, DS_READ, DS_WRITE = 0x1, 0x8, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200
GROUP_MASKS = {
    "valu": 0x2,
    "salu": 0x4,
    "mfma": MFMA,
    "vmem": VMEM,
    "vmem_read": VMEM_READ,
    "vmem_write": VMEM_WRITE,
    "ds": DS,
    "ds_read": DS_READ,
    "ds_write": DS_WRITE,
    "trans": 0x400,
}
VMCNT_MAX, LGKMCNT_MAX, EXPCNT_MAX = 63, 15, 7


def waitcnt_bits(vmcnt: int = VMCNT_MAX, lgkmcnt: int = LGKMCNT_MAX) -> int:
    """Immediate of `s_waitcnt` on gfx9: vmcnt in bits 3:0 and 15:14, expcnt in 6:4, lgkmcnt in 11:8.

    Source: LLVM, SIInsertWaitcnts and AMDGPUBaseInfo (encodeWaitcnt).
    """
    vmcnt = min(vmcnt, VMCNT_MAX)
    return (vmcnt & 0xF) | EXPCNT_MAX << 4 | min(lgkmcnt, LGKMCNT_MAX) << 8 | (vmcnt >> 4) << 14


def barrier(ctx: Context) -> None:
    """`barrier()` of all waves."""
    ask_for_order(ctx)
    if not ctx.asynchronous:
        ctx.emit.call("argus_barrier")
        return
    close_region(ctx)
    _waitcnt(ctx, waitcnt_bits(lgkmcnt=0))
    ctx.emit.add(tir.evaluate(tir.intrinsic("void", "llvm.amdgcn.s.barrier")))
    close_region(ctx)


def wait(ctx: Context, node: Wait) -> None:
    """`wait(n)`: the counter that says so; nothing younger is held up."""
    vmcnt = ctx.vmcnt.get(id(node))
    if vmcnt is None:  # nothing can be pending here
        return
    ask_for_order(ctx)
    close_region(ctx)
    _waitcnt(ctx, waitcnt_bits(vmcnt=vmcnt))
    close_region(ctx)


def commit(ctx: Context, node: Commit) -> None:
    """`commit()`: the next copy begins a new group."""
    del node
    ctx.group_open = False


def open_group(ctx: Context) -> None:
    """Keep a new group's copies behind earlier vector memory instructions, whose number later waits count."""
    if not ctx.group_open and ctx.vmem_in_region:
        sched_barrier(ctx, ALU | DS)
    ctx.group_open = True
    ctx.vmem_in_region = True


def close_region(ctx: Context) -> None:
    sched_barrier(ctx, 0)
    ctx.vmem_in_region = False


def sched_barrier(ctx: Context, crossing: int) -> None:
    """`crossing`: the kinds of instructions that may move across."""
    ctx.emit.add(tir.evaluate(tir.intrinsic("void", "llvm.amdgcn.sched.barrier", tir.i32(crossing))))


def sched_group(ctx: Context, node: SchedGroup) -> None:
    """`sched_group(mfma=, ds_read=, ...)`: against MFMAs, how often the region's other instructions are wanted."""
    for kind, count in node.counts:
        if kind not in GROUP_MASKS:
            raise unsupported(node, f"unknown kind {kind!r} of instruction", f"one of {', '.join(GROUP_MASKS)}")
        if "mfma" not in dict(node.counts):
            _group(ctx, kind, count)
    ctx.region.rates.update(rates(node.counts))


def start_copies(ctx: Context) -> None:
    """Issue the copies that wait for the region's first MFMA."""
    for statement in ctx.region.delayed:
        ctx.emit.add(statement)
    ctx.region.delayed.clear()


def start_reads(ctx: Context, operand: Fragment | None = None, atom: int | None = None) -> None:
    """Emit reads that were put off: of one atom of an operand, of all its atoms, or of all operands."""
    for name in list(ctx.region.pending) if operand is None else [operand.name]:
        reads = ctx.region.pending.get(name, {})
        for key in list(reads) if atom is None else [atom]:
            for statement in reads.pop(key, []):
                ctx.emit.add(statement)
                ctx.region.record("ds_read")


def ask_for_order(ctx: Context) -> None:
    """End a region of the schedule: say in what order its instructions are wanted."""
    start_copies(ctx)
    start_reads(ctx)
    for kind, count in ctx.region.pipeline():
        _group(ctx, kind, count)
    ctx.region = Region()


def _group(ctx: Context, kind: str, count: int) -> None:
    mask, size, pipeline = tir.i32(GROUP_MASKS[kind]), tir.i32(count), tir.i32(0)
    ctx.emit.add(tir.evaluate(tir.intrinsic("void", "llvm.amdgcn.sched.group.barrier", mask, size, pipeline)))


def policy(ctx: Context, node: SchedBarrier | Priority) -> None:
    match node:
        case SchedBarrier():
            ask_for_order(ctx)
            close_region(ctx)
        case Priority(level=level):
            if ctx.region.mfmas:  # memory accesses do not cross it
                ask_for_order(ctx)
            ctx.emit.add(tir.evaluate(tir.intrinsic("void", "llvm.amdgcn.s.setprio", tir.i16(level))))


def _waitcnt(ctx: Context, bits: int) -> None:
    ctx.emit.add(tir.evaluate(tir.intrinsic("void", "llvm.amdgcn.s.waitcnt", tir.i32(bits))))
