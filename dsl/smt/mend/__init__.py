"""Fixes found by trying: edits of the text after which a refuted obligation is proved, and no other is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

from argus.dsl.diagnostics import Counterexample, FixClass
from argus.dsl.ir import Kernel
from argus.dsl.smt.mend import counts, sync, views
from argus.dsl.smt.mend.change import Change
from argus.dsl.smt.mend.recheck import Key

Recheck = Callable[[Kernel, frozenset[Key], frozenset[Key]], frozenset[Key] | None]
Candidates = Callable[[Kernel, Counterexample], Iterator[Change]]

MOST_TRIALS = 12  # of one check, so that an explanation costs no more than a few checks

# Kinds of edits for each class, likeliest first.
CANDIDATES: Mapping[FixClass, tuple[Candidates, ...]] = {
    "missing barrier": (sync.barriers,),
    "missing wait": (sync.waits, sync.batches),
    "missing fence": (sync.fences,),
    "phase aliasing": (sync.phases, sync.participants, sync.arrivals),
    "stage off by n": (views.indices, counts.guards, views.rows, views.groups, views.names_of_memory),
    "k incomplete": (counts.loops, views.indices),
    "operand transposed": (views.orientation, views.names_of_memory, views.rows),
    "lane map": (views.packs,),
    "swizzle mismatch": (views.swizzles,),
    "bounds guard": (counts.grid, counts.pads, counts.guards),
    "trip counts differ": (counts.loops, sync.arrivals, counts.guards),
}
# Before these, where the kind of obligation tells more.
FIRST: Mapping[tuple[str, FixClass | None], tuple[Candidates, ...]] = {
    ("coverage", None): (counts.repeated, views.rows, views.groups, counts.grid),
    ("completeness", None): (counts.repeated, counts.loops),
    ("conformity", None): (views.indices, views.orientation, views.names_of_memory),
    ("wait", "stage off by n"): (counts.repeated,),
    ("bounds", "bounds guard"): (views.rows, views.indices),
    ("epilogue", "stage off by n"): (views.rows, views.groups),
    ("deadlock", None): (sync.arrivals,),
    ("deadlock", "stage off by n"): (sync.arrivals,),
}


def mend(
    kernel: Kernel,
    refuted: Sequence[tuple[Key, Counterexample]],
    recheck: Recheck,
    *,
    dependent: frozenset[Key] = frozenset(),
    open_: frozenset[Key] = frozenset(),
) -> dict[Key, Change]:
    """Changes that make refuted obligations hold; each was checked. The first that makes all hold is taken for all.

    Args:
        kernel: As its author wrote it, so that each change is an edit of the text.
        refuted: The refuted obligations.
        recheck: Gives the obligations of a kernel that are not proved; None as soon as one is not that may not be left
            so, or if none is proved of those that are refuted now.
        dependent: What is unknown because something is refuted: proved once nothing is.
        open_: What is unknown for reasons of its own, and so may stay so. Then only a change after which nothing is
            refuted counts: less might only have moved what is wrong out of sight.
    """
    best: dict[Key, Change] = {}
    failing = frozenset(key for key, _ in refuted)
    trials = 0
    seen: set[object] = set()
    for change in _in_turn([_changes(kernel, found) for _, found in refuted]):
        if change.edits in seen:
            continue
        seen.add(change.edits)
        left = recheck(change.kernel, failing | dependent | open_, failing)
        trials += 1
        # Two mistakes may hide each other: what depended on the obligation has to hold as well.
        if left is not None and not (left & dependent and not left & failing):
            if not left & failing:
                return dict.fromkeys(failing, change)
            for mended in failing - left if not open_ else ():
                best.setdefault(mended, change)
        if trials == MOST_TRIALS:
            break
    return best


def _in_turn(sources: Sequence[Iterator[Change]]) -> Iterator[Change]:
    waiting = list(sources)
    while waiting:
        for source in list(waiting):
            change = next(source, None)
            if change is None:
                waiting.remove(source)
            else:
                yield change


def _changes(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    by_class = () if found.fix_class is None else CANDIDATES.get(found.fix_class, ())
    kinds = dict.fromkeys((*FIRST.get((found.kind, found.fix_class), ()), *by_class))
    return chain.from_iterable(candidates(kernel, found) for candidates in kinds)
