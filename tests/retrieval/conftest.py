"""Cards to plant faults in, and an embedder that needs no model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from argus.dsl.kernels import families as gemm_families
from argus.retrieval.rules import Families

BODY = "## When\nLatency binds.\n\n## How\nAdd stages.\n"

SOURCES = {"S01": {"title": "A manual", "gives": "facts", "how": "read"}}


def front(name: str) -> dict[str, Any]:
    """Front matter of a faultless card: `alpha` changes schedules and needs `beta`, which documents."""
    if name == "beta":
        return {
            "id": "beta",
            "title": "Documentation",
            "kind": "enabling",
            "level": "global",
            "targets": ["any"],
            "change": None,
            "sources": [{"id": "S01", "supports": "everything"}],
            "status": "prose",
        }
    return {
        "id": name,
        "title": "Several stages",
        "kind": "optimisation",
        "level": "tile",
        "targets": ["gfx942"],
        "families": ["gemm"],
        "relieves": [
            {
                "resource": "latency",
                "effect": {"low": 1.0, "mid": 2.0, "high": 3.0},
                "basis": "derived",
                "source": "S01",
            }
        ],
        "applies_when": ["estimate.share.latency >= 0.1", "schedule.tile[2] >= 16"],
        "avoid_when": ["schedule.stages >= 4"],
        "requires": {"all": ["beta"], "any": []},
        "conflicts": [],
        "change": {
            "set": {"stages": "$count", "prefetch": False},
            "params": {"count": {"values": [2, 3, 4], "default": 2}},
            "constraints": ["stages > old.stages", "lds_bytes <= 65536"],
        },
        "invariants": [{"text": "assert_match(x.k, y.k)", "at": "before mma", "relation": "match", "implied": True}],
        "expect": {"report": ["lds_bytes > 1.0 * old"]},
        "mistakes": [{"fix_class": "missing barrier", "cause": "none", "fix": "add one"}],
        "example": {"family": "gemm", "before": {"stages": 1}, "after": {"stages": 2}},
        "sources": [{"id": "S01", "supports": "everything"}],
        "status": "draft",
    }


def card_text(fields: dict[str, Any], body: str = BODY) -> str:
    return f"---\n{yaml.safe_dump(fields, sort_keys=False)}---\n{body}"


Fields = dict[str, Any]
Edit = Callable[[Fields, Fields], object]


class Corpus(Protocol):
    """Writes `alpha` and `beta` after `edit(alpha, beta)`, and further cards by name; returns the folder."""

    def __call__(self, edit: Edit | None = None, body: str = BODY, **more: Fields) -> Path: ...


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    def write(edit: Edit | None = None, body: str = BODY, **more: Fields) -> Path:
        alpha, beta = front("alpha"), front("beta")
        if edit is not None:
            edit(alpha, beta)
        folder = tmp_path / "cards"
        folder.mkdir(exist_ok=True)
        (folder / "sources.json").write_text(json.dumps(SOURCES))
        (folder / "alpha.md").write_text(card_text(alpha, body))
        (folder / "beta.md").write_text(card_text(beta))
        for name, fields in more.items():
            (folder / f"{name}.md").write_text(card_text(fields))
        return folder

    return write


@pytest.fixture
def families() -> Families:
    return {name: family.parse_schedule for name, family in gemm_families().items()}


class WordHashes:
    """Words hashed into 64 buckets: texts that share words are near. Counts how many it encoded."""

    name = "word-hashes"

    def __init__(self) -> None:
        self.encoded = 0

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        self.encoded += len(texts)
        return [self._vector(text) for text in texts]

    @staticmethod
    def _vector(text: str) -> list[float]:
        vector = [1e-6] * 64
        for word in text.lower().split():
            vector[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
        return vector


@pytest.fixture
def embedder() -> WordHashes:
    return WordHashes()
