"""Shared memory: how much of it, that it is used, and that swizzles fit their rows."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from argus.dsl.diagnostics import Code, Diagnostic, Span
from argus.dsl.ir.nodes import Arrive, Assign, AwaitPhase, Fill, Kernel, MBar, Node, Ref, Ring, Shared, Use
from argus.dsl.ir.report import diagnostic
from argus.dsl.ir.shapes import DTYPE_BYTES
from argus.dsl.targets.limits import LIMITS

MBAR_BYTES = 8
HARDWARE_ROW_BYTES = {"b32": 32, "b64": 64, "b128": 128}


def shared_bytes(kernel: Kernel) -> int:
    """Bytes of shared memory that a kernel's buffers, rings and barriers take."""
    out = 0
    for statement in kernel.body:
        match statement:
            case Assign(value=Shared() as buffer):
                out += buffer_bytes(buffer)
            case Assign(value=Ring(stages=stages, buffers=buffers)):
                out += stages * sum(buffer_bytes(b) for _, b in buffers)
            case Assign(value=MBar(count=count)):
                out += count * MBAR_BYTES
            case _:
                pass
    return out


def buffer_bytes(buffer: Shared) -> int:
    return prod(buffer.shape[:-1]) * (buffer.shape[-1] + buffer.pad) * DTYPE_BYTES[buffer.dtype]


def resource_problems(kernel: Kernel, nodes: tuple[Node, ...]) -> Iterator[Diagnostic]:
    """Too much shared memory, buffers that nothing uses, swizzles that do not fit."""
    used, limit = shared_bytes(kernel), LIMITS[kernel.target].shared_bytes
    allocations = [s for s in kernel.body if isinstance(s, Assign) and isinstance(s.value, Shared | Ring | MBar)]
    if used > limit:
        message = f"shared memory: {used:,} bytes; a block of {kernel.target} has {limit:,}"
        yield diagnostic(Code.LIMIT, allocations[-1].span, message, "smaller tiles, fewer stages or less padding")
    names = _used_names(nodes)
    for statement in allocations:
        match statement.value:
            case Ring(buffers=buffers):
                yield from _ring_used(nodes, statement)
                for name, buffer in buffers:
                    yield from _swizzle(name, buffer, buffer.span, staged=True)
            case Shared() as buffer:
                yield from _swizzle(statement.targets[0], buffer, buffer.span, staged=len(buffer.shape) > 2)
                if statement.targets[0] not in names:
                    yield _unused(statement, "a shared buffer")
            case _:
                if statement.targets[0] not in names:
                    yield _unused(statement, "an mbar")


def _unused(statement: Assign, what: str) -> Diagnostic:
    return diagnostic(
        Code.BAD_CALL, statement.span, f"`{statement.targets[0]}` is {what} that nothing uses", "delete it"
    )


def _used_names(nodes: tuple[Node, ...]) -> set[str]:
    out: set[str] = set()
    for node in nodes:
        match node:
            case Ref(name=name) | Arrive(bar=name) | AwaitPhase(bar=name):
                out.add(name)
            case _:
                pass
    return out


def _ring_used(nodes: tuple[Node, ...], statement: Assign) -> Iterator[Diagnostic]:
    name = statement.targets[0]
    for cls, verb in ((Fill, "filled"), (Use, "used")):
        if not any(isinstance(n, cls) and n.ring == name for n in nodes):
            hint = f"write `with {name}.{'fill' if cls is Fill else 'use'}() as st:`, or delete the ring"
            yield diagnostic(Code.BAD_CALL, statement.span, f"the ring `{name}` is never {verb}", hint)


def _swizzle(name: str, buffer: Shared, span: Span, *, staged: bool) -> Iterator[Diagnostic]:
    swizzle = buffer.swizzle
    if swizzle is None:
        return
    row, row_bytes = buffer.shape[-1], buffer.shape[-1] * DTYPE_BYTES[buffer.dtype]
    if swizzle.hardware is not None:
        want = HARDWARE_ROW_BYTES[swizzle.hardware]
        if row_bytes != want or buffer.pad:
            message = (
                f"{swizzle.hardware} needs rows of {want} bytes without padding; rows of `{name}` have {row_bytes}"
            )
            yield diagnostic(
                Code.BAD_SHAPE, span, message, f"{want // DTYPE_BYTES[buffer.dtype]} elements of {buffer.dtype}"
            )
            return
    if swizzle.unit * DTYPE_BYTES[buffer.dtype] % 4:
        message = f"chunks of {swizzle.unit} {buffer.dtype} are no whole number of 4-byte words"
        yield diagnostic(Code.BAD_SHAPE, span, message, "unit=8 makes 16-byte chunks of 16-bit elements")
    elif row % (swizzle.chunks * swizzle.unit):
        message = f"rows of `{name}` have {row} elements, no multiple of {swizzle.chunks} chunks of {swizzle.unit}"
        yield diagnostic(
            Code.BAD_SHAPE, span, message, f"at most xor({_most(row // swizzle.unit)}, unit={swizzle.unit})"
        )
    elif (staged or len(buffer.shape) > 2) and len(buffer.shape) >= 2:
        pitch_bytes = (row + buffer.pad) * DTYPE_BYTES[buffer.dtype]
        period = swizzle.chunks * swizzle.rows_for(pitch_bytes)
        if buffer.shape[-2] % period:
            message = f"the swizzle of `{name}` repeats every {period} rows, a stage has {buffer.shape[-2]}"
            yield diagnostic(Code.BAD_SHAPE, span, message, "so that every stage is permuted alike, use fewer chunks")


def _most(n: int) -> int:
    return 1 << (max(n, 1).bit_length() - 1)
