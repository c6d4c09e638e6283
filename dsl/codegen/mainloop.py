"""Where a kernel spends its time: natural loops, the main loop, and the instructions on the way through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from argus.dsl.codegen.asm import AsmKernel
from argus.dsl.codegen.isa import Instruction, Kind
from argus.dsl.codegen.report import MainLoop, Wait


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: the blocks that reach `header` again without leaving it."""

    header: int
    blocks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Path:
    """What one wave executes: once before the main loop, once a trip, once after. Without a loop all is `prologue`."""

    prologue: tuple[Instruction, ...]
    body: tuple[Instruction, ...]
    epilogue: tuple[Instruction, ...]


def natural_loops(kernel: AsmKernel) -> tuple[Loop, ...]:
    """All loops, by header; loops that share a header are one."""
    dominators = _dominators(kernel)
    bodies: dict[int, set[int]] = {}
    for source, block in enumerate(kernel.blocks):
        for header in block.successors:
            if header in dominators.get(source, frozenset()):
                bodies.setdefault(header, {header}).update(_reaching(kernel, source, header))
    return tuple(Loop(header, frozenset(body)) for header, body in sorted(bodies.items()))


def main_loop(kernel: AsmKernel) -> Loop | None:
    """The innermost loop with MFMAs, of several the one with most; without MFMAs the deepest, then longest, loop."""
    loops = natural_loops(kernel)

    def mfmas(loop: Loop) -> int:
        return sum(x.kind == "mfma" for x in _instructions(kernel, loop.blocks))

    def innermost(loop: Loop, among: list[Loop]) -> bool:
        return not any(x.blocks < loop.blocks for x in among)

    with_mfma = [x for x in loops if mfmas(x)]
    if candidates := [x for x in with_mfma if innermost(x, with_mfma)]:
        return max(candidates, key=mfmas)
    depth = {x: sum(x.blocks <= y.blocks for y in loops) for x in loops}
    return max(loops, key=lambda x: (depth[x], sum(1 for _ in _instructions(kernel, x.blocks))), default=None)


def path(kernel: AsmKernel, loop: Loop | None) -> Path:
    """The longest way through: branches that skip work are for tails, loops beside the main one count once."""
    everything = frozenset(range(len(kernel.blocks)))
    ends = frozenset(i for i in everything if not kernel.blocks[i].successors)
    if loop is None:
        return Path(_longest(kernel, everything, 0, ends), (), ())
    outside = everything - loop.blocks
    latches = frozenset(i for i in loop.blocks if loop.header in kernel.blocks[i].successors)
    exits = {j for i in loop.blocks for j in kernel.blocks[i].successors} - loop.blocks
    entries = frozenset(i for i in outside if loop.header in kernel.blocks[i].successors)
    tails = [_longest(kernel, outside, x, ends) for x in sorted(exits)]
    return Path(
        prologue=_longest(kernel, outside, 0, entries) if entries else (),
        body=_longest(kernel, loop.blocks, loop.header, latches),
        epilogue=max(tails, key=len, default=()),
    )


def count(body: Iterable[Instruction], mfma_per_tile: int | None = None) -> MainLoop:
    """Count one trip of one wave.

    Args:
        body: The instructions of a trip.
        mfma_per_tile: MFMAs of one wave for one iteration of the language's loop; tells how often it was unrolled.
    """
    body = tuple(body)
    kinds: Counter[Kind] = Counter(x.kind for x in body)
    return MainLoop(
        mfma=kinds["mfma"],
        valu=kinds["valu"],
        trans=kinds["trans"],
        salu=kinds["salu"],
        lds_read=kinds["lds_read"],
        lds_write=kinds["lds_write"],
        vmem_read=kinds["vmem_read"] + kinds["vmem_lds"],
        vmem_write=kinds["vmem_write"] + kinds["atomic"],
        barriers=kinds["barrier"],
        waits=tuple(Wait(vmcnt=x.vmcnt, lgkmcnt=x.lgkmcnt) for x in body if x.kind == "waitcnt"),
        tiles=max(1, round(kinds["mfma"] / mfma_per_tile)) if mfma_per_tile else 1,
    )


def _instructions(kernel: AsmKernel, blocks: Iterable[int]) -> Iterator[Instruction]:
    for i in sorted(blocks):
        yield from kernel.blocks[i].instructions


def _reverse_postorder(start: int, successors: Callable[[int], Iterable[int]]) -> list[int]:
    order: list[int] = []
    seen = {start}
    stack = [(start, iter(successors(start)))]
    while stack:
        node, ahead = stack[-1]
        following = next((x for x in ahead if x not in seen), None)
        if following is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors(following))))
    return order[::-1]


def _dominators(kernel: AsmKernel) -> dict[int, frozenset[int]]:
    """Blocks on every way from the entry to a reachable block, itself included."""
    order = _reverse_postorder(0, lambda i: kernel.blocks[i].successors)
    sources: dict[int, list[int]] = {i: [] for i in order}
    for i in order:
        for j in kernel.blocks[i].successors:
            sources[j].append(i)
    everything = frozenset(order)
    found = dict.fromkeys(order, everything) | {0: frozenset({0})}
    changed = True
    while changed:
        changed = False
        for i in order[1:]:
            new = everything.intersection(*(found[j] for j in sources[i])) | {i}
            changed |= new != found[i]
            found[i] = new
    return found


def _reaching(kernel: AsmKernel, source: int, header: int) -> set[int]:
    """Blocks from which `source` is reached without passing `header`."""
    found = {source}
    work = [source]
    while work:
        node = work.pop()
        if node == header:
            continue
        before = {i for i, block in enumerate(kernel.blocks) if node in block.successors} - found
        found |= before
        work += before
    return found


def _longest(kernel: AsmKernel, allowed: frozenset[int], start: int, goals: frozenset[int]) -> tuple[Instruction, ...]:
    """Instructions on the longest way from `start` to one of `goals` inside `allowed` that repeats no loop."""

    def ahead(i: int) -> Iterable[int]:
        return (j for j in reversed(kernel.blocks[i].successors) if j in allowed)

    order = _reverse_postorder(start, ahead)
    place = {block: i for i, block in enumerate(order)}
    best: dict[int, tuple[int, int | None]] = {}  # block: instructions to a goal, the next block on that way
    for i in reversed(order):
        onward = [(best[j][0], j) for j in ahead(i) if place[j] > place[i] and j in best]
        if onward or i in goals:
            length, following = max(onward, default=(0, None), key=lambda x: x[0])
            best[i] = (length + len(kernel.blocks[i].instructions), following)
    found: list[Instruction] = []
    at: int | None = start if start in best else None
    while at is not None:
        found += kernel.blocks[at].instructions
        at = best[at][1]
    return tuple(found)
