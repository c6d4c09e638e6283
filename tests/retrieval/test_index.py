from __future__ import annotations

import multiprocessing as mp
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from argus.retrieval import index as index_module
from argus.retrieval.index import Index, StoreError, Synced, default_store
from argus.retrieval.passage import Passage

from .conftest import WordHashes

CORPUS = [
    Passage("swizzle", "XOR swizzle", "When", "bank conflicts in fragment reads"),
    Passage("swizzle", "XOR swizzle", "How", "permute chunks of a row"),
    Passage("tiling", "Tiles", "When", "traffic beyond LDS"),
]


def test_syncing_twice_embeds_once(tmp_path: Path, embedder: WordHashes) -> None:
    assert Index(tmp_path / "kb", embedder).sync(CORPUS) == Synced(added=3, removed=0, kept=0)
    assert Index(tmp_path / "kb", embedder).sync(CORPUS) == Synced(added=0, removed=0, kept=3)
    assert embedder.encoded == 3


def test_changed_and_dropped_passages_leave_no_trace(tmp_path: Path, embedder: WordHashes) -> None:
    Index(tmp_path / "kb", embedder).sync(CORPUS)
    edited = Passage("tiling", "Tiles", "When", "registers of the wave tile")
    index = Index(tmp_path / "kb", embedder)
    assert index.sync([CORPUS[0], edited]) == Synced(added=1, removed=2, kept=1)
    found = index.nearest("traffic beyond LDS", {"swizzle", "tiling"}, 10)
    assert sorted(near.index for near in found) == [0, 1]


def test_the_nearest_come_first_and_only_from_the_named_cards(tmp_path: Path, embedder: WordHashes) -> None:
    index = Index(tmp_path / "kb", embedder)
    index.sync(CORPUS)
    found = index.nearest("bank conflicts in fragment reads", {"swizzle", "tiling"}, 10)
    assert found[0].index == 0
    assert [n.similarity for n in found] == sorted((n.similarity for n in found), reverse=True)
    assert [n.index for n in index.nearest("bank conflicts", {"tiling"}, 10)] == [2]
    assert index.nearest("bank conflicts", set(), 10) == []
    assert len(index.nearest("bank conflicts", {"swizzle"}, 1)) == 1


def test_models_do_not_share_vectors(tmp_path: Path, embedder: WordHashes) -> None:
    Index(tmp_path / "kb", embedder).sync(CORPUS)
    other = WordHashes()
    other.name = "another"
    assert Index(tmp_path / "kb", other).sync(CORPUS).added == 3


def test_equal_passages_are_one(tmp_path: Path, embedder: WordHashes) -> None:
    assert Index(tmp_path / "kb", embedder).sync([CORPUS[0], CORPUS[0]]).added == 1


def test_the_store_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARGUS_HOME", raising=False)
    assert default_store() == Path(".argus/kb")
    monkeypatch.setenv("ARGUS_HOME", "/data")
    assert default_store() == Path("/data/kb")


def _garbage(store: Path) -> None:
    (store / "chroma.sqlite3").write_bytes(b"no database" * 400)


def _truncated(store: Path) -> None:
    file = store / "chroma.sqlite3"
    file.write_bytes(file.read_bytes()[:5000])


def _file(store: Path) -> None:
    shutil.rmtree(store)
    store.write_text("not a folder")


@pytest.mark.parametrize("harm", [_garbage, _truncated, _file])
@pytest.mark.slow
def test_a_broken_store_is_an_error_that_names_it(
    tmp_path: Path, embedder: WordHashes, harm: Callable[[Path], None]
) -> None:
    # In another process: Chroma keeps an open store in memory for each path.
    context = mp.get_context("spawn")
    maker = context.Process(target=_sync, args=(tmp_path / "kb",))
    maker.start()
    maker.join(60)
    assert maker.exitcode == 0
    harm(tmp_path / "kb")
    with pytest.raises(StoreError, match="kb: corrupt or unreadable") as caught:
        Index(tmp_path / "kb", embedder).sync(CORPUS)
    assert caught.value.path == tmp_path / "kb"
    assert "rebuilt" in str(caught.value)


def test_a_place_that_cannot_be_written(tmp_path: Path, embedder: WordHashes) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file/kb"):
        Index(tmp_path / "file" / "kb", embedder).sync(CORPUS)


def test_a_locked_store_is_told(tmp_path: Path, embedder: WordHashes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "LOCK_SECONDS", 0.05)
    with FileLock(tmp_path / "kb.lock"), pytest.raises(StoreError, match="locked by another process"):
        Index(tmp_path / "kb", embedder).sync(CORPUS)


def test_other_errors_are_not_blamed_on_the_store(tmp_path: Path) -> None:
    class Broken(WordHashes):
        def encode(self, texts: object) -> list[list[float]]:
            del texts
            raise ValueError("the model's fault")

    with pytest.raises(ValueError, match="the model's fault"):
        Index(tmp_path / "kb", Broken()).sync(CORPUS)


def _sync(store: Path) -> None:
    index = Index(store, WordHashes())
    index.sync(CORPUS)
    assert len(index.nearest("bank", {"swizzle", "tiling"}, 10)) == 3


@pytest.mark.slow
def test_processes_may_race_for_the_first_open(tmp_path: Path, embedder: WordHashes) -> None:
    context = mp.get_context("spawn")
    for attempt in range(3):
        racers = [context.Process(target=_sync, args=(tmp_path / f"kb{attempt}",)) for _ in range(3)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(120)
        assert [racer.exitcode for racer in racers] == [0, 0, 0]
        assert Index(tmp_path / f"kb{attempt}", embedder).sync(CORPUS) == Synced(added=0, removed=0, kept=3)
