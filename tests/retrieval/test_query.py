from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from argus.retrieval import bm25, embed
from argus.retrieval.embed import EmbedUnavailable
from argus.retrieval.load import load_corpus
from argus.retrieval.passage import passages
from argus.retrieval.query import Filters, SearchHit, search

from .conftest import WordHashes

CARDS = load_corpus()
QUESTION = "bank conflicts when reading fragments"


def ids(hits: Sequence[SearchHit]) -> list[str]:
    return [hit.id for hit in hits]


def test_words_find_the_swizzle() -> None:
    result = search(QUESTION, CARDS, mode="bm25")
    assert result.mode == "bm25"
    assert result.hits[0].id == "xor-swizzle"
    assert result.hits[0].section == "When"
    assert "bank conflicts" in result.hits[0].excerpt
    assert [h.score for h in result.hits] == sorted((h.score for h in result.hits), reverse=True)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("spills to scratch registers", "spill-avoidance"),
        ("fewer tiles than compute units, long k", "split-k"),
        ("vmcnt drain of all copies", "waitcnt-counting"),
        ("each XCD fetches panels for itself", "xcd-remap"),
    ],
)
def test_words_find_other_techniques(question: str, wanted: str) -> None:
    assert wanted in ids(search(question, CARDS, mode="bm25", top=3).hits)


def test_a_card_appears_once_with_its_best_section() -> None:
    found = ids(search("stage barrier wait", CARDS, mode="bm25", top=40).hits)
    assert len(found) == len(set(found)) > 5


def test_filters_decide_who_may_answer() -> None:
    hopper = search("swizzle bank", CARDS, mode="bm25", filters=Filters(target="sm_90a"), top=40)
    assert "swizzle-128b" in ids(hopper.hits)
    assert "xor-swizzle" not in ids(hopper.hits)
    for filters in (
        Filters(target="gfx942", family="gemm", dtype="bf16"),
        Filters(level="instruction"),
        Filters(kind="enabling"),
        Filters(status="prose"),
    ):
        hits = ids(search("registers stage load", CARDS, mode="bm25", filters=filters, top=40).hits)
        assert hits
        assert all(filters.admit(CARDS[name]) for name in hits)
        assert set(ids(search("registers stage load", CARDS, mode="bm25", top=99).hits)) > set(hits)


@pytest.mark.parametrize("query", ["", "   ", "the of and", "zzzz"])
def test_questions_without_words_have_no_answer(query: str) -> None:
    assert search(query, CARDS, mode="bm25").hits == ()


def test_top_limits_the_answer() -> None:
    assert len(search("stage", CARDS, mode="bm25", top=2).hits) == 2
    assert search("stage", CARDS, mode="bm25", top=0).hits == ()


def test_endings_do_not_matter() -> None:
    assert len({tuple(bm25.tokens(w)) for w in ("swizzle", "Swizzled", "swizzling", "swizzles")}) == 1
    assert bm25.tokens("the K-tile of 64") == ["k", "til", "64"]


def test_words_that_only_one_passage_has_rank_it_first() -> None:
    everything = passages(CARDS.values())
    best = everything[bm25.rank("v_perm_b32 columns", everything)[0]]
    assert best.card == "lds-transpose"


def test_without_the_extra_words_alone_answer_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "available", lambda: False)
    result = search(QUESTION, CARDS)
    assert result.mode == "bm25"
    assert "`embed` extra is not installed" in result.note
    assert result.hits[0].id == "xor-swizzle"
    assert search(QUESTION, CARDS, mode="bm25").note == ""
    embed.minilm.cache_clear()
    with pytest.raises(EmbedUnavailable, match="embed"):
        search(QUESTION, CARDS, mode="vector")


@pytest.mark.slow
def test_words_load_neither_torch_nor_a_store(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from argus.retrieval.load import load_corpus\n"
        "from argus.retrieval.query import search\n"
        f"assert search({QUESTION!r}, load_corpus(), mode='bm25').hits\n"
        "print([m for m in ('torch', 'chromadb', 'sentence_transformers', 'transformers') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert list(tmp_path.iterdir()) == []


def test_fusion_rewards_agreement(tmp_path: Path, embedder: WordHashes) -> None:
    hybrid = search(QUESTION, CARDS, store=tmp_path / "kb", embedder=embedder, top=99)
    assert hybrid.mode == "hybrid"
    words = ids(search(QUESTION, CARDS, mode="bm25", top=99).hits)
    meaning = ids(search(QUESTION, CARDS, mode="vector", store=tmp_path / "kb", embedder=embedder, top=99).hits)
    want = {
        card: sum(1 / (61 + ranking.index(card)) for ranking in (words, meaning) if card in ranking)
        for card in {*words, *meaning}
    }
    assert {h.id: h.score for h in hybrid.hits} == pytest.approx(
        {card: want[card] for card in ids(hybrid.hits)}, abs=1e-6
    )


def test_filters_hold_for_meaning_too(tmp_path: Path, embedder: WordHashes) -> None:
    result = search(
        QUESTION, CARDS, mode="vector", store=tmp_path / "kb", embedder=embedder, filters=Filters(kind="correctness")
    )
    assert result.hits
    assert {CARDS[h.id].kind for h in result.hits} == {"correctness"}


@pytest.mark.slow
def test_minilm_finds_the_swizzle(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    for mode in ("auto", "vector"):
        result = search(QUESTION, CARDS, mode=mode, store=tmp_path / "kb", filters=Filters(target="gfx942"))
        assert result.mode == ("hybrid" if mode == "auto" else "vector")
        assert result.note == ""
        assert result.hits[0].id == "xor-swizzle"
    # The card speaks of latency and stages, the question of neither.
    question, filters = "hide how long main memory takes to answer", Filters(target="gfx942")
    paraphrase = search(question, CARDS, mode="vector", store=tmp_path / "kb", top=8, filters=filters)
    assert "double-buffer-pipelining" in ids(paraphrase.hits)
