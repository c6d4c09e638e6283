"""Questions to the knowledge base: words and meaning, fused by rank, answered by card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from argus.retrieval import bm25, embed
from argus.retrieval.card import Card, Kind, Level, Status
from argus.retrieval.embed import Embedder, minilm
from argus.retrieval.passage import Passage, passages

SCHEMA_VERSION = 1
Mode = Literal["auto", "bm25", "vector"]

# Reciprocal rank fusion: 1/(K + rank) summed over rankings; 60 is the customary constant and damps the first ranks.
_RRF_K = 60


class SearchHit(BaseModel, frozen=True):
    """A card with its best section. Scores compare within one answer only."""

    id: str
    title: str
    section: str
    score: float
    excerpt: str


class SearchResult(BaseModel, frozen=True):
    """Hits, best first. `mode` is what was done: `hybrid`, `bm25` or `vector`; `note` says why not more."""

    schema_version: int = SCHEMA_VERSION
    query: str
    mode: Literal["hybrid", "bm25", "vector"]
    note: str = ""
    hits: tuple[SearchHit, ...] = ()


class Filters(BaseModel, frozen=True):
    """Which cards may answer; None asks for nothing."""

    target: str | None = None
    family: str | None = None
    dtype: str | None = None
    level: Level | None = None
    kind: Kind | None = None
    status: Status | None = None

    def admit(self, card: Card) -> bool:
        return card.fits(target=self.target, family=self.family, dtype=self.dtype) and all(
            want is None or want == got
            for want, got in ((self.level, card.level), (self.kind, card.kind), (self.status, card.status))
        )


def search(
    query: str,
    cards: Mapping[str, Card],
    *,
    mode: Mode = "auto",
    filters: Filters = Filters(),  # noqa: B008 - frozen
    top: int = 5,
    store: Path | None = None,
    embedder: Embedder | None = None,
) -> SearchResult:
    """The cards that answer a question best.

    Args:
        query: Words, a question, a symptom.
        cards: The corpus by id.
        mode: `auto` fuses words and meaning where the `embed` extra is installed; `bm25` never loads torch; `vector`
            is meaning alone.
        filters: Which cards may answer.
        top: At most so many hits.
        store: Folder of the vectors; `index.default_store()` if left out.
        embedder: MiniLM if left out.

    Raises:
        EmbedUnavailable: `vector` without the `embed` extra.
        StoreError: If the store of vectors cannot be used.
    """
    allowed = {name for name, card in cards.items() if filters.admit(card)}
    everything = passages(cards.values())
    words = mode != "vector"
    meaning = mode == "vector" or (mode == "auto" and (embedder is not None or embed.available()))
    rankings: list[list[Passage]] = []
    if words:
        some = [p for p in everything if p.card in allowed]
        rankings.append([some[i] for i in bm25.rank(query, some)])
    if meaning and query.strip():
        rankings.append(_by_meaning(query, everything, allowed, store, embedder or minilm()))
    note = "BM25 alone: the `embed` extra is not installed" if mode == "auto" and not meaning else ""
    return SearchResult(
        query=query,
        mode="hybrid" if words and meaning else "vector" if meaning else "bm25",
        note=note,
        hits=tuple(_fuse(rankings))[: max(0, top)],
    )


def _by_meaning(
    query: str, everything: Sequence[Passage], allowed: set[str], store: Path | None, embedder: Embedder
) -> list[Passage]:
    from argus.retrieval.index import Index, default_store  # noqa: PLC0415 - loads the lock; BM25 needs neither

    index = Index(store or default_store(), embedder)
    # The whole corpus, not only what the filters admit: syncing a part would drop the rest.
    index.sync(everything)
    return [everything[near.index] for near in index.nearest(query, allowed, len(everything))]


def _fuse(rankings: Iterable[Sequence[Passage]]) -> list[SearchHit]:
    """One hit a card, from the ranks of its best passage in each ranking."""
    scores: dict[str, float] = {}
    shown: dict[str, tuple[int, Passage]] = {}
    for ranking in rankings:
        rank_of_card: dict[str, int] = {}
        for passage in ranking:
            if passage.card in rank_of_card:
                continue
            rank = rank_of_card[passage.card] = len(rank_of_card) + 1
            scores[passage.card] = scores.get(passage.card, 0.0) + 1 / (_RRF_K + rank)
            if passage.card not in shown or rank < shown[passage.card][0]:
                shown[passage.card] = (rank, passage)
    order = sorted(scores, key=lambda card: (-scores[card], card))
    return [
        SearchHit(id=card, title=p.title, section=p.section, score=round(scores[card], 6), excerpt=p.excerpt())
        for card, p in ((card, shown[card][1]) for card in order)
    ]
