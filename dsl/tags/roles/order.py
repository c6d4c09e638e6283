"""Happens-before as sets: for each epoch of accesses, who is ordered after it.

An epoch is what one wave did between two of its releases, or one batch of asynchronous work. Whoever knows an epoch
(a wave, or a phase of an mbarrier that waves will take knowledge from) is ordered after all of its accesses. There are
finitely many knowers, so sets are integers of bits, and loops reach a fixed point.

`fenced` is the same for the asynchronous proxy: who may let TMA or wgmma read what the epoch wrote by ordinary stores.
`settled` says that a wave may issue copies over its own ordinary accesses of the epoch: program order does not order
the copy engine, a barrier or a phase in which the wave took part does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

ENGINE = -1  # owner of work of the asynchronous proxy: TMA, wgmma
COPIER = -2  # owner of copies in the background that ordinary accesses see, and wgmma only after a fence


@dataclass(slots=True, eq=False)
class Order:
    """The epochs that something still refers to.

    Attributes:
        known, fenced: Knowers by epoch.
        settled: As above, by epoch.
        owner: The wave of ordinary accesses, `ENGINE` or `COPIER` for others.
        now: The open epoch of each wave, -1 before its first access.
    """

    known: list[int]
    fenced: list[int]
    settled: list[bool]
    owner: list[int]
    now: list[int]

    @classmethod
    def fresh(cls, waves: int) -> Order:
        return cls([], [], [], [], [-1] * waves)

    def copy(self) -> Order:
        return Order(list(self.known), list(self.fenced), list(self.settled), list(self.owner), list(self.now))

    def begin(self, owner: int, known: int = 0) -> int:
        """A new epoch."""
        self.known.append(known)
        self.fenced.append(0)
        self.settled.append(False)
        self.owner.append(owner)
        return len(self.known) - 1

    def epoch(self, wave: int) -> int:
        """The epoch of what a wave does now."""
        if self.now[wave] < 0:
            self.now[wave] = self.begin(wave, 1 << wave)
        return self.now[wave]

    # ------------------------------------------------------------------------------------ statements

    def pass_on(self, source: int, target: int) -> None:
        """Everyone in `target` comes to know what someone in `source` knows."""
        self.known = [k | target if k & source else k for k in self.known]
        self.fenced = [f | target if f & source else f for f in self.fenced]

    def release(self, waves: int, phase: int) -> None:
        """Waves arrive: what they did so far is part of the phase."""
        self.pass_on(waves, phase)
        self.close(waves)

    def acquire(self, phase: int, waves: int) -> None:
        """Waves have awaited a completed phase."""
        self.settled = [
            s or (o >= 0 and bool(waves >> o & 1) and bool(k & phase))
            for s, o, k in zip(self.settled, self.owner, self.known, strict=True)
        ]
        self.pass_on(phase, waves)

    def meet(self, waves: int) -> None:
        """Waves pass a barrier together."""
        self.settled = [s or (o >= 0 and bool(waves >> o & 1)) for s, o in zip(self.settled, self.owner, strict=True)]
        self.pass_on(waves, waves)
        self.close(waves)

    def fence(self, waves: int) -> None:
        """Each of the waves: what it knows is visible to asynchronous operations that it issues, or orders others'."""
        self.fenced = [f | (k & waves) for f, k in zip(self.fenced, self.known, strict=True)]
        self.close(waves)

    def close(self, waves: int) -> None:
        """Later accesses of the waves are not part of what they have released."""
        self.now = [-1 if waves >> w & 1 else e for w, e in enumerate(self.now)]

    def learn(self, epoch: int, who: int) -> None:
        self.known[epoch] |= who

    # ---------------------------------------------------------------------------------------- checks

    def knows(self, who: int, epochs: Iterable[int]) -> bool:
        """Whether all of `who` are ordered after all of the epochs."""
        return all(self.known[e] & who == who for e in epochs)

    def may_copy(self, wave: int, epochs: Iterable[int]) -> bool:
        """Whether a copy that the wave issues now is ordered after the epochs."""
        bit = 1 << wave
        return all(self.known[e] & bit and (self.owner[e] != wave or self.settled[e]) for e in epochs)

    def visible(self, who: int, epochs: Iterable[int]) -> bool:
        """Whether asynchronous operations of `who` see what the epochs wrote by ordinary stores."""
        return all(self.owner[e] == ENGINE or self.fenced[e] & who == who for e in epochs)
