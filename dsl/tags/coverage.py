"""Over the whole grid, each element of an output is written exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from argus.dsl.ir import Ensures
from argus.dsl.layout.affine import (
    Affine,
    Formula,
    application,
    conjunction,
    eq,
    formula_variables,
    ge,
    negation,
    var,
)
from argus.dsl.tags.boxes import joined
from argus.dsl.tags.context import Context
from argus.dsl.tags.obligations import POINTS, Box, Finding, Goal, Holds, Obligation, WritesOnce
from argus.dsl.tags.parts import chosen_by_part
from argus.dsl.tags.rounds import ROUND, mentions_round, without_rounds
from argus.dsl.tags.state import State, Write, substitute_write, write_symbols

Blocks = Sequence[tuple[str, Affine]]


def coverage(cx: Context, blocks: Blocks, finals: Sequence[State], tiles: Sequence[Sequence[State]]) -> None:
    """Record the coverage goals of all outputs.

    Args:
        cx: The analysis.
        blocks: Block and tile indices, with their counts.
        finals: The states in which the kernel may end.
        tiles: For each state in which a tile of a persistent grid may begin, those in which it may end.
    """
    outside = tiles and any(s.done or s.open for s in finals)
    for ensures in cx.kernel.ensures:
        obligation = cx.registry.get("coverage", -1, ensures.tensor)
        obligation.raise_tier("affine")
        reasons = [s.lost for s in finals if s.lost] or ([] if finals else ["no path reaches the end of the kernel"])
        if outside:
            reasons.append("a store outside the loop over tiles runs once for each persistent block")
        reasons += _unlike(cx, ensures, tiles)
        for reason in reasons:
            obligation.block(reason)
        if not reasons:
            for ends in tiles or (finals,):
                _cover(cx, blocks, ends, ensures, obligation)


def _unlike(cx: Context, ensures: Ensures, tiles: Sequence[Sequence[State]]) -> list[str]:
    """Why the shares of a tile cannot be counted together: each must add to the same elements, whatever its bounds."""
    part = cx.part
    if part is None or not part.of_tile:
        return []
    writes = [[w for w in s.done + s.open if w.tensor == ensures.tensor] for ends in tiles for s in ends]
    if not ensures.over or not all(w.adds for way in writes for w in way):
        return [f"shares of a tile write {ensures.tensor}, and only what they add is counted together"]
    ways = [[replace(w, box=_under(w.box, ())) for w in way] for way in writes]
    symbols = frozenset[str]().union(*(write_symbols(w) for way in ways for w in way))
    if any(s in (part.begin, part.end) or ROUND in s for s in symbols) or any(way != ways[0] for way in ways):
        return [f"where a share adds to {ensures.tensor} depends on what it holds of the tile"]
    return []


def _cover(cx: Context, blocks: Blocks, ends: Sequence[State], ensures: Ensures, obligation: Obligation) -> None:
    """The goals for one output, given the ways in which a block (or a tile) may end."""
    writes = [w for s in ends for w in s.done + s.open if w.tensor == ensures.tensor]
    adds = any(w.adds for w in writes)
    if adds and not all(w.adds for w in writes):
        obligation.block(f"{ensures.tensor} is both stored and added to")
        return
    if cx.part is not None and any(chosen_by_part(cx.part, s.hypotheses()) for s in ends):
        obligation.block(f"whether {ensures.tensor} is written depends on the part of a split")
        return
    paths = dict[tuple[Formula, ...], list[tuple[State, tuple[Formula, ...]]]]()
    for end in ends:
        of_sizes, of_blocks = _split(end, blocks)
        if any(mentions_round(f) for f in of_blocks):
            obligation.block("which path a block takes depends on how a loop ended")
            return
        paths.setdefault(of_sizes, []).append((end, of_blocks))
    extents = _extents(cx, ensures, writes, obligation)
    apart = True
    if any(of_blocks for group in paths.values() for _, of_blocks in group):
        # Blocks take different paths, so all paths that are open at the same sizes count together.
        apart = all(not cx.oracle.consistent((*x, *y)) for x, y in combinations(paths, 2))
    if not apart:
        obligation.block("blocks take different paths under different sizes")
        return
    whole = any(of_blocks for group in paths.values() for _, of_blocks in group)
    groups = [(sizes, part) for sizes, g in paths.items() for part in ([g] if whole else [[p] for p in g])]
    for of_sizes, group in groups:
        boxes = tuple(
            _under(substitute_write(w, without_rounds(s.hypotheses())[1]).box, of_blocks)
            for s, of_blocks in group
            for w in s.done + s.open
            if w.tensor == ensures.tensor
        )
        claim = WritesOnce(joined(boxes), extents, tuple(blocks))
        finding = _finding(cx, ensures, boxes)
        for goal in _shared_out(cx, Goal(of_sizes, claim, lambda finding=finding: finding), writes, ensures):
            obligation.need(goal)


def _extents(cx: Context, ensures: Ensures, writes: Sequence[Write], obligation: Obligation) -> tuple[Affine, ...]:
    """What is to be covered: the output; where integers pick rows, their places."""
    extents = [cx.evaluate(e) for e in cx.types.params[ensures.tensor].shape]
    if len({w.through for w in writes}) > 1:
        obligation.block(f"rows of {ensures.tensor} are picked in several ways")
        return tuple(extents)
    for axis, tensor in writes[0].through if writes else ():
        (extents[axis],) = cx.assumptions.extents[tensor]
        if not writes[0].adds:
            _all_different(cx, ensures, axis, tensor, obligation)
    return tuple(extents)


def _all_different(cx: Context, ensures: Ensures, axis: int, tensor: str, obligation: Obligation) -> None:
    """Rows that are stored, not added, must be picked once."""
    rows = cx.evaluate(cx.types.params[ensures.tensor].shape[axis])
    everything = _names_all(cx, tensor, rows)
    if everything and cx.assumptions.extents[tensor] == (rows,):
        return  # as many places as rows, and each row is picked: each is picked once
    first, second = var(f"one place in {tensor}"), var(f"another place in {tensor}")
    (length,) = cx.assumptions.extents[tensor]
    inside = [f for place in (first, second) for f in (ge(place), ge(length - place - 1))]
    picked = [application(tensor, (place,)) for place in (first, second)]
    same = conjunction((*inside, ge(second - first - 1), eq(picked[0] - picked[1]), ge(picked[0])))
    finding = _finding(cx, ensures, ())
    text = f"two rows of {ensures.tensor} that {tensor} picks may be one: assume that they differ, or add atomically"
    finding = replace(finding, text=text, fix_class="contract missing")
    obligation.need(Goal((), Holds(negation(same)), lambda: finding))
    if not everything:
        obligation.block(f"whether {tensor} names every row of {ensures.tensor} is not known")


def _names_all(cx: Context, tensor: str, rows: Affine) -> bool:
    """Whether the contract says that each row is picked: `slot[f(t)] == t`, with f(t) a place in slot."""
    inverse = cx.assumptions.inverse(tensor)
    if inverse is None:
        return False
    row = var("a row")
    place = application(inverse, (row,))
    (length,) = cx.assumptions.extents[tensor]
    inside = (ge(row), ge(rows - row - 1))
    return not any(cx.oracle.consistent((*inside, out)) for out in (ge(-place - 1), ge(place - length)))


def _shared_out(cx: Context, goal: Goal, writes: Sequence[Write], ensures: Ensures) -> list[Goal]:
    """The goals if a range is shared out among the blocks of each tile; `writes` are those of all paths."""
    part, claim = cx.part, goal.claim
    if part is None:
        return [goal]
    assert isinstance(claim, WritesOnce)
    if ensures.over and any(w.adds for w in writes):
        # Every part adds to all of the output; one that holds nothing may leave it alone.
        return [replace(goal, facts=(*goal.facts, part.holds_something))]
    steps = [part.step(w.box.base[axis] for w in writes) for axis in range(len(claim.extents))]
    moved = [axis for axis, step in enumerate(steps) if step]
    if len(moved) != 1:
        # No part writes what is its own, so each writes the whole.
        return [replace(goal, claim=replace(claim, blocks=(*claim.blocks, ("part#", part.parts))))]
    (axis,) = moved
    inside = part.window(steps[axis], var(POINTS[axis]))
    finding = replace(goal.finding(), matters=(part.real(),))
    return [
        Goal(goal.facts, replace(claim, inside=inside), lambda: finding),
        Goal(goal.facts, Holds(part.reach(steps[axis], claim.extents[axis])), lambda: finding),
    ]


def _split(state: State, blocks: Blocks) -> tuple[tuple[Formula, ...], tuple[Formula, ...]]:
    """What a path assumes of sizes, and what of block indices beyond their ranges."""
    names = {name for name, _ in blocks}
    ranges = {f for name, count in blocks for f in (ge(var(name)), ge(count - var(name) - 1))}
    known = [f for f in without_rounds(state.hypotheses())[0] if f not in ranges]
    of_blocks = tuple(f for f in known if not formula_variables(f).isdisjoint(names))
    return tuple(f for f in known if f not in of_blocks), of_blocks


def _under(box: Box, path: tuple[Formula, ...]) -> Box:
    """The box with the conditions that bind its loop symbols, and the path's on block indices."""
    bound = {d.symbol for d in box.domains}
    own = tuple(f for f in box.given if not formula_variables(f).isdisjoint(bound))
    return replace(box, given=(*own, *path))


def _finding(cx: Context, ensures: Ensures, boxes: Sequence[Box]) -> Finding:
    sites = [span for b in boxes if (span := cx.span_of(b.site)) is not None]
    span = sites[0] if sites else ensures.span
    text = f"not every element of {ensures.tensor} is written exactly once"
    return Finding(text, span, {}, fix_class="bounds guard")
