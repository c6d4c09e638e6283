"""Search by words. The only module that imports bm25s; needs neither torch nor a store."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from argus.retrieval.passage import Passage

_WORD = re.compile(r"[a-z0-9]+")
_STOP = re.compile(
    r"a|an|and|are|as|at|be|but|by|for|from|has|have|how|if|in|into|is|it|its|of|on|or|so|than|that|the|their|then|there|"
    r"these|they|this|to|was|what|when|where|which|while|with"
)


def rank(query: str, corpus: Sequence[Passage]) -> list[int]:
    """Indices of the passages that share a word with the query, best first."""
    words = tokens(query)
    if not words or not corpus:
        return []
    import bm25s  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs] - brings scipy

    index: Any = bm25s.BM25()
    index.index([tokens(p.searched) for p in corpus], show_progress=False)
    scores: list[float] = index.get_scores(words).tolist()
    # Equal scores keep the corpus's order, so that answers repeat.
    order = sorted(range(len(corpus)), key=lambda i: (-scores[i], i))
    return [i for i in order if scores[i] > 0]


def tokens(text: str) -> list[str]:
    """Lower-case words and numbers, stop words left out, endings cut."""
    return [_stem(word) for word in _WORD.findall(text.lower()) if not _STOP.fullmatch(word)]


def _stem(word: str) -> str:
    """Enough for this corpus's English: swizzles, swizzled, swizzling meet; a stemmer would be one more dependency."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word
