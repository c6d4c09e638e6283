"""Wrong kernels by single edits, as a tired author would make them. The contract is never touched.

Whether a mutant is wrong is not this module's business: some edits change nothing that matters, and the interpreter
says which.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from argus.dsl import ir
from argus.dsl.diagnostics import KernelError
from argus.dsl.ir.canonical import canonical_sha
from argus.dsl.ir.printer import show
from argus.dsl.ir.verify import type_problems
from argus.dsl.transform import to_core
from argus.evals.mutation.operators import ARITHMETIC, OPERATORS
from argus.evals.subjects import read

MOST = 10  # mutants of one kernel by one operator


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edited kernel.

    Attributes:
        origin: Name of the kernel that was edited.
        text: What the checker is given.
        sha: Canonical hash of its core form: two texts that mean the same are one mutant.
    """

    operator: str
    origin: str
    text: str
    sha: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """Mutants in the order drawn, and how many edits the front end refused."""

    mutants: tuple[Mutant, ...]
    rejected: int


def draw(
    kernels: Sequence[tuple[str, str]], *, count: int, seed: int, edits: int = 1, only: Sequence[str] = ()
) -> Drawn:
    """All that a `Draw` yields."""
    drawing = Draw(kernels, count=count, seed=seed, edits=edits, only=only)
    return Drawn(tuple(drawing), drawing.rejected)


class Draw:
    """Distinct, well-formed mutants of named kernel texts, as many of each operator as there are, up to `count`.

    Of one kernel and operator come at most `MOST`.

    Attributes:
        rejected: How many edits the front end has refused so far.
    """

    def __init__(
        self, kernels: Sequence[tuple[str, str]], *, count: int, seed: int, edits: int = 1, only: Sequence[str] = ()
    ) -> None:
        """Nothing is drawn yet.

        Args:
            kernels: Names and texts; mutants that equal one of these are left out.
            count: Fewer come when the operators yield fewer.
            seed: Of the order in which edits are drawn.
            edits: How many edits make a mutant; it is named after the first. Later ones are of any operator, but for
                those of arithmetic, and may hide the first one or even undo it.
            only: The operators; empty: all.
        """
        self.rejected = 0
        parsed = [(name, read(text)) for name, text in kernels]
        self._seen = {canonical_sha(to_core(kernel)) for _, kernel in parsed}
        self._made: Counter[tuple[str, str]] = Counter()  # by operator and kernel
        self._count, self._edits, self._random = count, edits, Random(seed)
        self._decks = {name: _shuffled(name, parsed, self._random) for name in only or OPERATORS}

    def __iter__(self) -> Iterator[Mutant]:
        left = self._count
        while self._decks:
            for name in list(self._decks):
                if not left:
                    return
                mutant = self._next(name)
                if mutant is None:
                    del self._decks[name]
                else:
                    left -= 1
                    yield mutant

    def more(self, operator: str, count: int) -> Iterator[Mutant]:
        """So many further mutants of one operator, or as many as there are."""
        while count and operator in self._decks:
            mutant = self._next(operator)
            if mutant is None:
                del self._decks[operator]
                return
            count -= 1
            yield mutant

    def _next(self, operator: str) -> Mutant | None:
        """The next one of an operator; None if there are no more."""
        for origin, first in self._decks[operator]:
            if self._made[operator, origin] == MOST:
                continue
            candidate = _edited_again(first, self._edits - 1, self._random)
            mutant = _made(operator, origin, candidate)
            self.rejected += mutant is None
            if mutant is not None and mutant.sha not in self._seen:
                self._seen.add(mutant.sha)
                self._made[operator, origin] += 1
                return mutant
        return None


def _shuffled(
    operator: str, kernels: Sequence[tuple[str, ir.Kernel]], random: Random
) -> Iterator[tuple[str, ir.Kernel]]:
    """All edits of an operator; kernels take turns, so that one with many sites does not crowd out the others."""
    edits = {origin: list(OPERATORS[operator](kernel)) for origin, kernel in kernels}
    for listed in edits.values():
        random.shuffle(listed)
    order = list(edits)
    random.shuffle(order)
    deck = [(origin, edits[origin][turn]) for turn in range(max(map(len, edits.values()), default=0))
            for origin in order if turn < len(edits[origin])]  # fmt: skip
    return iter(deck)


def _edited_again(kernel: ir.Kernel, edits: int, random: Random) -> ir.Kernel:
    names = [name for name in OPERATORS if name not in ARITHMETIC]
    while edits:
        found = list(OPERATORS[random.choice(names)](kernel))
        if found:
            kernel = random.choice(found)
            edits -= 1
    return kernel


def _made(operator: str, origin: str, candidate: ir.Kernel) -> Mutant | None:
    """None if the front end or the verifier refuses the text."""
    if not _plausible(candidate):
        return None
    text = show(candidate)
    try:
        core = to_core(read(text))
        if next(type_problems(core), None) is not None:
            return None
    except KernelError:
        return None
    return Mutant(operator, origin, text, canonical_sha(core))


def _plausible(candidate: ir.Kernel) -> bool:
    """False if the text would be refused; most of what will be is told without printing and reading it."""
    try:
        return next(type_problems(to_core(candidate)), None) is None
    except KernelError:
        return False
    except (AssertionError, LookupError, AttributeError):  # no IR that text gives: its reader knows what to say
        return True
