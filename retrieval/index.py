"""The store of vectors. The only module that imports chromadb."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from argus.retrieval.embed import Embedder
from argus.retrieval.passage import Passage

COLLECTION = "argus-cards"
LOCK_SECONDS = 120.0


class StoreError(Exception):
    """The store is corrupt, or cannot be read or written. Deleting its folder is always safe: it is rebuilt."""

    def __init__(self, path: Path, reason: object) -> None:
        self.path = path
        super().__init__(f"knowledge store {path}: {reason}")


@dataclass(frozen=True, slots=True)
class Synced:
    """How many passages were embedded, dropped as stale, and found in place."""

    added: int
    removed: int
    kept: int


@dataclass(frozen=True, slots=True)
class Near:
    """A passage by its place in the synced sequence; similarity is the cosine."""

    index: int
    similarity: float


def default_store() -> Path:
    """`$ARGUS_HOME/kb`, or `.argus/kb` where the command runs."""
    return Path(os.environ.get("ARGUS_HOME", ".argus")) / "kb"


class Index:
    """Passages and their vectors in one persistent collection for each embedding model.

    Ids hash model and content: the same passage is never embedded twice, and one that changed is another one.
    """

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._path = path
        self._embedder = embedder
        self._passages: Sequence[Passage] = ()
        self._ids: dict[str, int] = {}
        self._collection: Any = None

    def sync(self, passages: Sequence[Passage]) -> Synced:
        """Make the store hold exactly these passages.

        Raises:
            StoreError: If it cannot be read or written, or another process keeps it locked.
        """
        ids = {self._id(p): i for i, p in enumerate(passages)}
        with self._guarded(), self._locked():
            collection = self._open()
            present = set(collection.get(include=[])["ids"])
            missing = [(key, passages[i]) for key, i in ids.items() if key not in present]
            stale = sorted(present - set(ids))
            if missing:
                collection.upsert(
                    ids=[key for key, _ in missing],
                    embeddings=self._embedder.encode([p.searched for _, p in missing]),
                    documents=[p.searched for _, p in missing],
                    metadatas=[{"card": p.card, "section": p.section} for _, p in missing],
                )
            if stale:
                collection.delete(ids=stale)
        self._passages, self._ids, self._collection = passages, ids, collection
        return Synced(added=len(missing), removed=len(stale), kept=len(ids) - len(missing))

    def nearest(self, query: str, cards: Collection[str], limit: int) -> list[Near]:
        """The passages of these cards that are nearest to the query, best first; `sync` comes before.

        Raises:
            StoreError: If the store cannot be read.
        """
        assert self._collection is not None, "sync comes first"
        if not cards:
            return []
        with self._guarded():
            found = self._collection.query(
                query_embeddings=self._embedder.encode([query]),
                n_results=min(limit, len(self._ids)),
                where={"card": {"$in": sorted(cards)}},
                include=["distances"],
            )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        # Another process may have synced another corpus meanwhile: its passages are not ours to show.
        return [Near(self._ids[key], 1.0 - distance) for key, distance in pairs if key in self._ids]

    def _id(self, passage: Passage) -> str:
        content = "\0".join((self._embedder.name, passage.card, passage.section, passage.searched))
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    def _open(self) -> Any:  # noqa: ANN401 - chromadb's collection
        import chromadb  # noqa: PLC0415 - most of a second
        from chromadb.config import Settings  # noqa: PLC0415

        client = chromadb.PersistentClient(path=str(self._path), settings=Settings(anonymized_telemetry=False))
        name = f"{COLLECTION}-{hashlib.sha256(self._embedder.name.encode()).hexdigest()[:8]}"
        # No embedding function: Chroma's default one would download a model.
        return client.get_or_create_collection(
            name,
            embedding_function=None,
            metadata={"model": self._embedder.name},
            configuration={"hnsw": {"space": "cosine"}},
        )

    @contextmanager
    def _locked(self) -> Generator[None]:
        # The first open creates tables and is not safe between processes.
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._path.with_name(f"{self._path.name}.lock"), timeout=LOCK_SECONDS)
        try:
            with lock:
                yield
        except Timeout as error:
            raise StoreError(self._path, f"locked by another process for {LOCK_SECONDS:.0f} s") from error

    @contextmanager
    def _guarded(self) -> Generator[None]:
        try:
            yield
        except (StoreError, KeyboardInterrupt, SystemExit):
            raise
        except OSError as error:
            raise StoreError(self._path, error) from error
        except BaseException as error:
            # Chroma's own errors, and panics of its native part, which are no `Exception`.
            if not _is_chroma(error):
                raise
            raise StoreError(self._path, f"corrupt or unreadable: {error}; delete the folder, it is rebuilt") from error


def _is_chroma(error: BaseException) -> bool:
    module = type(error).__module__
    return module.startswith(("chromadb", "pyo3_runtime", "sqlite3"))
