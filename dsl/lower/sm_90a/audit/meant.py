"""Events that core form means, thread by thread. Shares no code with the printer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from argus.dsl.interp.grid import block_indices
from argus.dsl.ir import (
    Arrive,
    AsOperand,
    Assign,
    At,
    AwaitPhase,
    Barrier,
    Block,
    Cast,
    Cols,
    Commit,
    CopyAsync,
    Elect,
    Fence,
    For,
    If,
    Kernel,
    MmaAcc,
    MmaInto,
    MmaWait,
    Operand,
    Ref,
    Role,
    Rows,
    Stmt,
    Store,
    TileAt,
    Transposed,
    View,
    Wait,
)
from argus.dsl.ir.types import DTYPE_BYTES, FragType, Types
from argus.dsl.layout import Accumulator, evaluate
from argus.dsl.lower.sm_90a.audit.events import Event, Place, Trace

WARP = 32
ROW = 128  # bytes


@dataclass
class Thread:
    """One thread on its way through the kernel.

    Attributes:
        first, team: Waves that execute the present statement together.
        fresh: Accumulators that nothing has been added to.
        values: What the registers of a fragment are: (fragment, column where they start).
    """

    kernel: Kernel
    types: Types
    env: dict[str, int]
    block: int
    blocks: int
    number: int
    first: int = 0
    team: int = 0
    role: str = ""
    elected: bool = False
    trace: Trace = field(default_factory=list[Event])
    fresh: set[str] = field(default_factory=set[str])
    operands: dict[str, tuple[str, int, int]] = field(default_factory=dict[str, tuple[str, int, int]])
    values: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    open_batch: bool = False
    roles: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def wave(self) -> int:
        return self.number // WARP

    @property
    def lane(self) -> int:
        return self.number % WARP

    def add(self, what: str, *operands: object) -> None:
        self.trace.append(Event(what, operands))


def meant(kernel: Kernel, types: Types, sizes: Mapping[str, int], *, block: int, blocks: int, thread: int) -> Trace:
    """What a thread of a block is to do; `blocks` of them share the tiles."""
    t = Thread(kernel, types, dict(sizes), block, blocks, thread, team=kernel.waves)
    at = 0
    for role in _roles(kernel.body):
        t.roles[role.name] = at
        if role.regs is not None and at <= t.wave < at + role.waves:
            t.add("registers", role.regs)
        at += role.waves
    _run(t, kernel.body)
    return t.trace


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
            case CopyAsync(dst=dst) if _root(dst) in t.types.buffers:
                loads.append(s)
            case Arrive(bytes=int(count), bar=bar, slot=slot):
                place = _bar(t, bar, evaluate(slot, t.env))
                t.add("expect", place, count)
                for copy in loads:
                    t.add("load", *_copy(t, copy.src, copy.dst), place)
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
            t.add("wait", _bar(t, bar, evaluate(slot, t.env)), evaluate(completion, t.env) % 2)
        case Arrive(bar=bar, slot=slot):
            if t.elected or t.lane == 0:
                t.add("arrive", _bar(t, bar, evaluate(slot, t.env)))
        case CopyAsync(dst=dst, src=src):
            t.add("store", *_copy(t, dst, src))
        case Commit():
            t.add("commit")
        case Wait(pending=n):
            t.add("wait groups", n)
        case Barrier(waves=waves):
            count = t.kernel.waves if waves is None else waves
            t.add("barrier", (t.role, t.first if count == t.team else -1), count * WARP)
        case Fence():
            t.add("fence")
        case MmaInto():
            _mma(t, s)
        case MmaWait(pending=n):
            if t.open_batch:
                t.add("batch")
                t.open_batch = False
            t.add("batch wait", n)
        case Store():
            _store(t, s)
        case Assign():
            _assign(t, s)
        case _:
            pass


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


# ---------------------------------------------------------------------------------------------- views


def _root(view: View) -> str:
    while not isinstance(view, Ref):
        view = view.src
    return view.name


def _bar(t: Thread, name: str, slot: int) -> Place:
    del t
    return Place(name, 8 * slot)


def _corner(t: Thread, view: View) -> tuple[list[int], list[int]]:
    """Index of a shared view's first element in its buffer, and the extents left."""
    match view:
        case Ref(name=name):
            shape = list(t.types.buffers[name].shape)
            return [0] * len(shape), shape
        case At(src=src, index=index):
            corner, shape = _corner(t, src)
            corner[len(corner) - len(shape)] += evaluate(index, t.env)
            return corner, shape[1:]
        case Rows(src=src, start=start, count=count):
            corner, shape = _corner(t, src)
            corner[-2] += evaluate(start, t.env)
            return corner, [count, shape[-1]]
        case Cols(src=src, start=start, count=count):
            corner, shape = _corner(t, src)
            corner[-1] += evaluate(start, t.env)
            return corner, [shape[-2], count]
        case _:
            raise AssertionError("no such view is lowered")


