"""How many vector memory instructions each `wait(n)` may leave pending.

The counter of a wave counts instructions, not groups: copies issued after the youngest group that must be complete may
stay. Only copies are counted here: LLVM may drop or move other memory instructions, and waiting for fewer is always
right. The kernel is walked as a wave executes it, loops often enough that every state they can settle in has been seen;
of several visits the smallest number holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from argus.dsl.ir import Commit, CopyAsync, For, If, Kernel, Stmt, Wait
from argus.dsl.ir.types import Types
from argus.dsl.layout import Const
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import constant
from argus.dsl.lower.gfx942.dma import fewest_instructions
from argus.dsl.lower.gfx942.index import Indices
from argus.dsl.lower.gfx942.walk import every_statement

# A wait looks back over the groups it leaves pending; one trip more has filled them all with the loop's own.
_SETTLED = 2


def wait_counts(kernel: Kernel, types: Types) -> dict[int, int]:
    """Find vmcnt for each `Wait` node, by identity; waits that never find anything pending are absent."""
    walker = _Walker(kernel, types)
    walker.statements(kernel.body)
    return walker.found


def is_asynchronous(statements: Sequence[Stmt]) -> bool:
    """Whether any statement copies asynchronously."""
    return any(isinstance(s, CopyAsync) for s in every_statement(statements))


class _Walker:
    def __init__(self, kernel: Kernel, types: Types) -> None:
        self.kernel, self.types = kernel, types
        self.issued: list[int] = []  # the group of each copy instruction, youngest last
        self.group = 0
        self.found: dict[int, int] = {}
        self.indices = Indices()
        self.trips = _SETTLED + max((s.pending for s in every_statement(kernel.body) if isinstance(s, Wait)), default=0)

    def statements(self, body: Sequence[Stmt]) -> None:
        for s in body:
            self.statement(s)

    def statement(self, s: Stmt) -> None:
        match s:
            case CopyAsync():
                count = fewest_instructions(s, self.types, self.indices, self.kernel.waves)
                self.issued += [self.group] * count
            case Commit():
                self.group += 1
            case Wait(pending=pending):
                complete = self.group - 1 - pending
                younger = sum(group > complete for group in self.issued)
                if younger < len(self.issued):
                    self.found[id(s)] = min(younger, self.found.get(id(s), younger))
            case For(kind="unroll", targets=(name,), bounds=(_, stop)):
                for i in range(constant(stop) or 0):
                    with self.indices.knowing({name: Const(i)}):
                        self.statements(s.body)
            case For():
                for _ in range(self.trips):
                    self.statements(s.body)
            case If():
                if any(isinstance(x, CopyAsync | Wait | Commit) for x in every_statement([s])):
                    raise unsupported(s, "copies, commits and waits under a condition are not lowered yet")
            case _:
                pass
