"""Events that core form means, thread by thread. Shares no code with the printer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argus.dsl.interp.grid import block_indices
from argus.dsl.ir import (
    Arrive,
    AsOperand,
    Assign,
    AwaitPhase,
    Barrier,
    Block,
    Cast,
    Commit,
    CopyAsync,
    Elect,
    Fence,
    For,
    If,
    Kernel,
    Load,
    MmaAcc,
    MmaInto,
    MmaWait,
    Operand,
    Ref,
    Role,
    Stmt,
    Store,
    TileAt,
    Transposed,
    View,
    Wait,
)
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.types import DTYPE_BYTES, FragType, Types
from argus.dsl.layout import Accumulator, evaluate
from argus.dsl.lower.sm_90a.audit import warp
from argus.dsl.lower.sm_90a.audit.events import Place, Trace
from argus.dsl.lower.sm_90a.audit.thread import WARP, Thread, bar_place, bytes_of, corner_of, root

ROW = 128  # bytes


def meant(kernel: Kernel, types: Types, sizes: Mapping[str, int], *, block: int, blocks: int, thread: int) -> Trace:
    """What a thread of a block is to do; `blocks` of them share the tiles."""
    t = Thread(kernel, types, dict(sizes), block, blocks, thread, team=kernel.waves)
    at = 0
    t.freed = freed_by_all(kernel)
    if kernel.cluster != 1:
        t.add("cluster")
    for role in _roles(kernel.body):
        t.roles[role.name], t.sizes[role.name] = at, role.waves
        if role.regs is not None and at <= t.wave < at + role.waves:
            t.add("registers", role.regs)
        at += role.waves
    _run(t, kernel.body)
    if kernel.cluster != 1:
        t.add("cluster")
    return t.trace


def freed_by_all(kernel: Kernel) -> frozenset[str]:
    """Barriers of the stages that some block fills for all of its cluster."""
    found: set[str] = set()
    for s in walk_body(kernel.body):
        if isinstance(s, Elect) and any(isinstance(c, CopyAsync) and c.across != "block" for c in s.body):
            found |= {a.bar for a in s.body if isinstance(a, AwaitPhase)}
    return frozenset(found)


def _roles(body: Sequence[Stmt]) -> list[Role]:
    out: list[Role] = []
    for s in body:
        if isinstance(s, Role):
            out.append(s)
        elif isinstance(s, For):
            out += _roles(s.body)
    return out


def _run(t: Thread, body: Sequence[Stmt]) -> None:
    loads: list[CopyAsync] = []
    for s in body:
        match s:
            case CopyAsync(dst=dst, via="tma") if root(dst) in t.types.buffers:
                loads.append(s)
            case Arrive(bytes=int(count), bar=bar, slot=slot):
                place = bar_place(bar, evaluate(slot, t.env))
                t.add("expect", place, count)
                for copy in loads:
                    _load(t, copy, place)
                loads = []
            case _:
                _step(t, s)
    assert not loads, "loads that no arrival counts"


def _step(t: Thread, s: Stmt) -> None:
    match s:
        case For():
            _loop(t, s)
        case If(condition=condition, body=body, orelse=orelse):
            _run(t, body if evaluate(condition, t.env) else orelse)
        case Role():
            _role(t, s)
        case Elect(body=body):
            if t.number == t.first * WARP:
                t.elected = True
                _run(t, body)
                t.elected = False
        case AwaitPhase(bar=bar, slot=slot, completion=completion):
            t.add("wait", bar_place(bar, evaluate(slot, t.env)), evaluate(completion, t.env) % 2)
        case Arrive(bar=bar, slot=slot):
            _arrive(t, bar_place(bar, evaluate(slot, t.env)))
        case CopyAsync(via="cp"):
            warp.copied(t, s)
        case CopyAsync(dst=dst, src=src):
            t.add("store", *_copy(t, dst, src))
        case Commit():
            t.add("commit")
        case Wait(pending=n):
            t.add("wait groups", n)
        case Barrier(waves=waves):
            count = t.kernel.waves if waves is None else waves
            t.add("barrier", _meeting(t, count), count * WARP)
        case Fence():
            t.add("fence")
        case MmaInto(acc=acc) if warp.warpgroup(t, acc):
            _mma(t, s)
        case MmaInto():
            warp.multiplied(t, s)
        case MmaWait(pending=n):
            if t.open_batch:
                t.add("batch")
                t.open_batch = False
            t.add("batch wait", n)
        case Store(view=view) if root(view) not in t.types.buffers:
            warp.written(t, s)
        case Store(value=Ref(name=name)) if name in t.turns:
            warp.stored(t, s)
        case Store():
            _store(t, s)
        case Assign():
            _assign(t, s)
        case _:
            pass


def _meeting(t: Thread, waves: int) -> tuple[str, int]:
    """Who meets: a group by its first wave, a role, or roles together."""
    if waves == t.team:
        return t.role, t.first
    return (t.role, -1) if waves <= t.sizes.get(t.role, t.kernel.waves) else ("", waves)


def _arrive(t: Thread, place: Place) -> None:
    if place.name in t.freed:
        if t.lane < t.kernel.cluster:
            t.add("arrive at", place, t.lane)
    elif t.elected or t.lane == 0:
        t.add("arrive", place)


def _loop(t: Thread, s: For) -> None:
    bounds = [evaluate(b, t.env) for b in s.bounds]
    if s.kind == "tiles":
        visits = list(block_indices(bounds, s.order))[t.block :: t.blocks]
    else:
        visits = [(i,) for i in range(*bounds)]
    for ordinal, visit in enumerate(visits):
        t.env[f"{s.targets[0]}.n"] = ordinal
        t.env.update(zip(s.targets, visit, strict=True))
        _run(t, s.body)


def _role(t: Thread, s: Role) -> None:
    start = t.roles[s.name]
    if not start <= t.wave < start + s.waves:
        return
    size = s.waves // s.groups
    group = (t.wave - start) // size
    before = t.first, t.team, t.role
    t.first, t.team, t.role = start + group * size, size, s.name
    if s.index is not None:
        t.env[s.index] = group
    _run(t, s.body)
    t.first, t.team, t.role = before


def _load(t: Thread, copy: CopyAsync, bar: Place) -> None:
    """A box; of a copy for the whole cluster this block's share of its rows, to every block."""
    tensor, x, y, (columns, rows), swizzle, place = _copy(t, copy.src, copy.dst)
    if copy.across == "block":
        t.add("load", tensor, x, y, (columns, rows), swizzle, place, bar)
        return
    n = t.kernel.cluster
    part = rows // n
    rank = t.block % n
    dtype = t.types.buffers[place.name].dtype
    place = Place(place.name, place.byte + rank * part * columns * DTYPE_BYTES[dtype])
    t.add("load to all", tensor, x, y + rank * part, (columns, part), swizzle, place, bar, (1 << n) - 1)


