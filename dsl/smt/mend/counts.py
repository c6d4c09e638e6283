"""How often things happen: trips of loops, blocks of the grid, conditions of branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import cast

from argus.dsl.diagnostics import Counterexample
from argus.dsl.ir import (
    Assign,
    Block,
    Field,
    For,
    If,
    Kernel,
    MmaAcc,
    Operand,
    Ref,
    Ring,
    Shared,
    Store,
    TileAt,
    View,
)
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import ZERO, Const, Expr, Op, OpKind, Var
from argus.dsl.smt.mend.change import Change, bodies, instead, without
from argus.dsl.targets.atoms import ATOMS


def loops(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """k-steps as many as a row holds; k-tiles rounded up; then as many trips as another loop makes."""
    del found
    all_of = [n for n in walk_body(kernel.body) if isinstance(n, For)]
    for loop in all_of:
        if loop.kind == "unroll" and (steps := _steps(kernel, loop)) and loop.bounds[1] != Const(steps):
            yield instead(kernel, [(loop, replace(loop, bounds=(loop.bounds[0], Const(steps))))])
    ranges = [n for n in all_of if n.kind == "range"]
    for loop in ranges:
        if loop.bounds[0] != ZERO:
            yield instead(kernel, [(loop, replace(loop, bounds=(ZERO, loop.bounds[1])))])
        for stop in _rounded(loop.bounds[1]):
            yield instead(kernel, [(loop, replace(loop, bounds=(loop.bounds[0], stop)))])
    for loop in ranges:
        for other in dict.fromkeys(n.bounds for n in ranges if n.bounds != loop.bounds):
            yield instead(kernel, [(loop, replace(loop, bounds=other))])


def grid(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Blocks rounded up, and as many as there are tiles to store."""
    for node in walk_body(kernel.body):
        if isinstance(node, For) and node.kind == "tiles":
            for i, (name, count) in enumerate(zip(node.targets, node.bounds, strict=True)):
                for new in (*_rounded(count), *_tiles(kernel, name, count)):
                    bounds = (*node.bounds[:i], new, *node.bounds[i + 1 :])
                    yield instead(kernel, [(node, replace(node, bounds=bounds))])
        if not (isinstance(node, Assign) and isinstance(node.value, Block)):
            continue
        block = node.value
        for i, (name, count) in enumerate(zip(node.targets, block.counts, strict=True)):
            for new in (*_rounded(count), *_tiles(kernel, name, count)):
                counts = (*block.counts[:i], new, *block.counts[i + 1 :])
                yield instead(kernel, [(block, replace(block, counts=counts))])
    yield from loops(kernel, found)


def repeated(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Of two equal statements in a row one left out; those at the counterexample first."""
    pairs = [(a, b) for body in bodies(kernel) for a, b in pairwise(body) if a == b]
    for _, second in sorted(pairs, key=lambda p: p[0].span.line != found.consumer.line):
        change = without(kernel, second)
        if change is not None:
            yield change


def guards(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Conditions one later or earlier, those near the counterexample first."""
    lines = {found.consumer.line, *([] if found.producer is None else [found.producer.line])}
    branches = [n for n in walk_body(kernel.body) if isinstance(n, If)]
    for branch in sorted(branches, key=lambda b: not any(n.span.line in lines for n in walk_body(b.body))):
        for condition in _moved(branch.condition):
            yield instead(kernel, [(branch, replace(branch, condition=condition))])


def pads(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """What lies outside a tensor counts as nothing."""
    del found
    for node in walk_body(kernel.body):
        if isinstance(node, TileAt) and node.pad:
            yield instead(kernel, [(node, replace(node, pad=0.0))])


def _steps(kernel: Kernel, loop: For) -> int | None:
    """How many k-steps of the loop's operands a row of their buffer holds."""
    assigned = [n for n in walk_body(kernel.body) if isinstance(n, Assign)]
    shared = {n.targets[0]: n.value for n in assigned if isinstance(n.value, Shared)}
    shared |= {name: buffer for n in assigned if isinstance(n.value, Ring) for name, buffer in n.value.buffers}
    atoms = {
        n.targets[0]: n.value.atom
        for n in walk_body(kernel.body)
        if isinstance(n, Assign) and isinstance(n.value, MmaAcc)
    }
    for node in walk_body(loop.body):
        if isinstance(node, Operand) and node.ks == Var(loop.targets[0]) and node.acc in atoms:
            buffer = shared.get(_buffer(node.src))
            if buffer is not None:
                return buffer.shape[-1] // (ATOMS[atoms[node.acc]].k * node.pack)
    return None


def _buffer(view: View) -> str:
    """The name of what a view lies in; of a stage its field."""
    while not isinstance(view, Ref | Field):
        view = view.src
    return view.name


def _rounded(count: Expr) -> Iterator[Expr]:
    """The count with a division rounded up and nothing added."""
    match count:
        case Op("//", args):
            yield Op("cdiv", args)
        case Op("+" | "-", (Op("cdiv" | "//", args), Const())):
            yield Op("cdiv", args)
        case _:
            return


def _tiles(kernel: Kernel, block: str, count: Expr) -> Iterator[Expr]:
    """As many tiles as a store that takes one a block needs along its axis."""
    for node in walk_body(kernel.body):
        view = node.view if isinstance(node, Store) else None
        while view is not None and not isinstance(view, TileAt):
            view = getattr(view, "src", None)
        if view is None:
            continue
        for extent, index in zip(view.shape, view.index, strict=True):
            match count:
                case Op("cdiv" | "//", (size, divisor)) if index == Var(block) and divisor != Const(extent):
                    yield Op("cdiv", (size, Const(extent)))
                case _:
                    pass


def _moved(condition: Expr) -> Iterator[Expr]:
    """A comparison with one more, one less, or with equality let in or out."""
    match condition:
        case Op("<" | "<=" | ">" | ">=" as kind, (left, right)):
            for sign in cast("tuple[OpKind, ...]", ("+", "-")):
                yield Op(kind, (_plus(left, 1 if sign == "+" else -1), right))
            flipped = cast("OpKind", kind[:-1] if kind.endswith("=") else f"{kind}=")
            yield Op(flipped, (left, right))
        case _:
            return


def _plus(expr: Expr, step: int) -> Expr:
    match expr:
        case Op("+" | "-" as sign, (rest, Const(value))):
            total = (value if sign == "+" else -value) + step
            return rest if total == 0 else Op("+" if total > 0 else "-", (rest, Const(abs(total))))
        case _:
            return Op("+" if step > 0 else "-", (expr, Const(abs(step))))
