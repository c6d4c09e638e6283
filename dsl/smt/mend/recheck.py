"""A changed kernel checked again: what is not proved of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from argus.dsl.diagnostics import KernelError
from argus.dsl.ir import Kernel
from argus.dsl.ir.infer import infer
from argus.dsl.ir.verify import verify
from argus.dsl.smt.discharge import provable
from argus.dsl.smt.z3_door import Door
from argus.dsl.tags.analysis import analyse
from argus.dsl.tags.obligations import Obligation
from argus.dsl.transform import to_core

Key = tuple[str, int, int, int]  # of an obligation: kind, line, column, which of several such


def keyed(obligations: Sequence[Obligation]) -> Iterator[tuple[Key, Obligation]]:
    """Obligations by what edits keep: kind and place, not text."""
    count = Counter[tuple[str, int, int]]()
    for o in obligations:
        place = (o.kind, o.span.line, o.span.col)
        yield (*place, count[place]), o
        count[place] += 1


@dataclass(frozen=True, slots=True)
class Recheck:
    """Checks kernels that have the contract of the one that `door` is for. Nothing is replayed."""

    door: Door

    def __call__(
        self, changed: Kernel, may_fail: frozenset[Key], wanted: frozenset[Key] = frozenset()
    ) -> frozenset[Key] | None:
        """The obligations that are not proved.

        None as soon as one of them is not in `may_fail`, or when all that are `wanted` are among them.
        """
        try:
            core = to_core(changed)
            verify(core)
            analysis = analyse(core, infer(core), self.door)
        except KernelError:
            return None
        left = set[Key]()
        for key, o in sorted(keyed(analysis.registry.all), key=lambda k: k[0] not in wanted):
            if wanted and key not in wanted and wanted <= left:
                return None
            if not (provable(o, self.door) if o.met else o.origin == "implicit"):
                left.add(key)
                if key not in may_fail:
                    return None
        return frozenset(left)
