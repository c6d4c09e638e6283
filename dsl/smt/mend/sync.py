"""Synchronisation put in, or waiting for more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from argus.dsl.diagnostics import Counterexample
from argus.dsl.ir import Arrive, AwaitPhase, Barrier, Commit, CopyAsync, Fence, Kernel, MBar, MmaWait, Role, Stmt, Wait
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import names
from argus.dsl.smt.mend.change import Change, after, before, bodies, instead, role_of, statements_at
from argus.dsl.smt.mend.views import moved, shifted


def barriers(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """A barrier before the access that comes second, or before the other one: it may come first in the next trip."""
    for stmt in _places(kernel, found):
        yield before(kernel, stmt, (_barrier(kernel, stmt),))


def waits(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Copies closed into a group; one group or batch fewer left pending; a wait and a barrier before the use."""
    yield from _commits(kernel)
    for node in walk_body(kernel.body):
        if isinstance(node, Wait | MmaWait) and node.pending > 0:
            yield instead(kernel, [(node, replace(node, pending=node.pending - 1))])
    for stmt in _places(kernel, found)[:1]:
        yield before(kernel, stmt, (Wait(pending=0, span=stmt.span), _barrier(kernel, stmt)))
        role = role_of(kernel, stmt)
        last = (kernel if role is None else role).body[-1]
        yield after(kernel, last, Wait(pending=0, span=last.span))
    yield from barriers(kernel, found)


def batches(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """One batch of matrix instructions fewer left pending, or a wait for all of them before the use."""
    for node in walk_body(kernel.body):
        if isinstance(node, MmaWait) and node.pending > 0:
            yield instead(kernel, [(node, replace(node, pending=node.pending - 1))])
    for stmt in _places(kernel, found)[:1]:
        yield before(kernel, stmt, (MmaWait(pending=0, span=stmt.span),))


def fences(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Ordinary writes made visible: before the barrier that publishes them, or before they are read."""
    meetings = [n for n in walk_body(kernel.body) if isinstance(n, Barrier)]
    for barrier in sorted(meetings, key=lambda b: (b.span.line > found.consumer.line, -b.span.line)):
        yield before(kernel, barrier, (Fence(span=barrier.span),))
    for stmt in _places(kernel, found):
        yield before(kernel, stmt, (Fence(span=stmt.span),))


def phases(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Another completion of the barrier awaited; the one at the counterexample first."""
    awaits = [n for n in walk_body(kernel.body) if isinstance(n, AwaitPhase)]
    for node in sorted(awaits, key=lambda n: n.span.line != found.consumer.line):
        for completion in shifted(node.completion):
            yield instead(kernel, [(node, replace(node, completion=completion))])


def arrivals(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """The bytes that the counterexample names; other slots; as many arrivals as a role has waves."""
    wanted = re.search(r"bytes=(\d+)", found.fix)
    nodes = list(walk_body(kernel.body))
    for node in nodes:
        if wanted and isinstance(node, Arrive) and node.span.line == found.consumer.line:
            yield instead(kernel, [(node, replace(node, bytes=int(wanted[1])))])
    waits = [n for n in nodes if isinstance(n, AwaitPhase)]
    slots = dict.fromkeys(n.slot for n in nodes if isinstance(n, AwaitPhase | Arrive))
    for node in sorted(waits, key=lambda n: n.span.line != found.consumer.line):
        yield from _a_trip_away(kernel, node)
        for slot in slots:
            if slot != node.slot:
                yield instead(kernel, [(node, replace(node, slot=slot))])
    yield from participants(kernel, found)


def participants(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Barriers that count as many arrivals as a role has waves."""
    del found
    nodes = list(walk_body(kernel.body))
    roles = [n for n in nodes if isinstance(n, Role)]
    counts = dict.fromkeys((*(r.waves for r in roles), *(r.waves // r.groups for r in roles), 1))
    bars = [n for n in nodes if isinstance(n, MBar)]
    # Those that waves arrive at, not the one lane that copies.
    for node in sorted(bars, key=lambda n: n.arrivals == 1):
        for count in counts:
            if count != node.arrivals:
                yield instead(kernel, [(node, replace(node, arrivals=count))])


def _a_trip_away(kernel: Kernel, node: AwaitPhase) -> Iterator[Change]:
    """Slot and completion of the trip before or after."""
    for variable in names(node.slot):
        for step in (-1, 1):
            slot, completion = (moved(e, variable, step) for e in (node.slot, node.completion))
            yield instead(kernel, [(node, replace(node, slot=slot, completion=completion))])


def _barrier(kernel: Kernel, stmt: Stmt) -> Barrier:
    """A barrier of all who run the statement."""
    role = role_of(kernel, stmt)
    some = role is not None and kernel.target == "sm_90a" and role.waves // role.groups != kernel.waves
    return Barrier(waves=role.waves // role.groups if role is not None and some else None, span=stmt.span)


def _commits(kernel: Kernel) -> Iterator[Change]:
    """A group closed after each run of copies that nothing closes."""
    for body in bodies(kernel):
        for stmt, following in zip(body, (*body[1:], None), strict=True):
            if isinstance(stmt, CopyAsync) and stmt.via != "tma" and not isinstance(following, CopyAsync | Commit):
                yield after(kernel, stmt, Commit(span=stmt.span))


def _places(kernel: Kernel, found: Counterexample) -> list[Stmt]:
    """The statements of both accesses, the consumer's first."""
    spans = [found.consumer, *([] if found.other is None else [found.other.span])]
    held = [statements_at(kernel.body, span) for span in spans]
    likeliest = [s[0] for s in held if s]
    return list({id(stmt): stmt for stmt in (*likeliest, *(s for inner in held for s in inner))}.values())