def _copy(t: Thread, outside: View, inside: View) -> tuple[str, int, int, tuple[int, int], str, Place]:
    """Tensor, first column and row, box, swizzle, place."""
    corner, shape = corner_of(t, inside)
    x, y = 0, 0
    if isinstance(outside, TileAt):
        y, x = (evaluate(i, t.env) * n for i, n in zip(outside.index, outside.shape, strict=True))
    swizzle = t.types.buffers[root(inside)].swizzle
    hardware = swizzle.hardware if swizzle is not None and swizzle.hardware is not None else "none"
    place = Place(root(inside), bytes_of(t, root(inside), corner))
    return root(outside), x, y, (shape[-1], shape[-2]), hardware, place


# ------------------------------------------------------------------------------------------- registers


def _assign(t: Thread, s: Assign) -> None:
    (target, *_) = s.targets
    match s.value:
        case Block(counts=counts, order=order):
            indices = block_indices([evaluate(n, t.env) for n in counts], order)
            t.env.update(zip(s.targets, list(indices)[t.block], strict=True))
        case MmaAcc():
            t.fresh.add(target)
            if not warp.warpgroup(t, target):
                warp.zeroed(t, target)
        case Load() as node:
            warp.loaded(t, target, node)
        case Operand(acc=acc) as node if not warp.warpgroup(t, acc):
            warp.read(t, target, node)
        case Operand(src=src, ks=ks):
            corner, _ = corner_of(t, src)
            corner[-1] += 16 * evaluate(ks, t.env)
            t.operands[target] = root(src), bytes_of(t, root(src), corner), ROW
        case Cast(src=Ref(name=name)):
            t.values[target] = name, 0
        case AsOperand(src=Ref(name=name), ks=ks):
            source, column = t.values[name]
            t.values[target] = source, column + 16 * evaluate(ks, t.env)
        case _:
            pass


def _mma(t: Thread, s: MmaInto) -> None:
    assert isinstance(s.a, Ref)
    assert isinstance(s.b, Ref)
    (a, a_byte, row), (b, b_byte, _) = t.operands[s.a.name], t.operands[s.b.name]
    acc = t.types.frags[s.acc].map
    assert isinstance(acc, Accumulator)
    for p in range(acc.m // 64):
        adds = s.acc not in t.fresh
        t.add(
            "mma",
            acc.atom,
            t.types.buffers[a].dtype,
            (s.acc, p),
            Place(a, a_byte + 64 * p * row),
            Place(b, b_byte),
            adds,
        )
    t.fresh.discard(s.acc)
    t.open_batch = True


def _store(t: Thread, s: Store) -> None:
    """The elements of this warp, as rows of eight: swizzled place, and the element of the accumulator."""
    assert isinstance(s.value, Ref)
    name, column = t.values[s.value.name]
    kind: FragType = t.types.frags[s.value.name]
    if isinstance(s.view, Transposed):
        _store_down(t, s.view.src, name, column, kind.shape[1])
        return
    corner, shape = corner_of(t, s.view)
    buffer = t.types.buffers[root(s.view)]
    chunks = buffer.shape[-1] * DTYPE_BYTES[buffer.dtype] // 16
    rows = 8 // chunks  # that share a permutation: 128 bytes of them
    for p in range(shape[0] // 64):
        for c in range(0, kind.shape[1], 8):
            for r in range(16):
                m = 64 * p + 16 * (t.wave % 4) + r
                row = corner[-2] + m
                index = [*corner[:-2], row, corner[-1]]
                start = bytes_of(t, root(s.view), [*index[:-1], 0])
                chunk = (corner[-1] + c) // 8
                place = Place(root(s.view), start + 16 * (chunk ^ (row // rows % chunks)))
                t.add("put", place, name, m, column + c)


def _store_down(t: Thread, view: View, name: str, column: int, columns: int) -> None:
    """Columns of the accumulator as rows of the view: of each, this warp's sixteen elements as two rows of eight."""
    corner, _ = corner_of(t, view)
    buffer = t.types.buffers[root(view)]
    chunks = buffer.shape[-1] * DTYPE_BYTES[buffer.dtype] // 16
    for c in range(columns):
        row = corner[-2] + c
        start = bytes_of(t, root(view), [*corner[:-2], row, 0])
        for m in (16 * (t.wave % 4), 16 * (t.wave % 4) + 8):
            chunk = (corner[-1] + m) // 8
            place = Place(root(view), start + 16 * (chunk ^ (row // (8 // chunks) % chunks)))
            t.add("put down", place, name, m, column + c, "down")
