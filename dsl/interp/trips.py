"""Problem sizes that bring out mistakes: few, several and many loop trips, ragged tails, one block and more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import product

from argus.dsl.interp.expression import Compiled, compiled
from argus.dsl.interp.program import size_symbols, statements
from argus.dsl.ir.nodes import Assign, Block, For, Kernel, Shared, Split
from argus.dsl.layout import ZERO, Const, Expr, Op, Var, cdiv, names

_LARGEST = 4096  # the search for a size ends here
_MOST_STAGES = 12


def trip_sizes(core: Kernel, *, stages: int | None = None) -> list[dict[str, int]]:
    """Sizes at which the kernel's loops over sizes run 1, 2, S and 2 S + 1 times, with ragged and with whole tails.

    S is the number of stages: the least common multiple of the moduli by which shared buffers are indexed. Loops that
    start at 1 also run no time. Along the axes of the grid lie one to three blocks, the last one ragged, different
    numbers along different axes so that exchanged indices show.

    Raises:
        ValueError: If no sizes up to a few thousand satisfy the preconditions.
    """
    depth = stages or stage_count(core)
    search = _Search(core)
    found: list[dict[str, int]] = []
    for turn, trips in enumerate(sorted({0, 1, 2, depth, 2 * depth + 1})):
        for full in (False, True):
            # The longest loop runs on the smallest grid: what matters about blocks is seen before.
            blocks = ((1, 2), (2, 1), (2, 3))[(turn + full) % 3] if trips <= depth else (1, 1)
            sizes = search.sizes(trips, full=full, blocks=blocks)
            if sizes is not None and sizes not in found:
                found.append(sizes)
    if not found:
        raise ValueError(f"no sizes up to {_LARGEST} satisfy the preconditions of {core.name}")
    return found


def stage_count(core: Kernel) -> int:
    """How many loop iterations it takes until every shared buffer is indexed as before."""
    moduli = {
        m
        for stmt in statements(core.body)
        if not (isinstance(stmt, Assign) and isinstance(stmt.value, Shared))
        for e in _expressions(stmt)
        for m in _moduli(e)
    }
    return min(math.lcm(*moduli), _MOST_STAGES) if moduli else 1


def _expressions(value: object) -> Iterator[Expr]:
    """Index expressions inside a statement, those of inner statements too."""
    if isinstance(value, Const | Var | Op):
        yield value
    elif isinstance(value, tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _expressions(item)  # pyright: ignore[reportUnknownArgumentType]
    elif is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            if f.name != "span":
                yield from _expressions(getattr(value, f.name))


def _moduli(e: Expr) -> Iterator[int]:
    if isinstance(e, Op):
        if e.kind == "%" and isinstance(e.args[1], Const):
            yield e.args[1].value
        for arg in e.args:
            yield from _moduli(arg)


@dataclass(frozen=True, slots=True)
class _Loop:
    start: Compiled
    stop: Compiled
    mentions: frozenset[str]


class _Search:
    """Sizes by trip counts; what a loop or grid needs of a size is found by trying values."""

    def __init__(self, core: Kernel) -> None:
        self._symbols = size_symbols(core)
        self._where = [(names(p), compiled(p)) for p in core.where]
        self._loops: list[_Loop] = []
        self._bounds: dict[str, tuple[frozenset[str], Compiled]] = {}  # of split(): variables, value
        self._counts: list[tuple[str, frozenset[str], Compiled]] = []  # index name, variables, count
        for stmt in statements(core.body):
            if isinstance(stmt, For) and stmt.kind == "range":
                start, stop = stmt.bounds
                mentions = names(start) | names(stop)
                through = [self._bounds[n][0] for n in mentions if n in self._bounds]
                self._loops.append(_Loop(compiled(start), compiled(stop), mentions.union(*through)))
            elif isinstance(stmt, For) and stmt.kind == "tiles":
                self._add_counts(stmt.targets, stmt.bounds)
            elif isinstance(stmt, Assign) and isinstance(stmt.value, Block):
                self._add_counts(stmt.targets, stmt.value.counts)
            elif isinstance(stmt, Assign) and isinstance(stmt.value, Split):
                self._add_split(stmt.targets, stmt.value)

    def _add_counts(self, targets: Sequence[str], counts: Sequence[Expr]) -> None:
        self._counts += [(t, names(c), compiled(c)) for t, c in zip(targets, counts, strict=True)]

    def _add_split(self, targets: Sequence[str], split: Split) -> None:
        """The first part stands for all: from 0 to the n-th part of the range."""
        begin, end = targets
        length = cdiv(split.n, split.parts)
        self._bounds |= {begin: (frozenset(), compiled(ZERO)), end: (names(length), compiled(length))}

    def sizes(self, trips: int, *, full: bool, blocks: tuple[int, ...]) -> dict[str, int] | None:
        """Sizes for a trip count; `full`: the last tile of the loop is whole. None: there are none."""
        options = {s: self._options(s, trips, full=full, blocks=blocks) for s in self._symbols}
        # Preconditions may relate several sizes: take the first combination that satisfies them.
        for pick in product(*(options[s] for s in self._symbols)):
            sizes = dict(zip(self._symbols, pick, strict=True))
            if all(holds(sizes) for mentions, holds in self._where if mentions <= sizes.keys()):
                return sizes
        return None

    def _options(self, symbol: str, trips: int, *, full: bool, blocks: tuple[int, ...]) -> Sequence[int]:
        alone = [holds for mentions, holds in self._where if mentions == frozenset({symbol})]
        values = [v for v in range(1, _LARGEST + 1) if all(holds({symbol: v}) for holds in alone)]
        if any(symbol in loop.mentions for loop in self._loops):
            return _some(self._matching(values, lambda v: self._trips(symbol, v), trips), full=full)
        axes = [i for i, (_, mentions, _) in enumerate(self._counts) if mentions == frozenset({symbol})]
        if axes:
            count = self._counts[axes[0]][2]
            return _some(
                self._matching(values, lambda v: count({symbol: v}), blocks[axes[0] % len(blocks)]), full=False
            )
        return (*values[1:6:2], *values[:1])

    def _matching(self, values: Sequence[int], measure: Callable[[int], int], wanted: int) -> Sequence[int]:
        """The values whose measure is as wanted; measures grow with the value, so the search may stop."""
        found: list[int] = []
        for value in values:
            got = measure(value)
            if got == wanted:
                found.append(value)
            elif got > wanted:
                break
        return found

    def _trips(self, symbol: str, value: int) -> int:
        """Trips of the loop that the size bounds, in the last block; of several, the largest."""
        env = dict.fromkeys(self._symbols, value)
        for name, mentions, count in self._counts:
            env[name] = max(0, count(env) - 1) if mentions <= env.keys() else 0
        env |= {name: value(env) for name, (mentions, value) in self._bounds.items() if mentions <= env.keys()}
        mine = [loop for loop in self._loops if symbol in loop.mentions and loop.mentions <= env.keys()]
        return max((loop.stop(env) - loop.start(env) for loop in mine), default=0)


def _some(values: Sequence[int], *, full: bool) -> Sequence[int]:
    """The largest, which fills the last tile; or one about a third of the way up, and the smallest."""
    if not values:
        return ()
    return (values[-1],) if full else tuple(dict.fromkeys((values[len(values) // 3], values[0])))
