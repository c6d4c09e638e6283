"""Constructs that one target has and the other lacks."""

from __future__ import annotations

from collections.abc import Iterator

from argus.dsl.diagnostics import Code, Diagnostic
from argus.dsl.ir.nodes import (
    Arrive,
    AwaitPhase,
    Barrier,
    CopyAsync,
    Fence,
    Kernel,
    MBar,
    MmaAcc,
    MmaWait,
    Node,
    Operand,
    Priority,
    Role,
    SchedBarrier,
    SchedGroup,
    Shared,
    Shift,
    Store,
    Use,
)
from argus.dsl.ir.report import diagnostic


def target_problems(kernel: Kernel, nodes: tuple[Node, ...]) -> Iterator[Diagnostic]:
    """Constructs of the other target."""
    lacks = _gfx942_lacks if kernel.target == "gfx942" else _sm90a_lacks
    for node in nodes:
        found = lacks(node)
        if found is not None:
            what, hint = found
            yield diagnostic(Code.BAD_TARGET, node.span, f"{kernel.target} has no {what}", hint)


def _gfx942_lacks(node: Node) -> tuple[str, str] | None:
    match node:
        case CopyAsync(via=via) if via != "dma":
            return f'copies via "{via}"', 'write via="dma"'
        case Store(via="tma"):
            return "TMA stores", "delete `via=` and `stage=`"
        case Fence():
            return "async proxy", "delete the fence"
        case MBar() | Arrive() | AwaitPhase():
            return "barriers in memory", "use commit(), wait(n) and barrier()"
        case MmaWait():
            return "pending MMAs", "delete mma_wait: an MMA is complete when its result is read"
        case Use(keep=keep) if keep:
            return "pending MMAs", "delete `keep=`"
        case Barrier(waves=waves) if waves is not None:
            return "barriers of some waves", "write barrier()"
        case Role(regs=regs) if regs is not None:
            return "register budget of a role", "delete `regs=`"
        case Shared(swizzle=swizzle) if swizzle is not None and swizzle.hardware is not None:
            return f"swizzle {swizzle.hardware}", "write swizzle=xor(chunks, unit=8)"
        case _:
            return None


def _sm90a_lacks(node: Node) -> tuple[str, str] | None:
    match node:
        case CopyAsync(via="dma"):
            return 'copies via "dma"', 'write via="tma" or via="cp"'
        case SchedGroup() | SchedBarrier() | Priority():
            return "scheduling policies", "delete it: the assembler orders instructions"
        case Shift():
            return "shift of barrier phases", "use roles and barrier(waves=…)"
        case Shared(swizzle=swizzle) if swizzle is not None and swizzle.hardware is None:
            return "free swizzles", "write swizzle=b32, b64 or b128"
        case MmaAcc(regs="agpr"):
            return "accumulation registers", "delete `regs=`"
        case Operand(pack=pack) if pack != 1:
            return "packed operands", "delete `pack=`"
        case _:
            return None
