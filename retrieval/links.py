"""What lint asks of cards together: references, conflicts, prerequisites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from argus.retrieval.card import Card
from argus.retrieval.load import CardFile
from argus.retrieval.problem import Problem

Files = Mapping[str, CardFile]


def check_links(files: Files) -> Iterator[Problem]:
    """Dangling and one-sided references, prerequisites that cannot serve, cycles."""
    for file in files.values():
        yield from _references(file, files)
        yield from _prerequisites(file, files)
    yield from _cycles(files)


def _references(file: CardFile, files: Files) -> Iterator[Problem]:
    card = file.card
    for part, ids in (("all", card.requires.all), ("any", card.requires.any)):
        for i, other in enumerate(ids):
            if other not in files:
                yield file.problem("reference", f"requires {other!r}, which is no card", "requires", part, i)
    for i, other in enumerate(card.conflicts):
        if other not in files:
            yield file.problem("reference", f"conflicts with {other!r}, which is no card", "conflicts", i)
        elif card.id not in files[other].card.conflicts:
            message = f"conflicts with {other}, which does not say so"
            yield file.problem("symmetry", message, "conflicts", i, hint=f"add {card.id} to {other}'s conflicts")


def _prerequisites(file: CardFile, files: Files) -> Iterator[Problem]:
    card = file.card
    for part, ids in (("all", card.requires.all), ("any", card.requires.any)):
        for i, other in enumerate(ids):
            if other not in files:
                continue
            for lack in _lacks(card, files[other].card):
                yield file.problem("prerequisite", f"requires {other}, which lacks {lack}", "requires", part, i)
            if other in card.conflicts:
                yield file.problem("prerequisite", f"requires and excludes {other}", "requires", part, i)


def _lacks(card: Card, needed: Card) -> Iterator[str]:
    if "any" not in needed.targets:
        yield from (f"target {t}" for t in card.targets if t not in needed.targets)
    if needed.families and not card.families:
        yield f"all families but {', '.join(needed.families)}"
    yield from (f"family {f}" for f in card.families if not needed.fits(family=f))


def _cycles(files: Files) -> Iterator[Problem]:
    """Each cycle of prerequisites once, told at its first card by name."""
    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> Iterator[Problem]:
        if name in path:
            cycle = path[path.index(name) :]
            message = f"requires itself: {' → '.join((*cycle, name))}"
            yield files[name].problem("cycle", message, "requires")
            return
        if name in done or name not in files:
            return
        for other in files[name].card.requires.cards:
            yield from walk(other, (*path, name))
        done.add(name)

    for name in sorted(files):
        yield from walk(name, ())
