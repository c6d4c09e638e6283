"""`split(n, parts)`: what the blocks of one tile share out among them, and what they add up.

The parts `begin` to `end` are disjoint and cover range(n) by construction. So what all parts do together follows from
what one of them does: if each part holds the coordinates `step * begin` to `step * end - 1` once and no others, then
all parts together hold those below `step * n` once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from argus.dsl.layout.affine import (
    TRUE,
    Affine,
    Formula,
    conjunction,
    disjunction,
    eq,
    floordiv,
    formula_atoms,
    formula_symbols,
    ge,
    var,
)

MOST_PARTS = 16  # written out for witnesses

# Mark the bounds of what a share of many tiles holds of one of them; they differ from tile to tile.
BEGIN, END = ".begin", ".end"


@dataclass(frozen=True, slots=True)
class Part:
    """This block's part: the symbols of its bounds, the length of the range, the number of parts."""

    begin: str
    end: str
    whole: Affine
    parts: Affine

    @property
    def of_tile(self) -> bool:
        """Each tile is parted in its own way."""
        return self.begin.endswith(BEGIN)

    @property
    def ranges(self) -> tuple[Formula, ...]:
        begin, end = var(self.begin), var(self.end)
        return ge(begin), ge(end), ge(end - begin), ge(self.whole - end)

    @property
    def holds_something(self) -> Formula:
        return ge(var(self.end) - var(self.begin) - 1)

    def mentioned(self, f: Formula) -> bool:
        return not formula_symbols(f).isdisjoint((self.begin, self.end))

    def tangled(self, forms: Iterable[Affine], formulas: Iterable[Formula]) -> bool:
        """Whether the bounds occur other than in sums, as in `min(end - t * n, n)`: then `step` says nothing."""
        atoms = [a for f in forms for a, _ in f.terms] + [a for f in formulas for a in formula_atoms(f)]
        return any(a.kind != "var" and not a.variables().isdisjoint((self.begin, self.end)) for a in atoms)

    def step(self, forms: Iterable[Affine]) -> int:
        """How far what a part holds moves with the part; 0 if it does not."""
        return next((c for f in forms if (c := f.coefficient(self.begin))), 0)

    def window(self, step: int, point: Affine) -> Formula:
        """The coordinate belongs to this part."""
        return conjunction((ge(point - var(self.begin) * step), ge(var(self.end) * step - point - 1)))

    def reach(self, step: int, extent: Affine) -> Formula:
        """The parts together reach the end."""
        return ge(self.whole * step - extent)

    def real(self) -> Formula:
        """The bounds are those of some part of nearly equal ones, where the number of parts is small."""
        if not self.parts.is_const or not 0 < self.parts.const <= MOST_PARTS:
            return TRUE
        size = floordiv(self.whole + (self.parts.const - 1), self.parts.const)
        return disjunction(
            conjunction((_least(self.begin, size * p, self.whole), _least(self.end, size * (p + 1), self.whole)))
            for p in range(self.parts.const)
        )


def _least(name: str, a: Affine, b: Affine) -> Formula:
    """`name` is the lesser of two forms."""
    return disjunction((conjunction((eq(var(name) - a), ge(b - a))), conjunction((eq(var(name) - b), ge(a - b)))))


def chosen_by_part(part: Part, facts: Iterable[Formula]) -> bool:
    """Whether a path was taken because of which part this is, other than by the length of a loop."""
    return any(
        part.mentioned(f) and f not in part.ranges and not any("@" in s for s in formula_symbols(f)) for f in facts
    )
