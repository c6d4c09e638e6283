"""A statement and what surrounds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from argus.dsl.ir.linear import constant
from argus.dsl.ir.nodes import Elect, Fill, For, If, Kernel, Role, Stmt, Use
from argus.dsl.layout import Const, Expr, Op, evaluate
from argus.dsl.layout import names as variables

# More combinations of loop variables than this are not enumerated.
MAX_COMBINATIONS = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands.

    Attributes:
        depth: Blocks around it.
        role, elect, branch: The innermost role, elect and `if` around it.
        fills: Rings whose fill is open.
        ranges: Loop variables of constant range, as (first, last).
        wave_dependent: Names that differ from wave to wave.
    """

    depth: int = 0
    role: Role | None = None
    elect: Elect | None = None
    branches: tuple[If, ...] = ()
    fills: frozenset[str] = frozenset()
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    wave_dependent: frozenset[str] = frozenset()

    def waves(self, kernel: Kernel) -> int:
        """Waves that work together here: a role's group, or the block."""
        return kernel.waves if self.role is None else self.role.waves // self.role.groups

    def bounds(self, e: Expr) -> tuple[int, int] | None:
        """The least and the greatest value of `e`, where every value between is decided by constant loops."""
        match e:
            case Op("%", (_, Const(n))) if n > 0 and constant(e) is None:
                return 0, n - 1
            case _:
                pass
        names = sorted(variables(e))
        if not all(n in self.ranges for n in names):
            return None
        spans = [range(self.ranges[n][0], self.ranges[n][1] + 1) for n in names]
        total = 1
        for span in spans:
            total *= len(span)
        if not 0 < total <= MAX_COMBINATIONS:
            return None
        try:
            values = [evaluate(e, dict(zip(names, point, strict=True))) for point in product(*spans)]
        except ZeroDivisionError:
            return None
        return min(values), max(values)


def places(kernel: Kernel) -> Iterator[tuple[Stmt, Place]]:
    """Every statement with its place, outer ones first."""
    yield from _body(kernel.body, Place())


def _body(body: tuple[Stmt, ...], place: Place) -> Iterator[tuple[Stmt, Place]]:
    for node in body:
        yield node, place
        inner = replace(place, depth=place.depth + 1)
        match node:
            case For():
                yield from _body(node.body, replace(inner, ranges=_ranges(node, place)))
            case If():
                inner = replace(inner, branches=(*place.branches, node))
                yield from _body(node.body, inner)
                yield from _body(node.orelse, inner)
            case Role(index=index):
                dependent = place.wave_dependent if index is None else place.wave_dependent | {index}
                yield from _body(node.body, replace(inner, role=node, wave_dependent=dependent))
            case Elect():
                yield from _body(node.body, replace(inner, elect=node))
            case Fill(ring=ring):
                yield from _body(node.body, replace(inner, fills=place.fills | {ring}))
            case Use():
                yield from _body(node.body, inner)
            case _:
                pass


def _ranges(node: For, place: Place) -> Mapping[str, tuple[int, int]]:
    out = {n: r for n, r in place.ranges.items() if n not in node.targets}
    if node.kind == "tiles":
        return out
    start, stop = place.bounds(node.bounds[0]), place.bounds(node.bounds[1])
    if start is not None and stop is not None and start[0] == start[1] and stop[0] == stop[1] and start[0] < stop[0]:
        out[node.targets[0]] = (start[0], stop[0] - 1)
    return out
