"""Synchronisation put in, or waiting for more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from argus.dsl.diagnostics import Counterexample
from argus.dsl.ir import AwaitPhase, Barrier, Commit, CopyAsync, Fence, Kernel, MmaWait, Stmt, Wait
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import Const, Op
from argus.dsl.smt.mend.change import Change, after, before, bodies, instead, statement_at


def barriers(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """A barrier before the access that comes second, or before the other one: it may come first in the next trip."""
    for stmt in _places(kernel, found):
        yield before(kernel, stmt, (Barrier(span=stmt.span),))


def waits(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Copies closed into a group; one group or batch fewer left pending; a wait and a barrier before the use."""
    yield from _commits(kernel)
    for node in walk_body(kernel.body):
        if isinstance(node, Wait | MmaWait) and node.pending > 0:
            yield instead(kernel, [(node, replace(node, pending=node.pending - 1))])
    for stmt in _places(kernel, found)[:1]:
        yield before(kernel, stmt, (Wait(pending=0, span=stmt.span), Barrier(span=stmt.span)))
    yield from barriers(kernel, found)


def batches(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """One batch of matrix instructions fewer left pending, or a wait for all of them before the use."""
    for node in walk_body(kernel.body):
        if isinstance(node, MmaWait) and node.pending > 0:
            yield instead(kernel, [(node, replace(node, pending=node.pending - 1))])
    for stmt in _places(kernel, found)[:1]:
        yield before(kernel, stmt, (MmaWait(pending=0, span=stmt.span),))


def fences(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Ordinary writes made visible: after them, and before the barrier that publishes them."""
    producer = None if found.producer is None else statement_at(kernel.body, found.producer)
    if producer is not None and not hasattr(producer, "body"):
        yield after(kernel, producer, Fence(span=producer.span))
    for stmt in _places(kernel, found):
        yield before(kernel, stmt, (Fence(span=stmt.span),))


def phases(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Another completion of the barrier awaited; the one at the counterexample first."""
    awaits = [n for n in walk_body(kernel.body) if isinstance(n, AwaitPhase)]
    for node in sorted(awaits, key=lambda n: n.span.line != found.consumer.line):
        for sign in ("-", "+"):
            yield instead(kernel, [(node, replace(node, completion=Op(sign, (node.completion, Const(1)))))])


def _commits(kernel: Kernel) -> Iterator[Change]:
    """A group closed after each run of copies that nothing closes."""
    for body in bodies(kernel):
        for stmt, following in zip(body, (*body[1:], None), strict=True):
            if isinstance(stmt, CopyAsync) and stmt.via != "tma" and not isinstance(following, CopyAsync | Commit):
                yield after(kernel, stmt, Commit(span=stmt.span))


def _places(kernel: Kernel, found: Counterexample) -> list[Stmt]:
    """The statements of both accesses, the consumer's first."""
    spans = [found.consumer, *([] if found.other is None else [found.other.span])]
    held = (statement_at(kernel.body, span) for span in spans)
    return list({id(stmt): stmt for stmt in held if stmt is not None}.values())