def _bytes(t: Thread, name: str, index: Sequence[int]) -> int:
    """Where an element would lie without a swizzle."""
    buffer = t.types.buffers[name]
    flat = 0
    for i, extent in zip(index, buffer.shape, strict=True):
        flat = flat * extent + i
    return flat * DTYPE_BYTES[buffer.dtype]


def _copy(t: Thread, outside: View, inside: View) -> tuple[object, ...]:
    """Tensor, first column and row, box, swizzle, place."""
    corner, shape = _corner(t, inside)
    x, y = 0, 0
    if isinstance(outside, TileAt):
        y, x = (evaluate(i, t.env) * n for i, n in zip(outside.index, outside.shape, strict=True))
    swizzle = t.types.buffers[_root(inside)].swizzle
    hardware = swizzle.hardware if swizzle is not None and swizzle.hardware is not None else "none"
    place = Place(_root(inside), _bytes(t, _root(inside), corner))
    return _root(outside), x, y, (shape[-1], shape[-2]), hardware, place


# ------------------------------------------------------------------------------------------- registers


def _assign(t: Thread, s: Assign) -> None:
    (target, *_) = s.targets
    match s.value:
        case Block(counts=counts, order=order):
            indices = block_indices([evaluate(n, t.env) for n in counts], order)
            t.env.update(zip(s.targets, list(indices)[t.block], strict=True))
        case MmaAcc():
            t.fresh.add(target)
        case Operand(src=src, ks=ks):
            corner, _ = _corner(t, src)
            corner[-1] += 16 * evaluate(ks, t.env)
            t.operands[target] = _root(src), _bytes(t, _root(src), corner), ROW
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
    corner, shape = _corner(t, s.view)
    buffer = t.types.buffers[_root(s.view)]
    chunks = buffer.shape[-1] * DTYPE_BYTES[buffer.dtype] // 16
    rows = 8 // chunks  # that share a permutation: 128 bytes of them
    for p in range(shape[0] // 64):
        for c in range(0, kind.shape[1], 8):
            for r in range(16):
                m = 64 * p + 16 * (t.wave % 4) + r
                row = corner[-2] + m
                index = [*corner[:-2], row, corner[-1]]
                start = _bytes(t, _root(s.view), [*index[:-1], 0])
                chunk = (corner[-1] + c) // 8
                place = Place(_root(s.view), start + 16 * (chunk ^ (row // rows % chunks)))
                t.add("put", place, name, m, column + c)


def _store_down(t: Thread, view: View, name: str, column: int, columns: int) -> None:
    """Columns of the accumulator as rows of the view: of each, this warp's sixteen elements as two rows of eight."""
    corner, _ = _corner(t, view)
    buffer = t.types.buffers[_root(view)]
    chunks = buffer.shape[-1] * DTYPE_BYTES[buffer.dtype] // 16
    for c in range(columns):
        row = corner[-2] + c
        start = _bytes(t, _root(view), [*corner[:-2], row, 0])
        for m in (16 * (t.wave % 4), 16 * (t.wave % 4) + 8):
            chunk = (corner[-1] + m) // 8
            place = Place(_root(view), start + 16 * (chunk ^ (row // (8 // chunks) % chunks)))
            t.add("put down", place, name, m, column + c, "down")
