"""Over the whole grid, each element of an output is written exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from argus.dsl.ir import Ensures
from argus.dsl.layout.affine import Affine, Formula, formula_variables, ge, var
from argus.dsl.tags.context import Context
from argus.dsl.tags.obligations import Box, Finding, Goal, WritesOnce
from argus.dsl.tags.state import State

Blocks = Sequence[tuple[str, Affine]]


def coverage(cx: Context, blocks: Blocks, finals: Sequence[State]) -> None:
    """Record the coverage goals of all outputs, given the states in which the kernel may end."""
    for ensures in cx.kernel.ensures:
        obligation = cx.registry.get("coverage", -1, ensures.tensor)
        obligation.raise_tier("affine")
        lost = [s.lost for s in finals if s.lost]
        for reason in lost:
            obligation.block(reason)
        if lost:
            continue
        cases = [_split(s, blocks) for s in finals]
        if any(of_blocks for _, of_blocks in cases):
            # Blocks take different paths, so all paths count together: they must be open at the same sizes.
            if len({of_sizes for of_sizes, _ in cases}) != 1:
                obligation.block("blocks take different paths under different sizes")
                continue
            groups = [list(zip(finals, cases, strict=True))]
        else:
            groups = [[pair] for pair in zip(finals, cases, strict=True)]
        for group in groups:
            boxes = tuple(
                _under(w.box, of_blocks)
                for s, (_, of_blocks) in group
                for w in s.done + s.open
                if w.tensor == ensures.tensor
            )
            extents = tuple(cx.evaluate(e) for e in cx.types.params[ensures.tensor].shape)
            claim = WritesOnce(boxes, extents, tuple(blocks))
            finding = _finding(cx, ensures, boxes)
            obligation.need(Goal(group[0][1][0], claim, lambda finding=finding: finding))


def _split(state: State, blocks: Blocks) -> tuple[tuple[Formula, ...], tuple[Formula, ...]]:
    """What a path assumes of sizes, and what of block indices beyond their ranges."""
    names = {name for name, _ in blocks}
    ranges = {f for name, count in blocks for f in (ge(var(name)), ge(count - var(name) - 1))}
    known = [f for f in state.hypotheses() if f not in ranges]
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
