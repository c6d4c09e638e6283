"""mbarriers: which phase is in flight, who knows what it orders, and who still waits for the one before.

Completions of a slot are counted as the text counts them: number `j` is the completion that belongs to fill `j` of the
ring, where fill `j` takes slot `j % S`. Here numbers are relative to the fill that comes next (`turns`), so that they
stay small along a loop.

Hardware shows waiters the parity of the phase and nothing else, and counts whatever arrives. Three conditions make
numbers out of that, in every schedule: who awaits completion `j` knows that completion `j - S` has happened; who
arrives for completion `j` does, too, or the arrival might count for an earlier phase; and completion `j + S` does not
happen before everyone who awaits `j` has seen it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from argus.dsl.tags.roles.order import Order


@dataclass(frozen=True, slots=True)
class Awaited:
    """Waves that asked for completion `number`, in these epochs."""

    number: int
    epochs: tuple[int, ...]
    site: int


@dataclass(frozen=True, slots=True)
class Slot:
    """One mbarrier.

    Attributes:
        arrivals: That complete a phase.
        latest: Number of the last completion.
        missing: Arrivals until the next.
        current, done: Bits of the phase in flight and of the completed ones, as knowers.
        parties: Waves that ever wait for it or arrive at it.
        happened: Epochs of the last completion and of the one before it; -1: long ago, known to everyone.
        awaited: Waits whose completion has not been followed by another.
    """

    arrivals: int
    latest: int
    missing: int
    current: int
    done: int
    parties: int
    happened: tuple[int, int] = (-1, -1)
    awaited: tuple[Awaited, ...] = ()

    @property
    def idle(self) -> bool:
        """Whether no arrival of the phase in flight has come."""
        return self.missing == self.arrivals

    def settled(self, order: Order) -> Slot:
        """The same with completions that all its parties know of taken as long ago."""
        latest, before = (-1 if e >= 0 and order.knows(self.parties, (e,)) else e for e in self.happened)
        return replace(self, happened=(latest, before))

    def arrived(self, count: int) -> Slot:
        return replace(self, missing=self.missing - count)

    def unseen(self, order: Order) -> list[Awaited]:
        """Waits for the last completion that nothing orders before the next, which happens now."""
        mine = [a for a in self.awaited if a.number == self.latest]
        return [a for a in mine if not order.knows(self.current, a.epochs)]

    def completed(self, order: Order, step: int) -> Slot:
        """The slot after the phase in flight has completed; numbers of a slot are `step` apart."""
        order.pass_on(self.current, self.done)
        epoch = order.begin(-1, self.done)
        return replace(
            self, latest=self.latest + step, missing=self.arrivals, happened=(epoch, self.happened[0]),
            awaited=tuple(a for a in self.awaited if a.number > self.latest),
        )  # fmt: skip

    def asked(self, wanted: Awaited) -> Slot:
        return self if wanted in self.awaited else replace(self, awaited=(*self.awaited, wanted))
