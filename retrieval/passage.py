"""What is searched: the sections of the cards, one by one, because the embedding model reads 256 word pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from argus.retrieval.card import Card


@dataclass(frozen=True, slots=True)
class Passage:
    """One section of one card."""

    card: str
    title: str
    section: str
    text: str

    @property
    def searched(self) -> str:
        """Title and heading stand before the text: a section rarely repeats the technique's name."""
        return f"{self.title}. {self.section}: {self.text}"

    def excerpt(self, limit: int = 160) -> str:
        """The beginning, cut between words."""
        text = " ".join(self.text.split())
        return text if len(text) <= limit else f"{text[:limit].rsplit(' ', 1)[0]} …"


def passages(cards: Iterable[Card]) -> list[Passage]:
    """Every section of every card."""
    return [Passage(card.id, card.title, s.heading, s.text) for card in cards for s in card.sections]
