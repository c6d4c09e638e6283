"""Slips in synchronisation: counts, phases, participants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from argus.dsl import ir
from argus.dsl.layout import Const, Expr, Op, Var
from argus.evals.mutation.places import Scene, shifts

WARPGROUP = 4  # warps


def wait_count(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401 - any node
    del scene
    if isinstance(node, ir.Wait):
        yield replace(node, pending=node.pending + 1)
        if node.pending:
            yield replace(node, pending=node.pending - 1)
    if isinstance(node, ir.Use):
        yield replace(node, keep=node.keep + 1)
        if node.keep:
            yield replace(node, keep=node.keep - 1)


def mma_wait_count(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    del scene
    if isinstance(node, ir.MmaWait):
        yield replace(node, pending=node.pending + 1)
        yield replace(node, pending=node.pending + 2)
        if node.pending:
            yield replace(node, pending=node.pending - 1)


def completion(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Another completion of the barrier awaited, or that of another slot."""
    del scene
    if isinstance(node, ir.AwaitPhase):
        yield replace(node, completion=Op("+", (node.completion, Const(1))))
        yield replace(node, completion=Op("-", (node.completion, Const(1))))
        yield from _slots(node)


def arrival(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """An arrival at another slot, or at another barrier."""
    if isinstance(node, ir.Arrive):
        yield from _slots(node)
    if isinstance(node, ir.Arrive | ir.AwaitPhase):
        for other in scene.mbars:
            if other != node.bar:
                yield replace(node, bar=other)


def _slots(node: ir.Arrive | ir.AwaitPhase) -> Iterator[Any]:
    yield from (replace(node, slot=slot) for slot in shifts(node.slot))
    if node.slot != Const(0):
        yield replace(node, slot=Const(0))


def byte_count(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    del scene
    if isinstance(node, ir.Arrive) and node.bytes is not None:
        for wrong in (node.bytes // 2, node.bytes * 2, node.bytes + 16, node.bytes - 16, None):
            yield replace(node, bytes=wrong)


def arrival_count(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """A barrier that counts more or fewer arrivals than come, or that has fewer slots than the ring has stages."""
    del scene
    if isinstance(node, ir.MBar):
        for wrong in {node.arrivals + 1, node.arrivals - 1, node.arrivals * 2, node.arrivals // 2} - {node.arrivals}:
            if wrong > 0:
                yield replace(node, arrivals=wrong)
        if node.count > 1:
            yield replace(node, count=node.count - 1)


def participants(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """A barrier of other waves: of the whole block instead of the role's, or of a number that does not fit."""
    del scene
    if isinstance(node, ir.Barrier):
        if node.waves is None:
            yield replace(node, waves=WARPGROUP)
        else:
            yield replace(node, waves=None)
            yield replace(node, waves=node.waves + WARPGROUP)
            yield replace(node, waves=node.waves * 2)
            if node.waves > WARPGROUP:
                yield replace(node, waves=node.waves - WARPGROUP)


def phase_shift(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    del scene
    if isinstance(node, ir.Shift):
        for wrong in {node.waves + 1, node.waves - 1, node.waves * 2, node.waves // 2} - {node.waves, 0}:
            yield replace(node, waves=wrong)


def group_index(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """The first group's index for every group, or the groups exchanged."""
    if isinstance(node, ir.TileAt):
        for i, index in enumerate(node.index):
            for wrong in _groups(index, scene):
                yield replace(node, index=(*node.index[:i], wrong, *node.index[i + 1 :]))
    if isinstance(node, ir.At):
        yield from (replace(node, index=wrong) for wrong in _groups(node.index, scene))
    if isinstance(node, ir.Rows | ir.Cols):
        yield from (replace(node, start=wrong) for wrong in _groups(node.start, scene))


def _groups(e: Expr, scene: Scene) -> Iterator[Expr]:
    match e:
        case Var(name) if name in scene.groups:
            yield Const(0)
            yield Op("-", (Const(1), e))
        case Op(kind, args):
            for i, arg in enumerate(args):
                for changed in _groups(arg, scene):
                    yield Op(kind, (*args[:i], changed, *args[i + 1 :]))
        case _:
            pass


def role_size(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """A role divided into another number of groups."""
    del scene
    if isinstance(node, ir.Role):
        for wrong in {1, 2, node.groups * 2} - {node.groups}:
            yield replace(node, groups=wrong)
