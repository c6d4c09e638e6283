"""search_knowledge: cards of the knowledge base that fit a question."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from argus.dsl.kernels import Problem
from argus.retrieval.card import Card
from argus.retrieval.load import corpus_folder, load_corpus
from argus.retrieval.query import Filters, Mode, SearchResult, search


@cache
def cards() -> dict[str, Card]:
    """The corpus that ships with the package, by id."""
    return dict(load_corpus(corpus_folder()))


def search_knowledge(
    query: str, *, problem: Problem | None = None, top: int = 5, mode: Mode = "auto", store: Path | None = None
) -> SearchResult:
    """The best cards for `query`, of the problem's target, family and dtype if one is given."""
    fit = (
        Filters()
        if problem is None
        else Filters(target=problem.target, family=problem.task.family, dtype=problem.dtype)
    )
    return search(query, cards(), mode=mode, filters=fit, top=top, store=store)
