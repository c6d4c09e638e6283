"""Both traces of every thread, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any, cast

from argus.dsl.ir import Assign, Block, Kernel, MBar, Shared
from argus.dsl.ir.infer import infer
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import evaluate
from argus.dsl.lower.sm_90a.audit.events import Event, Place, Trace
from argus.dsl.lower.sm_90a.audit.meant import freed_by_all, meant
from argus.dsl.lower.sm_90a.audit.printed import SHARED_AT, Printed
from argus.dsl.lower.sm_90a.audit.reader import Unread
from argus.dsl.lower.sm_90a.audit.thread import WARP
from argus.dsl.lower.sm_90a.cuda_kernel import CudaKernel
from argus.dsl.lower.sm_90a.expr import c_name

MAX_FOUND = 10
SWIZZLE_BYTES = 1024
PUTS = ("put", "put down")
# What each lane does for itself; else lanes differ in the first one's arrivals and elections alone.
OWN = ("chunk copy", "chunk load", "chunk store", "matrices", "pair")
FIRST = ("arrive at",)  # lane i arrives in block i


def differences(core: Kernel, printed: CudaKernel, sizes: Mapping[str, int], *, blocks: int = 2) -> list[str]:
    """Where the printed text does something other than core form, at these sizes; empty when nowhere.

    Args:
        core: The kernel, in core form.
        printed: What it was lowered to.
        sizes: Small ones, with tails and several tiles a block.
        blocks: Of the persistent grid; the threads of each are compared.
    """
    comparison = _Comparison(core, printed)
    try:
        return comparison.run(sizes, blocks)
    except Unread as error:
        return [str(error)]


@dataclass
class _Comparison:
    core: Kernel
    cuda: CudaKernel
    found: list[str] = field(default_factory=list[str])
    barriers: dict[object, int] = field(default_factory=dict[object, int])

    def run(self, sizes: Mapping[str, int], blocks: int) -> list[str]:
        types = infer(self.core)
        names = _names(self.core)
        text = Printed(self.cuda, {c_name(name): size for name, size in names.items()})
        back = {c_name(name): name for name in (*names, *types.frags)}
        for block in self._blocks(sizes, blocks):
            for warp in range(self.core.waves):
                lanes: list[Trace] = []
                for lane in range(WARP):
                    thread = warp * WARP + lane
                    did, problems = text.trace(sizes, block=block, blocks=blocks, thread=thread)
                    lanes.append([_renamed(e, back) for e in did])
                    self._note(block, thread, problems)
                if warp == 0:
                    self._memory(names, lanes[0])
                own = any(e.what in OWN for e in lanes[0])
                want: Trace = []
                for lane in range(WARP) if own else (0, 1):
                    want = meant(self.core, types, sizes, block=block, blocks=blocks, thread=warp * WARP + lane)
                    self._thread(block, warp * WARP + lane, lanes[lane], want)
                self._alike(block, warp, lanes)
                self._elements(block, warp, [[e for e in did if e.what in PUTS] for did in lanes], want)
                if len(self.found) >= MAX_FOUND:
                    return self.found
        return self.found

    def _blocks(self, sizes: Mapping[str, int], blocks: int) -> list[int]:
        """Of a persistent grid the first; where each block has one tile, the last as well, which has tails."""
        for s in self.core.body:
            match s:
                case Assign(value=Block(counts=counts)):
                    last = prod(evaluate(n, sizes) for n in counts) - 1
                    return sorted({*range(min(blocks, last)), last})
                case _:
                    pass
        return list(range(max(blocks, self.core.cluster)))

    def _alike(self, block: int, warp: int, lanes: list[Trace]) -> None:
        """Lanes differ in the first one's arrivals and elections, and in the addresses of elements, alone."""
        plain = _without(lanes[1], *PUTS, *OWN, *FIRST)
        for lane, did in enumerate(lanes[2:], 2):
            if _without(did, *PUTS, *OWN, *FIRST) != plain:
                self.found.append(f"block {block}, warp {warp}: lane {lane} does other things than lane 1")
                return

    def _note(self, block: int, thread: int, problems: list[str]) -> None:
        self.found += [f"block {block}, thread {thread}: {p}" for p in dict.fromkeys(problems)]

    def _memory(self, names: Mapping[str, int], did: Trace) -> None:
        """Every barrier is made ready with its own arrivals, and buffers start where their swizzle does."""
        freed = freed_by_all(self.core)
        want = {
            Place(s.targets[0], 8 * i): s.value.arrivals * (self.core.cluster if s.targets[0] in freed else 1)
            for s in self.core.body
            if isinstance(s, Assign) and isinstance(s.value, MBar)
            for i in range(s.value.count)
        }
        have = {e.operands[0]: e.operands[1] for e in did if e.what == "init"}
        if cast("dict[object, object]", want) != have:
            self.found.append(f"mbarriers are initialised {have}, not {want}")
        starts = _starts(self.cuda.source)
        spans = sorted((starts[c_name(n)], starts[c_name(n)] + size, n) for n, size in names.items())
        for (_, end, a), (start, _, b) in pairwise(spans):
            if end > start:
                self.found.append(f"{a} and {b} overlap")
        for s in self.core.body:
            match s:
                case Assign(targets=(name,), value=Shared(swizzle=swizzle)) if swizzle is not None:
                    if starts[c_name(name)] % SWIZZLE_BYTES:
                        self.found.append(f"{name} starts where its swizzle does not")
                case _:
                    pass
        slack = -SHARED_AT % SWIZZLE_BYTES
        if spans and slack + spans[-1][1] > self.cuda.shared_bytes:
            self.found.append(f"{self.cuda.shared_bytes} bytes of shared memory are asked for, {spans[-1][1]} are used")

    def _thread(self, block: int, thread: int, did: Trace, want: Trace) -> None:
        """Everything but stores of elements, in order. Who commits no group has none to wait for."""
        silent = {*PUTS, "init"}
        if not any(e.what == "commit" for e in want):
            silent.add("wait groups")
        did, want = _overwriting(_without(did, *silent), want), _without(want, *silent)
        for i, (d, w) in enumerate(zip(did, want, strict=False)):
            if not self._same(d, w):
                self.found.append(f"block {block}, thread {thread}, event {i}: {d}, where core form has {w}")
                return
        if len(did) != len(want):
            extra = (did if len(did) > len(want) else want)[min(len(did), len(want))]
            who = "the text" if len(did) > len(want) else "core form alone"
            self.found.append(f"block {block}, thread {thread}: {who} goes on with {extra}")

    def _same(self, did: Event, want: Event) -> bool:
        if did.what != "barrier" or want.what != "barrier":
            return did == want
        (number, threads), (who, wanted) = did.operands, want.operands
        known = self.barriers.setdefault(who, cast("int", number))
        unique = list(self.barriers.values()).count(known) == 1
        return threads == wanted and number == known and unique

    def _elements(self, block: int, warp: int, lanes: list[Trace], want: Trace) -> None:
        """What the 32 lanes' `stmatrix` put where, against the elements of the view."""
        wanted = [(e.operands[0], e.operands[1:]) for e in want if e.what in PUTS]
        have: list[tuple[object, object]] = []
        for calls in zip(*lanes, strict=True):
            down = calls[0].what == "put down"
            have += _matrices(warp, [c.operands for c in calls], down=down)
        if sorted(map(str, have)) != sorted(map(str, wanted)):
            odd = next(iter(set(map(str, have)) ^ set(map(str, wanted))), "an element twice")
            self.found.append(f"block {block}, warp {warp}: stmatrix and the stored view differ at {odd}")


