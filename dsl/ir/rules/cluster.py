"""Copies that the blocks of a cluster share: each reads a part from memory, and all receive the whole.

What a block sees is the copy that it asked for, so nothing but this rule need know of the others. Two things make that
true. They ask for the same copies, in the same order: neighbouring blocks have tiles that differ in the first index
alone, and nothing that decides what is copied, or how often, depends on that index. And a block's stage is overwritten
when it is free: what is proved for a block of its own loads must hold for its neighbour's, so loads may follow uses
through one ring's barriers alone, whose arrivals lowering gathers from both blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

from argus.dsl.diagnostics import Code, Diagnostic
from argus.dsl.ir.divides import Multiples, divisor
from argus.dsl.ir.nodes import Assign, Barrier, CopyAsync, For, If, Kernel, MBar, Node
from argus.dsl.ir.report import diagnostic
from argus.dsl.ir.rewrite import walk, walk_body
from argus.dsl.ir.shapes import base
from argus.dsl.layout import Const, Expr, Op, Var
from argus.dsl.layout import names as variables

PAIR = 2


def shared_copies(kernel: Kernel) -> list[CopyAsync]:
    return [n for n in walk_body(kernel.body) if isinstance(n, CopyAsync) and n.across == "cluster"]


def cluster_problems(kernel: Kernel, sizes: tuple[str, ...], known: Multiples) -> Iterator[Diagnostic]:
    """Why the blocks of a cluster might ask for different copies, of a kernel in core form."""
    copies = shared_copies(kernel)
    if not copies:
        return
    span = copies[0].span
    loops = [s for s in kernel.body if isinstance(s, For) and s.kind == "tiles"]
    if kernel.cluster != PAIR or any(c.via != "tma" for c in copies):
        yield diagnostic(Code.UNSUPPORTED, span, "pairs of blocks share copies by TMA alone", 'cluster=2, via="tma"')
        return
    inside = [n for loop in loops for n in walk(loop) if isinstance(n, CopyAsync) and n.across == "cluster"]
    if len(loops) != 1 or len(loops[0].targets) != PAIR or len(inside) != len(copies):
        message, hint = "copies are shared inside one loop over tiles", "for bm, bn in tiles(…)"
        yield diagnostic(Code.UNSUPPORTED, span, message, hint)
        return
    (loop,) = loops
    if (unsafe := _other_order(kernel, copies, loop)) is not None:
        node, message = unsafe
        yield diagnostic(Code.UNSUPPORTED, node.span, message, "one ring, which the shared copies fill, and roles")
        return
    if not _pairs(loop, known):
        message = f"neighbouring tiles of order={loop.order} need not lie in one column"
        hint = "an even number of rows of tiles, such as 2 * cdiv(M, 256), and order=group_m(G) with an even G"
        yield diagnostic(Code.UNSUPPORTED, loop.span, message, hint)
        return
    equal = {*sizes, loop.targets[1], f"{loop.targets[0]}.n"}
    equal |= {t for n in walk(loop) if isinstance(n, For) and n.kind != "tiles" for t in n.targets}
    for node in walk(loop):
        match node:
            case CopyAsync(across="cluster"):
                used, what = _variables(node), "a shared copy"
            case For(bounds=bounds) if node is not loop:
                used, what = frozenset[str]().union(*map(variables, bounds)), "a loop beside shared copies"
            case If(condition=condition):
                used, what = variables(condition), "a branch beside shared copies"
            case _:
                continue
        if used - equal:
            message = f"{what} depends on {', '.join(sorted(used - equal))}, which differ from block to block"
            yield diagnostic(Code.UNSUPPORTED, node.span, message, f"let it depend on {loop.targets[1]} alone")


def _other_order(kernel: Kernel, copies: list[CopyAsync], loop: For) -> tuple[Node, str] | None:
    """What else than one ring's barriers might order a block's loads after its uses; names with dots are rings'."""
    bars = [s for s in kernel.body if isinstance(s, Assign) and isinstance(s.value, MBar)]
    rings = {s.targets[0].rpartition(".")[0] for s in bars}
    if len(rings) != 1 or "" in rings:
        return bars[-1] if bars else copies[0], "shared copies need a ring, and no barrier in memory beside it"
    (ring,) = rings
    for c in copies:
        if not base(c.dst).name.startswith(f"{ring}."):
            return c, "a shared copy fills a stage of a ring"
    for n in walk(loop):
        if isinstance(n, Barrier) and n.waves is None:
            return n, "a barrier of the whole block beside shared copies says nothing of the other block"
    return None


def _pairs(loop: For, known: Multiples) -> bool:
    """Whether tiles 2i and 2i + 1 lie in one column: all columns, of each group of rows, have an even height."""
    match = re.fullmatch(r"columns|group_m\((\d+)\)", loop.order)
    return (
        match is not None
        and (match[1] is None or int(match[1]) % PAIR == 0)
        and divisor(loop.bounds[0], known) % PAIR == 0
    )


def _variables(node: Node) -> frozenset[str]:
    """Names in the index expressions below a node."""
    found: frozenset[str] = frozenset()
    for inner in walk(node):
        for f in fields(inner):
            found |= _of(getattr(inner, f.name))
    return found


def _of(value: Any) -> frozenset[str]:  # noqa: ANN401 - fields of any node
    match value:
        case Const() | Var() | Op():
            e: Expr = value
            return frozenset(variables(e))
        case tuple():
            inner = cast("tuple[object, ...]", value)
            return frozenset[str]().union(*map(_of, inner))
        case _:
            return frozenset()
