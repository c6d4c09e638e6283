"""TMA copies, and the mbarriers that count the bytes of loads.

In core form `arrive(bar, bytes=)` follows the copies that it counts. It is printed before them: then the barrier knows
what to expect before any byte can come.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from argus.dsl.ir import Arrive, AwaitPhase, CopyAsync, Stmt
from argus.dsl.ir.shapes import base
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import ZERO, Expr
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.sm_90a.context import Context
from argus.dsl.lower.sm_90a.expr import c_name
from argus.dsl.lower.sm_90a.mma import address
from argus.dsl.lower.sm_90a.shared import MBAR_BYTES, shared_view


def is_load(ctx: Context, s: Stmt) -> bool:
    """Whether a statement is a TMA copy into shared memory."""
    return isinstance(s, CopyAsync) and s.via == "tma" and base(s.dst).name in ctx.types.buffers


def loads(ctx: Context, copies: Sequence[CopyAsync], arrive: Arrive) -> None:
    """Copies into shared memory and the arrival that counts them.

    Raises:
        KernelError: If the arrival names another number of bytes: the barrier would never complete, or too early.
    """
    if not ctx.elected:
        raise unsupported(arrive, "TMA copies are one lane's work", "write them under `with elect():`")
    bar = mbar(ctx, arrive.bar, arrive.slot)
    moved = 0
    lines: list[str] = []
    for copy in copies:
        _demand_tma(copy)
        inside = shared_view(copy.dst, ctx.types.buffers)
        parts = ctx.kernel.cluster if copy.across == "cluster" else 1
        map_, (x, y) = ctx.maps.copy(copy.src, inside, parts)
        box_bytes = prod(map_.box) * DTYPE_BYTES[inside.buffer.dtype]
        moved += parts * box_bytes
        place = address(ctx, inside.name, inside.offset)
        if parts == 1:
            lines.append(f"tma_load({place}, &{map_.name}, {ctx.c(x)}, {ctx.c(y)}, {bar});")
            continue
        row = f"{ctx.c(y)} + rank * {map_.box[1]}"
        everyone = (1 << parts) - 1
        lines.append(
            f"tma_load_blocks({place} + rank * {box_bytes}, &{map_.name}, {ctx.c(x)}, {row}, {bar}, {everyone});"
        )
    if moved != arrive.bytes:
        message = f"the copies move {moved:,} bytes, the barrier is told {arrive.bytes:,}"
        raise unsupported(arrive, message, "TMA counts whole boxes, also what lies outside the tensor")
    ctx.out.add(f"mbar_arrive_bytes({bar}, {moved});")
    for line in lines:
        ctx.out.add(line)


def store(ctx: Context, node: CopyAsync) -> None:
    """A copy out of shared memory, into the group that the next `commit()` closes."""
    _demand_tma(node)
    if not ctx.elected:
        raise unsupported(node, "TMA copies are one lane's work", "write them under `with elect():`")
    inside = shared_view(node.src, ctx.types.buffers)
    map_, (x, y) = ctx.maps.copy(node.dst, inside)
    ctx.out.add(f"tma_store(&{map_.name}, {ctx.c(x)}, {ctx.c(y)}, {address(ctx, inside.name, inside.offset)});")


def await_phase(ctx: Context, node: AwaitPhase) -> None:
    """Completion i of a barrier ends a phase of parity i mod 2; before the first, -1 counts as done."""
    parity = f"{ctx.c(node.completion, factor=True)} & 1"
    ctx.out.add(f"mbar_wait({mbar(ctx, node.bar, node.slot)}, {parity});")


def arrive(ctx: Context, node: Arrive) -> None:
    """One arrival for each wave; at a barrier that frees a stage of shared copies, in every block of the cluster."""
    if node.bar in ctx.everywhere:
        if ctx.elected:
            raise unsupported(node, "one lane's arrival in every block of a cluster is not lowered yet")
        ctx.out.add(f"if (lane < {ctx.kernel.cluster}) mbar_arrive_at({mbar(ctx, node.bar, node.slot)}, lane);")
        return
    call = f"mbar_arrive({mbar(ctx, node.bar, node.slot)});"
    ctx.out.add(call if ctx.elected else f"if (lane == 0) {call}")


def mbar(ctx: Context, name: str, slot: Expr) -> str:
    """Shared address of one barrier."""
    if ctx.mbars[name].count == 1 or slot == ZERO:
        return c_name(name)
    return f"{c_name(name)} + {MBAR_BYTES} * {ctx.c(slot, factor=True)}"


def _demand_tma(node: CopyAsync) -> None:
    if node.via != "tma":
        raise unsupported(node, f'copies via "{node.via}" are not lowered for sm_90a yet', 'write via="tma"')