def _matrices(warp: int, calls: list[tuple[Any, ...]], *, down: bool) -> Iterator[tuple[object, object]]:
    """Rows of eight elements that one `stmatrix.x4` writes: lane 8i + j gives the address of row j of matrix i.

    Register i of lane 4j + c holds that row's columns 2c and 2c + 1; `down`, column j's rows 2c and 2c + 1 do, so that
    element k of row j comes from lane 4k + j // 2. An accumulator's register r of a lane holds row 16 * warp +
    lane // 4 + 8 * (r // 2 % 2) and column 8 * (r // 4) + 2 * (lane % 4) + r % 2.
    """
    for i in range(4):
        for j in range(8):
            elements: list[tuple[str, int, int]] = []
            for k in range(8):
                lane, half = (4 * k + j // 2, j % 2) if down else (4 * j + k // 2, k % 2)
                name, p, r = calls[lane][1][i][half]
                m = 64 * p + 16 * (warp % 4) + lane // 4 + 8 * (r // 2 % 2)
                elements.append((name, m, 8 * (r // 4) + 2 * (lane % 4) + r % 2))
            name, m, n = elements[0]
            straight = elements == [(name, m + k, n) if down else (name, m, n + k) for k in range(8)]
            yield calls[8 * i + j][0], (name, m, n, *(["down"] if down else [])) if straight else tuple(elements)


def _names(core: Kernel) -> dict[str, int]:
    """Bytes of each shared buffer and of each array of mbarriers."""
    out: dict[str, int] = {}
    for s in core.body:
        match s:
            case Assign(targets=(name,), value=Shared(shape=shape, dtype=dtype)):
                out[name] = DTYPE_BYTES[dtype]
                for extent in shape:
                    out[name] *= extent
            case Assign(targets=(name,), value=MBar(count=count)):
                out[name] = 8 * count
            case _:
                pass
    return out


def _starts(source: str) -> dict[str, int]:
    """Offsets from the aligned start, as the text declares them."""
    out: dict[str, int] = {}
    for line in source.splitlines():
        head, _, offset = line.strip().rstrip(";").partition(" = shared_start + ")
        if offset:
            out[head.split()[-1]] = int(offset)
    return out


def _renamed(e: Event, back: Mapping[str, str]) -> Event:
    """C names as core form spells them: of places, and of the registers `(name, atom, number)`."""

    def new(x: object) -> object:
        match x:
            case Place(name, byte):
                return Place(back.get(name, name), byte)
            case (str(name), int() as atom):
                return back.get(name, name), atom
            case (str(name), int() as atom, int() as register):
                return back.get(name, name), atom, register
            case tuple():
                return tuple(new(y) for y in cast("tuple[object, ...]", x))
            case _:
                return x

    return Event(e.what, tuple(new(x) for x in e.operands))


def _overwriting(did: Trace, want: Trace) -> Trace:
    """Accumulators that are zeroed where core form leaves them fresh: adding to zeros is the overwriting meant there.

    Zeros that no MMA adds to stay, and are a difference.
    """
    meant_zero = {e.operands for e in want if e.what == "zero"}
    zeros: dict[object, int] = {}
    out: list[Event | None] = []
    for e in did:
        match e:
            case Event("zero", (part,)) if e.operands not in meant_zero:
                zeros[part] = len(out)
                out.append(e)
            case Event("mma", (*rest, True)) if rest[2] in zeros:
                out[zeros.pop(rest[2])] = None
                out.append(Event("mma", (*rest, False)))
            case _:
                out.append(e)
    return [e for e in out if e is not None]


def _without(trace: Trace, *kinds: str) -> Trace:
    return [e for e in trace if e.what not in kinds]
