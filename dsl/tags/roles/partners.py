"""Which loops of several teams run side by side: those of equal bounds that meet at barriers."""

from __future__ import annotations

from collections.abc import Mapping

from argus.dsl.ir import Arrive, AwaitPhase, Barrier, For
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout.affine import Affine

Bounds = Mapping[int, tuple[Affine, Affine]]


def partners(loops: Mapping[int, For], bounds: Bounds) -> list[dict[int, For]]:
    """The loops of the teams in groups that run together, in the order of the teams."""
    left = dict(loops)
    out = list[dict[int, For]]()
    while left:
        first = next(iter(left))
        group = {first: left.pop(first)}
        while found := [t for t in left if bounds[t] == bounds[first] and _meets(left[t], group)]:
            group |= {t: left.pop(t) for t in found}
        out.append({t: loops[t] for t in sorted(group)})
    return out


def _meets(loop: For, group: Mapping[int, For]) -> bool:
    mine = _barriers(loop)
    return any(other is loop or not mine.isdisjoint(_barriers(other)) for other in group.values())


def _barriers(loop: For) -> frozenset[str]:
    """Names of mbarriers; barriers of waves count as one more."""
    found = set[str]()
    for node in walk_body(loop.body):
        if isinstance(node, AwaitPhase | Arrive):
            found.add(node.bar)
        elif isinstance(node, Barrier):
            found.add("")
    return frozenset(found)
